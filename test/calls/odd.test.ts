// Calls that the compiler accepts, with values that nobody means: numbers that are none, empty and transferred arrays, tensors that are
// disposed of or of another runtime, signals that were triggered, functions that throw. Each gives a result or is refused by an
// error of the library; none hangs.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRuntime, ForgeError, type Runtime } from '../../src/index.ts';
import { all } from '../support/extent.ts';
import { seed } from '../support/seed.ts';
import { within } from '../support/time.ts';
import { makeCalls } from './check.ts';
import { entries, type Opened, openParts, parts } from './parts.ts';
import type { Call, Surface } from './surface.ts';

const count = Number(process.env.GPUFORGE_ODD_CALLS ?? (all ? 20_000 : 1200));
const only = process.env.GPUFORGE_PART;

/** Parts whose functions change no more than the values they are given; the others open ports, write files or ask the machine. */
const tried = parts.filter((p) =>
  only
    ? p.part === only
    : ['tensors', 'runtime', 'io', 'routing', 'lattice', 'batch', 'profile', 'tfjs', 'compute'].includes(p.part),
);

/** What ends the things that are called, writes where a text says, or takes as long as it is told to. */
const leftOut =
  /close|dispose|reset|lose|write|stream|register|record|save|createRuntime|GPUCompute\.create|inTurns|export|restore|worker|TensorPool\.create|DeviceManager\.create/i;

const thrown = 'thrown by the caller';

const odd = [
  ...['Number.NaN', 'Number.POSITIVE_INFINITY', '-0', '2 ** 53', '1e300', '-3', '16', '1e-320', '2n ** 70n', '-1n'],
  ...['[-1]', '[Number.NaN]', '[0, 0]', '[1e300]', '[[Number.NaN, 1]]', '[[0, 0], [1, 2]]', '[3, 1, 2]', '[{}]'],
  ...['new Float32Array(0)', 'new Uint8Array(0)', 'new Float32Array([Number.NaN, 1, Number.POSITIVE_INFINITY])'],
  ...['new BigInt64Array(2)', 'new Int8Array(3)', 'new Float32Array(16)', 'new Float32Array(64)'],
  ...['[new Float32Array(2), new Float32Array(2)]', '[new Float32Array(0)]', '[detached]', 'detached', 'detachedBytes'],
  ...[
    'disposedTensor',
    'foreignTensor',
    '[disposedTensor]',
    '[foreignTensor, rt.tensor([1])]',
    '{ a: disposedTensor }',
  ],
  ...['rt.zeros([0, 3])', 'rt.tensor(2)', 'rt.ones([2, 2]).add(1)', 'rt.zeros([4, 4])', '{ a: rt.tensor([1]) }'],
  ...["rt.zeros([3], { dtype: 'f16' })", "rt.zeros([2], { dtype: 'u8' })", '[rt.tensor([1, 2]), rt.tensor([3, 4, 5])]'],
  ...["'\\0'", "'cpu'", "'x'.repeat(300)", "'cuda:9'", 'AbortSignal.abort()', '() => 1', 'async () => 1'],
  `() => { throw new Error('${thrown}'); }`,
];

/** Its memory has gone to somebody else. */
function transferred<A extends ArrayBufferView<ArrayBuffer>>(array: A): A {
  structuredClone(array.buffer, { transfer: [array.buffer] });
  return array;
}

let opened: Opened;
let other: Runtime;
let surface: Surface;
beforeAll(async () => {
  opened = await openParts();
  other = await createRuntime({ devices: ['cpu'], cpu: { threads: 1 } });
  const disposedTensor = opened.rt.tensor([1, 2]);
  disposedTensor.dispose();
  const foreignTensor = other.tensor([1, 2, 3]);
  Object.assign(opened.names.values, {
    ...{ disposedTensor, foreignTensor },
    ...{ detached: transferred(new Float32Array(4)), detachedBytes: transferred(new Uint8Array(4)) },
  });
  const tensor = "import('../../src/index.ts').Tensor";
  Object.assign(opened.names.types, {
    ...{ disposedTensor: tensor, foreignTensor: tensor },
    ...{ detached: 'Float32Array<ArrayBuffer>', detachedBytes: 'Uint8Array<ArrayBuffer>' },
  });
  surface = makeCalls(tried, opened.names, Object.keys(entries), count, odd);
  console.log(`seed ${seed}: ${surface.accepted.length} odd calls`);
}, 120_000);
afterAll(async () => {
  await opened?.close();
  await other?.close();
});

const nameOf = ({ target, method }: Call): string => `${target}${method === null ? '' : `.${method}`}`;
const shown = (call: Call): string => `${call.made ? 'new ' : ''}${nameOf(call)}(${call.args.join(', ')})`;

/** Makes a call and waits for it, and for what it gives if that is lazy. */
async function made(call: Call): Promise<void> {
  const names = opened.names.values;
  const evaluate = (text: string): unknown =>
    new Function(...Object.keys(names), `return (${text.replaceAll(/ as (const|never)/g, '')});`)(
      ...Object.values(names),
    );
  const target = evaluate(call.target) as Record<string, () => unknown>;
  const args = call.args.map(evaluate);
  const itself = target as unknown as () => unknown;
  const result: unknown = call.made
    ? Reflect.construct(itself, args)
    : await (call.method === null
        ? Reflect.apply(itself, undefined, args)
        : Reflect.apply(target[call.method]!, target, args));
  // Whoever asked to hear of every runtime of this process hears of those of other tests too.
  if (call.target === 'gpuforge.whenRuntimeOpens') (result as () => void)();
  const { data, size } = (result ?? {}) as { data?: unknown; size?: number };
  if (typeof data === 'function' && size! < 1e6) await Reflect.apply(data, result, []);
}

/**
 * Whether the option that was refused is written in the call. The compiler accepts only options that there are, so it was handed on to a
 * function that does not take it. Of whole objects the compiler takes any that have one option in common.
 */
const isWritten = (message: string, { args }: Call): boolean => {
  const option = /there is no option '(.*?)'/.exec(message)?.[1];
  return args.some((a) => a.startsWith('{') && a.includes(`"${option}":`));
};

/** What is wrong with how a call ended, or null. */
async function problem(call: Call): Promise<string | null> {
  try {
    await ended(made(call));
    return null;
  } catch (e) {
    if (e instanceof ForgeError && !(e.code === 'UNKNOWN_OPTION' && isWritten(e.message, call))) return null;
    if (`${e}`.includes(thrown)) return null;
    return `${e instanceof Error ? (e.stack ?? e) : String(e)}`.split('\n').slice(0, 3).join(' ');
  }
}

async function ended(work: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('it does not end')), within(20_000));
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

describe('odd calls give a result or are refused by name:', () => {
  it.each(tried.map((p) => p.part))('%s', { timeout: 300_000 }, async (part) => {
    const calls = surface.accepted.filter((c) => c.part === part && !leftOut.test(nameOf(c)));
    expect(calls.length).toBeGreaterThan(0);
    const problems = new Map<string, string>();
    for (const call of calls) {
      const found = await opened.rt.scope(() => problem(call));
      if (found) problems.set(`${nameOf(call)}: ${found}`, shown(call));
    }
    expect([...problems].slice(0, 5)).toEqual([]);
  });
});
