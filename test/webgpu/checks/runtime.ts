// The device as a machine: transfers of every size, order of work, in-place, big grids, recordings, marks, pools, errors.

import type { DeviceBuffer } from '../../../src/devices/device.ts';
import { WebGpuDevice } from '../../../src/devices/webgpu/device.ts';
import { ForgeError, KernelError } from '../../../src/errors.ts';
import type { Kernel, RawKernel } from '../../../src/kernel/kernel.ts';
import { assert, bytesOf, type Check, check, Exprs, kernelOf, noEstimate, upload, valuesOf } from '../support.ts';

const same = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((x, i) => x === b[i]);
const pattern = (n: number, seed = 1): Uint8Array =>
  Uint8Array.from({ length: n }, (_, i) => (i * 31 + seed * 17 + (i >> 8)) & 255);

/** out = in + scalar, over n elements of f32. */
export function addKernel(n: number, inPlace = false): Kernel {
  const b = new Exprs();
  return kernelOf({
    name: `add_f32_${n}`,
    space: [n],
    inputs: [{ type: 'f32', elements: n }],
    scalars: ['f32'],
    outputs: [{ type: 'f32', value: b.alu('add', b.load('f32', 0, b.axis(0, n)), b.scalar('f32', 0)) }],
    inPlace: inPlace ? [0] : [],
  });
}

async function rejects(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('the promise was expected to reject');
}

function throws(f: () => unknown): unknown {
  try {
    f();
  } catch (error) {
    return error;
  }
  throw new Error('the call was expected to throw');
}

export const runtime: Check[] = [
  check('writes and reads of every small size come back byte for byte', async (device) => {
    for (const n of [0, 1, 2, 3, 4, 5, 15, 16, 17, 255, 256, 257, 4095, 70_001]) {
      const b = upload(device, pattern(n));
      assert(same(await device.read(b), pattern(n)), `${n} bytes`);
      device.release(b);
    }
  }),
  check('parts are written and read at any offset, and the rest stays', async (device) => {
    const n = 41;
    for (let offset = 0; offset < 9; offset++) {
      for (const length of [0, 1, 2, 3, 4, 5, 7, 8, 11, n - offset]) {
        const b = upload(device, pattern(n));
        device.write(b, pattern(length, 9), offset);
        const want = pattern(n);
        want.set(pattern(length, 9), offset);
        assert(same(await device.read(b), want), `write ${length} at ${offset}`);
        assert(
          same(await device.read(b, offset, length), want.subarray(offset, offset + length)),
          `read ${length} at ${offset}`,
        );
        device.release(b);
      }
    }
  }),
  check('threads of a workgroup lie in subgroups by their order, as reductions assume', async (device) => {
    const subgroups = String(device.caps.details.features).includes('subgroups');
    const source = `${subgroups ? 'enable subgroups;' : ''}
@group(0) @binding(0) var<storage, read_write> out: array<vec2<u32>>;
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_index) lid: u32${
      subgroups ? ', @builtin(subgroup_invocation_id) sid: u32, @builtin(subgroup_size) size: u32' : ''
    }) {
  out[wid.x * 256u + lid] = vec2<u32>(${subgroups ? 'sid, size' : 'lid, 256u'});
}
`;
    const groups = 5;
    const raw: RawKernel = {
      kind: 'routine',
      op: 'raw',
      name: 'subgroup_order',
      language: 'wgsl',
      source,
      entry: 'main',
      inputs: [],
      outputs: [{ type: 'u32', elements: 512 * groups }],
      scalars: [],
      grid: [groups, 1, 1],
      block: [256, 1, 1],
      estimate: noEstimate,
    };
    const out = device.allocate(2048 * groups);
    device.launch(device.prepare(raw), [out], []);
    const got = valuesOf('u32', await device.read(out));
    for (let i = 0; i < 256 * groups; i++) {
      const [lane, size] = [got[2 * i]!, got[2 * i + 1]!];
      assert(size >= 4 && lane === (i % 256) % size, `thread ${i % 256} is lane ${lane} of ${size}`);
    }
    device.release(out);
  }),
  check('large transfers in pieces', async (device) => {
    const n = 40 * 2 ** 20 + 12;
    const data = new Uint8Array(n);
    new Uint32Array(data.buffer).forEach((_, i, words) => {
      words[i] = Math.imul(i, 2654435761);
    });
    const b = upload(device, data);
    const got = await device.read(b);
    device.release(b);
    assert(sameWords(got, data), 'contents differ');
  }),
  check('reads across pieces begin and end at any byte', async (device) => {
    const bytes = new Uint8Array(9 << 20).map((_, i) => (i * 2654435761) >>> 13);
    const x = upload(device, bytes);
    const piece = device instanceof WebGpuDevice && device.traits.cpu ? 1 << 20 : 4 << 20;
    for (const [offset, length] of [
      [3, piece],
      [piece - 1, 2],
      [piece - 2, piece + 5],
      [1, 2 * piece - 1],
      [piece, piece],
    ] as const) {
      const got = await device.read(x, offset, length);
      const at = got.findIndex((b, i) => b !== bytes[offset + i]);
      assert(got.length === length && at < 0, `${length} bytes at ${offset}: byte ${at} of ${got.length}`);
    }
    device.release(x);
  }),
  check('host bytes may change as soon as write returns', async (device) => {
    const bytes = pattern(1000);
    const b = upload(device, bytes);
    bytes.fill(0);
    assert(same(await device.read(b), pattern(1000)), 'the write saw the later change');
    device.release(b);
  }),
  check('work, writes and reads happen in the order of the calls', async (device) => {
    const n = 1000;
    const program = device.prepare(addKernel(n));
    const [x, y] = [device.allocate(n * 4), device.allocate(n * 4)];
    const reads: Promise<Uint8Array>[] = [];
    for (let i = 0; i < 5; i++) {
      device.write(x, bytesOf('f32', new Array(n).fill(i * 10)));
      device.launch(program, [x, y], [1]);
      device.launch(program, [y, x], [1]);
      reads.push(device.read(x));
    }
    const results = await Promise.all(reads);
    results.forEach((r, i) => {
      assert(
        valuesOf('f32', r).every((v) => v === i * 10 + 2),
        `round ${i} read ${valuesOf('f32', r)[0]}`,
      );
    });
    device.release(x);
    device.release(y);
  }),
  check('a released buffer is reused without disturbing work that still reads it', async (device) => {
    const n = 5000;
    const program = device.prepare(addKernel(n));
    let x = upload(device, bytesOf('f32', new Array(n).fill(0)));
    for (let i = 0; i < 300; i++) {
      const y = device.allocate(n * 4);
      device.launch(program, [x, y], [1]);
      device.release(x);
      x = y;
    }
    const got = valuesOf('f32', await device.read(x));
    assert(
      got.every((v) => v === 300),
      `got ${got[0]}`,
    );
    device.release(x);
  }),
  check('an output may overwrite the input the kernel lists, and is copied where it may not', async (device) => {
    const n = 1003;
    for (const allowed of [true, false]) {
      const program = device.prepare(addKernel(n, allowed));
      const x = upload(
        device,
        bytesOf(
          'f32',
          Array.from({ length: n }, (_, i) => i),
        ),
      );
      for (let i = 0; i < 3; i++) device.launch(program, [x, x], [2]);
      const got = valuesOf('f32', await device.read(x));
      assert(
        got.every((v, i) => v === i + 6),
        `in place ${allowed}: ${got[1]}`,
      );
      device.release(x);
    }
  }),
  check('in place across types of one size keeps the bits right', async (device) => {
    const n = 77;
    const b = new Exprs();
    const kernel = kernelOf({
      name: 'to_int_in_place',
      space: [n],
      inputs: [{ type: 'f32', elements: n }],
      outputs: [{ type: 'i32', value: b.cast('i32', b.load('f32', 0, b.axis(0, n))) }],
      inPlace: [0],
    });
    const x = upload(
      device,
      bytesOf(
        'f32',
        Array.from({ length: n }, (_, i) => i - 30.5),
      ),
    );
    device.launch(device.prepare(kernel), [x, x], []);
    const got = valuesOf('i32', await device.read(x));
    assert(
      got.every((v, i) => v === Math.trunc(i - 30.5)),
      `got ${got}`,
    );
    device.release(x);
  }),
  check('more than 65,535 workgroups: every element of 70 million is written', async (device) => {
    const n = 70_000_003;
    const b = new Exprs();
    // Bytes, so that the space is large and the buffer is not: n/4 words, 68,360 workgroups of 256.
    const kernel = kernelOf({
      name: 'positions_u8',
      space: [n],
      inputs: [],
      outputs: [{ type: 'u8', value: b.cast('u8', b.alu('imod', b.axis(0, n), b.const('index', 251))) }],
    });
    const out = device.allocate(n);
    device.launch(device.prepare(kernel), [out], []);
    const got = await device.read(out);
    let wrong = -1;
    for (let i = 0; i < n && wrong < 0; i++) if (got[i] !== i % 251) wrong = i;
    assert(wrong < 0, `element ${wrong} is ${got[wrong]}`);
    device.release(out);
  }),
  check('a recording replays with other buffers and scalars, through scratch and in place', async (device) => {
    const n = 3000;
    const b = new Exprs();
    const sum = kernelOf({
      name: 'sum_f32',
      space: [],
      reduced: [n],
      inputs: [{ type: 'f32', elements: n }],
      accumulators: [{ op: 'sum', type: 'f32', value: b.load('f32', 0, b.axis(0, n)) }],
      outputs: [{ type: 'f32', value: b.acc('f32', 0) }],
    });
    assert(device.record, 'record exists');
    const recording = device.record([
      { program: device.prepare(addKernel(n)), buffers: [0, 1], scalars: [0] },
      { program: device.prepare(addKernel(n, true)), buffers: [1, 1], scalars: [1] },
      { program: device.prepare(sum), buffers: [1, 2], scalars: [] },
    ]);
    const make = (v: number): DeviceBuffer => upload(device, bytesOf('f32', new Array(n).fill(v)));
    for (const v of [1, 2, 5]) {
      const [x, y, z] = [make(v), device.allocate(n * 4), device.allocate(4)];
      for (let i = 0; i < 3; i++) {
        recording.replay([x, y, z], [10, i]);
        const got = valuesOf('f32', await device.read(z))[0];
        assert(got === n * (v + 10 + i), `sum is ${got}`);
      }
      for (const buffer of [x, y, z]) device.release(buffer);
    }
    device.trim();
    const [x, y, z] = [make(3), device.allocate(n * 4), device.allocate(4)];
    recording.replay([x, y, z], [0, 0]);
    assert(valuesOf('f32', await device.read(z))[0] === 3 * n, 'after trim');
    recording.dispose();
    for (const buffer of [x, y, z]) device.release(buffer);
  }),
  check('marks are reached in order, and time passes between them', async (device) => {
    const n = 1 << 20;
    const x = upload(device, new Uint8Array(n * 4));
    const program = device.prepare(addKernel(n, true));
    const before = device.mark();
    for (let i = 0; i < 20; i++) device.launch(program, [x, x], [1]);
    const after = device.mark();
    await after.whenDone();
    assert(after.done(), 'the later mark is done');
    await before.whenDone();
    assert(before.done(), 'the earlier mark is done');
    const ms = after.since(before);
    assert(ms === null || (ms > 0 && ms < 60_000), `since gave ${ms}`);
    device.release(x);
  }),
  check('a mark without a time is reached with the work before it, and submits nothing by itself', async (device) => {
    assert(device instanceof WebGpuDevice, 'a WebGPU device');
    const x = upload(device, bytesOf('f32', [1, 2, 3]));
    const timed = device.mark();
    device.launch(device.prepare(addKernel(3, true)), [x, x], [1]);
    const mark = device.mark(false);
    await mark.whenDone();
    assert(mark.done() && mark.since(timed) === null, 'done, without a time');
    const { submits } = device.stats();
    const idle = device.mark(false);
    await idle.whenDone();
    assert(idle.done() && device.stats().submits === submits, 'nothing to submit');
    device.release(x);
  }),
  check('work that nobody reads is submitted after a moment', async (device) => {
    assert(device instanceof WebGpuDevice, 'a WebGPU device');
    const x = upload(device, bytesOf('f32', [1, 2, 3]));
    const before = device.stats().submits;
    device.launch(device.prepare(addKernel(3, true)), [x, x], [1]);
    const end = performance.now() + 10_000;
    while (device.stats().submits === before && performance.now() < end) await new Promise((r) => setTimeout(r, 5));
    assert(device.stats().submits === before + 1, 'nothing was submitted');
    device.release(x);
  }),
  check('a chain of small ops is collected into few submits, and bind groups are reused', async (device) => {
    assert(device instanceof WebGpuDevice, 'a WebGPU device');
    const n = 64;
    const program = device.prepare(addKernel(n));
    const [x, y] = [upload(device, new Uint8Array(n * 4)), device.allocate(n * 4)];
    const before = device.stats();
    for (let i = 0; i < 100; i++) device.launch(program, i % 2 ? [y, x] : [x, y], [1]);
    assert(valuesOf('f32', await device.read(x))[0] === 100, 'sum');
    const after = device.stats();
    // A software adapter is given 16 dispatches, then 32, then the rest; a GPU all at once. One may go while nothing was added.
    const most = device.traits.cpu ? [3, 4] : [1, 2];
    assert(most.includes(after.submits - before.submits), `${after.submits - before.submits} submits`);
    assert(after.bindGroups - before.bindGroups <= 2, `${after.bindGroups - before.bindGroups} bind groups`);
    device.release(x);
    device.release(y);
  }),
  check('equal kernels made twice share one pipeline', async (device) => {
    assert(device instanceof WebGpuDevice, 'a WebGPU device');
    device.prepare(addKernel(99));
    const before = device.stats().pipelines;
    device.prepare(addKernel(99));
    assert(device.stats().pipelines === before, 'a second pipeline was made');
  }),
  check('trim gives idle memory back and leaves live buffers alone', async (device) => {
    assert(device instanceof WebGpuDevice, 'a WebGPU device');
    const live = upload(device, pattern(1000));
    device.release(device.allocate(1 << 20));
    assert(device.stats().idleBytes >= 1 << 20, 'idle bytes are kept for reuse');
    device.trim();
    assert(device.stats().idleBytes === 0, 'idle bytes are given back');
    assert(same(await device.read(live), pattern(1000)), 'live contents');
    device.release(live);
  }),
  check('a raw WGSL kernel runs with its buffers and scalars', async (device) => {
    const raw: RawKernel = {
      ...rawBase,
      source: `@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
struct Scalars { factor: f32, count: u32 }
@group(0) @binding(2) var<uniform> s: Scalars;
@compute @workgroup_size(64) fn scale(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < s.count) { y[id.x] = x[id.x] * s.factor; }
}`,
      entry: 'scale',
    };
    const x = upload(device, bytesOf('f32', [1, 2, 3, 4]));
    const y = upload(device, new Uint8Array(16));
    device.launch(device.prepare(raw), [x, y], [2.5, 3]);
    const got = valuesOf('f32', await device.read(y));
    assert(got.join() === '2.5,5,7.5,0', `got ${got}`);
    device.release(x);
    device.release(y);
  }),
  check('a rejected shader is a KernelError that names the op and carries source and line', async (device) => {
    const raw: RawKernel = {
      ...rawBase,
      name: 'broken_kernel',
      source: '@compute @workgroup_size(1)\nfn scale() { let x: f32 = 1u; }',
      entry: 'scale',
    };
    const x = upload(device, new Uint8Array(16));
    const y = upload(device, new Uint8Array(16));
    device.launch(device.prepare(raw), [x, y], [1, 1]);
    const error = await rejects(device.read(y));
    assert(error instanceof KernelError, `got ${String(error)}`);
    assert(
      error.where === 'broken_kernel' && /line 2/.test(error.message) && error.source === raw.source,
      error.message,
    );
    const again = throws(() => device.launch(device.prepare(raw), [x, y], [1, 1]));
    assert(again instanceof KernelError, 'the second launch throws at once');
    assert((await device.read(x)).length === 16, 'other buffers are fine');
    device.write(y, new Uint8Array(16).fill(7));
    assert((await device.read(y))[3] === 7, 'a whole write makes the buffer good again');
    device.release(x);
    device.release(y);
  }),
  check('what is computed from a refused batch is refused too, and nothing else', async (device) => {
    const raw: RawKernel = { ...rawBase, name: 'broken_again', source: 'not wgsl at all', entry: 'scale' };
    const n = 16;
    const add = device.prepare(addKernel(n));
    const make = (): DeviceBuffer => upload(device, bytesOf('f32', new Array(n).fill(1)));
    const [x, bad, after, good] = [make(), make(), make(), make()];
    await device.read(x);
    device.launch(device.prepare(raw), [x, bad], [1, 1]);
    if (device instanceof WebGpuDevice) device.flush();
    device.launch(add, [bad, after], [1]);
    device.launch(add, [x, good], [1]);
    const [r1, r2] = [rejects(device.read(after)), device.read(good)];
    assert((await r1) instanceof ForgeError, 'the consumer of a refused result is refused');
    assert(valuesOf('f32', await r2)[0] === 2, 'an unrelated result is there');
    assert(throws(() => device.launch(add, [after, good], [1])) instanceof ForgeError, 'later launches throw');
    for (const b of [x, bad, after, good]) device.release(b);
  }),
  check('wrong use is refused with a typed error', async (device) => {
    const x = upload(device, new Uint8Array(16));
    const program = device.prepare(addKernel(4));
    const errors = [
      throws(() => device.launch(program, [x], [1])),
      throws(() => device.write(x, new Uint8Array(8), 12)),
      throws(() => device.allocate(-1)),
      throws(() => device.allocate(device.caps.maxBufferBytes + 1)),
      await rejects(device.read(x, 8, 9)),
    ];
    device.release(x);
    errors.push(
      throws(() => device.write(x, new Uint8Array(4))),
      throws(() => device.launch(program, [x, x], [1])),
      await rejects(device.read(x)),
    );
    const codes = errors.map((e) => (e instanceof ForgeError ? e.code : String(e)));
    const want =
      'WRONG_BUFFERS,OUT_OF_RANGE,BAD_SIZE,BUFFER_TOO_LARGE,OUT_OF_RANGE,BUFFER_RELEASED,BUFFER_RELEASED,BUFFER_RELEASED';
    assert(codes.join() === want, codes.join());
  }),
  check('many scalars and many launches in one batch keep their own values', async (device) => {
    const n = 4;
    const program = device.prepare(addKernel(n));
    const x = upload(device, bytesOf('f32', [0, 0, 0, 0]));
    const outs = Array.from({ length: 1500 }, () => device.allocate(n * 4));
    outs.forEach((o, i) => {
      device.launch(program, [x, o], [i]);
    });
    const got = await Promise.all(outs.map((o) => device.read(o, 0, 4)));
    got.forEach((bytes, i) => {
      assert(valuesOf('f32', bytes)[0] === i, `launch ${i} saw ${valuesOf('f32', bytes)[0]}`);
    });
    for (const b of [x, ...outs]) device.release(b);
  }),
];

const rawBase: RawKernel = {
  kind: 'routine',
  op: 'raw',
  name: 'raw_scale',
  language: 'wgsl',
  source: '',
  entry: 'main',
  inputs: [{ type: 'f32', elements: 4 }],
  outputs: [{ type: 'f32', elements: 4 }],
  scalars: ['f32', 'u32'],
  grid: [1, 1, 1],
  block: [64, 1, 1],
  estimate: noEstimate,
};

function sameWords(a: Uint8Array, b: Uint8Array): boolean {
  const [x, y] = [
    new Uint32Array(a.buffer, a.byteOffset, a.length >> 2),
    new Uint32Array(b.buffer, b.byteOffset, b.length >> 2),
  ];
  return a.length === b.length && x.every((v, i) => v === y[i]);
}
