// Kernels that keep data on the chip, beside the reference: squares of transposes, stacks of rows, attention, sorts and selections. For devices with the plans for GPUs.

import type { DType } from '../../../src/base/dtype.ts';
import type { Device } from '../../../src/devices/device.ts';
import { isPacked } from '../../../src/devices/webgpu/wgsl/types.ts';
import { decompose, decomposeEpilogue } from '../../../src/kernel/decompose/index.ts';
import type { Attention, Routine, Sort, TopK } from '../../../src/kernel/kernel.ts';
import { attentionCases } from '../../gpu/attention.ts';
import { routineData } from '../../gpu/check.ts';
import { movementCases } from '../../gpu/corpus.ts';
import { difference, fill } from '../../gpu/data.ts';
import { type RoutineCase, routineCases } from '../../gpu/routines.ts';
import { decomposed, rowsCases } from '../../gpu/rows.ts';
import { assert, type Check, check, expected, runOn, upload } from '../support.ts';

const types: readonly DType[] = ['f32', 'f16', 'i32', 'u32', 'u8', 'bool'];
const seed = 3;

/** The dtype in a name such as `softmax_f32_128x64`. */
const typeIn = (name: string): DType | undefined => types.find((t) => name.split('_').includes(t));

/** What `npm test` runs: a software adapter takes seconds to compile some. `npm run test:all` and GPU hosts run all of them. */
const soon = new Set([
  'crossed_pair_f32',
  'crossed_axes_u8',
  'softmax_f32_131x100',
  'softmax_f32_5x29x512',
  'centred_f32_128x37x31',
  'spread_f32_128x1000',
  'spread_f32_3x100x64_beside',
  'attention_f32_3x70x45x32x24_causal_333',
  'topk7_f32_13x100_down',
  'topk7_u8_13x100_up',
  'topk16_f32_70x1000_down',
  'topk49to51_f32_13x100_up',
  'topk8000to8001_u8_2x16384_down',
  'topk100_f32_2x70000_up',
]);

const squares = movementCases().flatMap((c) => {
  const { name, space, inputs, outputs } = c.kernel;
  const type = typeIn(name);
  if (!name.startsWith('crossed') || !type) return [];
  // Words that hold bytes of two lines belong to nobody: those go element by element.
  const owned = isPacked(type) ? space.at(-1)! % 4 === 0 : true;
  return check(
    `${name} through squares`,
    async (device) => {
      const kernel = decompose(c.kernel, device.caps.native);
      const { source } = device.prepare(kernel);
      assert(
        source.includes(`${name}_squares`) === owned,
        `${name} goes ${owned ? 'element by element' : 'by squares'}`,
      );
      const bytes = inputs.map((p, i) => fill(p.type, p.elements, seed + i, c.mild ?? false, c.positions?.get(i)));
      const got = await runOn(device, kernel, bytes, c.scalars);
      expected(c.kernel, bytes, c.scalars).forEach((want, k) => {
        const complaint = difference(outputs[k]!.type, got[k]!, want, c.tolerance);
        assert(!complaint, complaint ?? '');
      });
    },
    type,
    !soon.has(name),
  );
});

/** Runs a routine on the device and compares with the reference. */
async function agrees(device: Device, c: RoutineCase, lowered: Routine): Promise<void> {
  const { bytes, wanted } = routineData(c, seed);
  const buffers = [...bytes, ...wanted.map((w) => new Uint8Array(w.length).fill(0xa5))].map((b) => upload(device, b));
  device.launch(device.prepare(lowered), buffers, c.scalars ?? []);
  for (const [i, want] of wanted.entries()) {
    const got = await device.read(buffers[bytes.length + i]!);
    const complaint = difference(c.buffers[bytes.length + i]!.type, got, want, c.tolerance);
    assert(!complaint, `output ${i}: ${complaint}`);
  }
  for (const b of buffers) device.release(b);
}

const rows = rowsCases().flatMap((c) => {
  const type = typeIn(c.routine.name);
  if (!type || c.buffers.some((b) => !types.includes(b.type))) return [];
  return check(
    c.routine.name,
    async (device) => {
      if (c.routine.op !== 'rows') throw new Error(`${c.routine.name} is not a stack of rows`);
      // What a smaller adapter cannot hold is not given to it.
      if (4 * c.routine.columns > device.caps.rows!.bytes) return;
      await agrees(device, c, decomposed(c.routine, device.caps.native));
    },
    type,
    !soon.has(c.routine.name),
  );
});

const attentions = attentionCases().flatMap((c) => {
  const r = c.routine as Attention;
  if (c.buffers.some((b) => !types.includes(b.type))) return [];
  return check(
    r.name,
    async (device) => {
      if (Math.max(r.depth, r.width) > (device.caps.attention![r.type] ?? 0)) return;
      await agrees(device, c, { ...r, scores: decomposeEpilogue(r.scores, device.caps.native) });
    },
    r.type,
    !soon.has(r.name),
  );
});

const orders = routineCases().flatMap((c) => {
  const { op, name, type } = c.routine as Sort | TopK;
  if ((op !== 'topk' && op !== 'sort') || !types.includes(type)) return [];
  return check(name, (device) => agrees(device, c, c.routine), type, !soon.has(name));
});

export const onChip: Check[] = [...squares, ...rows, ...attentions, ...orders];
