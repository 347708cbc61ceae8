// Hashes of buffers computed where they lie: what comes to the host is 16 bytes for each, however large it is.
//
// Four sums of 32 bits. What a word adds to a sum is mixed with its place and the number of the sum, so that a word that changes always
// changes all four, and words that change together leave them equal only by chance. Sums may be added up in any order, so all
// threads of a device take part. Like the hash of the host it finds accidents; it is no defence against somebody who looks for
// bytes of equal hash.

import type { Device } from '../../devices/device.ts';
import { type Expr, Exprs } from '../../kernel/expr.ts';
import type { Kernel } from '../../kernel/kernel.ts';
import type { Hashable } from './fingerprint.ts';

const sums = 4;

/** Buffers that one launch hashes, at most. */
const mostTogether = 8;

/** One hash for each, in their order. All of them lie on `device`. */
export async function digests(device: Device, items: readonly Hashable[]): Promise<string[]> {
  const hashes = new Array<string>(items.length).fill('');
  const launched = groupsOf(items, Math.min(mostTogether, device.caps.maxBuffers - 1)).map((group) => {
    const words = wordsOf(items[group[0]!]!);
    const out = device.allocate(4 * sums * group.length);
    try {
      const program = device.prepare(kernelFor(words, group.length));
      device.launch(program, [...group.map((i) => items[i]!.buffer), out], []);
      return { group, out, read: device.read(out) };
    } catch (error) {
      device.release(out);
      throw error;
    }
  });
  // One that fails while another is waited for is met in its turn.
  for (const { read } of launched) read.catch(() => {});
  try {
    for (const { group, read } of launched) {
      const bytes = await read;
      group.forEach((i, k) => {
        hashes[i] = hex(bytes.subarray(4 * sums * k, 4 * sums * (k + 1)));
      });
    }
    return await Promise.all(items.map(async (item, i) => hashes[i]! + hex(await tailOf(item))));
  } finally {
    for (const { out } of launched) device.release(out);
  }
}

const wordsOf = ({ bytes }: Hashable): number => Math.floor(bytes / 4);

const hex = (bytes: Uint8Array): string => Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('');

/** What is left behind the last whole word: up to three bytes. */
async function tailOf(item: Hashable): Promise<Uint8Array> {
  const whole = 4 * wordsOf(item);
  return whole === item.bytes ? new Uint8Array(0) : item.device.read(item.buffer, whole, item.bytes - whole);
}

/** Numbers of items that are as long as each other, so many at a time. Those without a whole word are left out. */
function groupsOf(items: readonly Hashable[], most: number): number[][] {
  const open = new Map<number, number[]>();
  const groups: number[][] = [];
  items.forEach((item, i) => {
    const words = wordsOf(item);
    if (words === 0) return;
    let group = open.get(words);
    if (!group || group.length === most) {
      group = [];
      groups.push(group);
      open.set(words, group);
    }
    group.push(i);
  });
  return groups;
}

/** Kernels by what they hash: devices recognise the same object at once, and an equal one only after looking through it. */
const kernels = new Map<string, Kernel>();
const mostKernels = 64;

function kernelFor(words: number, items: number): Kernel {
  const key = `${words} ${items}`;
  let known = kernels.get(key);
  if (known) return known;
  if (kernels.size >= mostKernels) kernels.clear();
  kernels.set(key, (known = digestKernel(words, items)));
  return known;
}

/** [items, sums] over all words of the items. */
function digestKernel(words: number, items: number): Kernel {
  const b = new Exprs();
  const word = (value: number): Expr => b.const('u32', value);
  const mixed = (x: Expr): Expr => {
    const half = b.alu('mul', b.alu('xor', x, b.alu('shr', x, word(16))), word(0x85ebca6b));
    const most = b.alu('mul', b.alu('xor', half, b.alu('shr', half, word(13))), word(0xc2b2ae35));
    return b.alu('xor', most, b.alu('shr', most, word(16)));
  };
  const [item, sum, at] = [b.axis(0, items), b.axis(1, sums), b.axis(2, words)];
  const place = b.cast('u32', at);
  const key = mixed(
    b.alu('add', b.alu('mul', place, word(0x9e3779b1)), b.alu('mul', b.cast('u32', sum), word(0x7feb352d))),
  );
  const loaded = Array.from({ length: items }, (_, i) =>
    b.load('u32', i, at, items === 1 ? null : b.alu('eq', item, b.const('index', i))),
  ).reduce<Expr>((all, one) => b.alu('or', all, one), word(0));
  const value = mixed(b.alu('add', b.alu('mul', b.alu('xor', loaded, key), word(0x27d4eb2f)), place));
  const total = words * items;
  return {
    kind: 'kernel',
    name: `digest_u32_${items}x${words}`,
    space: [items, sums],
    reduced: [words],
    accumulators: [{ op: 'sum', type: 'u32', value }],
    outputs: [{ type: 'u32', value: b.acc('u32', 0) }],
    inputs: Array.from({ length: items }, () => ({ type: 'u32' as const, elements: words })),
    scalars: [],
    inPlace: [],
    estimate: { flops: 20 * sums * total, bytesRead: 4 * total, bytesWritten: 4 * sums * items },
  };
}
