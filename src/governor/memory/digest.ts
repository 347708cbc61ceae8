// Hashes of buffers, computed where they lie: what comes to the host is 16 bytes for each, however large it is.
//
// Four sums of 32 bits. What a word adds to a sum is mixed with its place and the number of the sum, so that a word that changes always
// changes all four, and words that change together leave them equal only by chance. Sums may be added up in any order, so all
// threads of a device take part. It finds accidents; it is no defence against somebody who looks for bytes of equal hash.

import type { Device, DeviceBuffer } from '../../devices/device.ts';
import { type Expr, Exprs } from '../../kernel/expr.ts';
import type { Kernel } from '../../kernel/kernel.ts';

export interface Hashable {
  readonly device: Device;
  readonly buffer: DeviceBuffer;
  readonly bytes: number;
}

const sums = 4;

/** What comes to the host of each buffer, at most: its sums, and what is left behind its last word. */
export const digestBytes = 4 * sums + 3;

/** Buffers that one launch hashes, at most. */
const mostTogether = 8;

/** One hash for each, in their order, as hexadecimal digits. */
export async function digests(items: readonly Hashable[]): Promise<string[]> {
  const hashes = new Map<Hashable, string>();
  for (const device of new Set(items.map((i) => i.device))) {
    const there = items.filter((i) => i.device === device);
    for (const [item, hash] of await digestsOn(device, there)) hashes.set(item, hash);
  }
  return items.map((item) => hashes.get(item) ?? '');
}

async function digestsOn(device: Device, items: readonly Hashable[]): Promise<Map<Hashable, string>> {
  const hashes = device.caps.host && device.readSync ? oneByOne(device, items) : await together(device, items);
  for (const item of items)
    if (item.bytes % 4 > 0) hashes.set(item, (hashes.get(item) ?? '') + hex(await tailOf(item)));
  return hashes;
}

/** The processor passes over each buffer once, and has the sums as soon as it has. */
function oneByOne(device: Device, items: readonly Hashable[]): Map<Hashable, string> {
  const hashes = new Map<Hashable, string>();
  const outputs = sumKeys.map(() => device.allocate(4));
  try {
    for (const item of items) {
      const words = wordsOf(item);
      if (words === 0) continue;
      device.launch(device.prepare(kernelFor(words, 1, true)), [item.buffer, ...outputs], []);
      hashes.set(
        item,
        outputs.reduce((text, o) => text + hex(device.readSync!(o)), ''),
      );
    }
  } finally {
    for (const o of outputs) device.release(o);
  }
  return hashes;
}

/** A GPU waits longer for a launch than it computes: several buffers a launch, and all launches before the first wait. */
async function together(device: Device, items: readonly Hashable[]): Promise<Map<Hashable, string>> {
  const hashes = new Map<Hashable, string>();
  const made: DeviceBuffer[] = [];
  try {
    const launched = groupsOf(items, Math.min(mostTogether, device.caps.maxBuffers - 1)).map((group) => {
      const output = device.allocate(4 * sums * group.length);
      made.push(output);
      const kernel = kernelFor(wordsOf(group[0]!), group.length, false);
      device.launch(device.prepare(kernel), [...group.map((i) => i.buffer), output], []);
      return { group, read: device.read(output) };
    });
    // One that fails while another is waited for is met in its turn.
    for (const { read } of launched) read.catch(() => {});
    for (const { group, read } of launched) {
      const all = hex(await read);
      group.forEach((item, k) => {
        hashes.set(item, all.slice(8 * sums * k, 8 * sums * (k + 1)));
      });
    }
    return hashes;
  } finally {
    for (const buffer of made) device.release(buffer);
  }
}

const wordsOf = ({ bytes }: Hashable): number => Math.floor(bytes / 4);

const digits = Array.from({ length: 256 }, (_, b) => b.toString(16).padStart(2, '0'));

function hex(bytes: Uint8Array): string {
  let text = '';
  for (const b of bytes) text += digits[b];
  return text;
}

/** What is left behind the last whole word: up to three bytes. */
const tailOf = (item: Hashable): Promise<Uint8Array> =>
  item.device.read(item.buffer, 4 * wordsOf(item), item.bytes % 4);

/** Items that are as long as each other, so many at a time. Those without a whole word are left out. */
function groupsOf(items: readonly Hashable[], most: number): Hashable[][] {
  const open = new Map<number, Hashable[]>();
  const groups: Hashable[][] = [];
  for (const item of items) {
    const words = wordsOf(item);
    if (words === 0) continue;
    let group = open.get(words);
    if (!group || group.length === most) {
      group = [];
      groups.push(group);
      open.set(words, group);
    }
    group.push(item);
  }
  return groups;
}

/** Kernels by what they hash: devices recognise the same object at once, and an equal one only after looking through it. */
const kernels = new Map<string, Kernel>();
const mostKernels = 64;

function kernelFor(words: number, items: number, host: boolean): Kernel {
  const key = `${words} ${items} ${host}`;
  let known = kernels.get(key);
  if (known) return known;
  if (kernels.size >= mostKernels) kernels.clear();
  kernels.set(key, (known = host ? passKernel(words) : groupKernel(words, items)));
  return known;
}

/** One word of a hash: what each word of the memory adds to sum k. Everything but the last two steps is the same for all four sums. */
function termOf(b: Exprs, loaded: Expr, at: Expr, sum: Expr): Expr {
  const word = (value: number): Expr => b.const('u32', value);
  const folded = (x: Expr, by: number): Expr => b.alu('xor', x, b.alu('shr', x, word(by)));
  const mixed = folded(b.alu('mul', folded(loaded, 16), word(0x85ebca6b)), 15);
  const place = folded(b.alu('add', b.alu('mul', b.cast('u32', at), word(0x9e3779b1)), word(0x7feb352d)), 16);
  return b.alu('mul', mixed, b.alu('xor', place, sum));
}

/** A number for each sum, far apart from each other in every bit. */
const sumKeys = [0x2545f491, 0xd1b54a33, 0x9c8f2d6b, 0x6a09e667] as const;

/** One item by itself: all four sums in one pass, each in a buffer of its own. */
function passKernel(words: number): Kernel {
  const b = new Exprs();
  const at = b.axis(1, words);
  const loaded = b.load('u32', 0, at);
  return {
    ...kernelOver(words, 1),
    name: `digest_u32_${words}`,
    space: [1],
    accumulators: sumKeys.map((key) => ({
      op: 'sum' as const,
      type: 'u32' as const,
      value: termOf(b, loaded, at, b.const('u32', key)),
    })),
    outputs: sumKeys.map((_, k) => ({ type: 'u32' as const, value: b.acc('u32', k) })),
  };
}

/** Several items at once, their sums side by side: [items, sums]. */
function groupKernel(words: number, items: number): Kernel {
  const b = new Exprs();
  const [item, sum, at] = [b.axis(0, items), b.axis(1, sums), b.axis(2, words)];
  const loaded = Array.from({ length: items }, (_, i) =>
    b.load('u32', i, at, items === 1 ? null : b.alu('eq', item, b.const('index', i))),
  ).reduce<Expr>((all, one) => b.alu('or', all, one), b.const('u32', 0));
  const key = sumKeys.reduce<Expr>(
    (others, value, k) => b.alu('where', b.alu('eq', sum, b.const('index', k)), b.const('u32', value), others),
    b.const('u32', 0),
  );
  return {
    ...kernelOver(words, items),
    name: `digest_u32_${items}x${words}`,
    space: [items, sums],
    accumulators: [{ op: 'sum', type: 'u32', value: termOf(b, loaded, at, key) }],
    outputs: [{ type: 'u32', value: b.acc('u32', 0) }],
  };
}

const kernelOver = (words: number, items: number) => ({
  kind: 'kernel' as const,
  reduced: [words],
  inputs: Array.from({ length: items }, () => ({ type: 'u32' as const, elements: words })),
  scalars: [],
  inPlace: [],
  estimate: { flops: 21 * words * items, bytesRead: 4 * words * items, bytesWritten: 4 * sums * items },
});
