// Everything a field is, as a snapshot, and back: the tensors of the device, and the host's part of the state under names that a test
// lists.

import type { FieldBody } from './body.ts';
import type { Statistics } from './cycle/record.ts';
import { mindOf } from './mind.ts';
import { contextLength } from './patterns.ts';
import { holdProgram } from './program.ts';
import {
  checkFits,
  type FieldSnapshot,
  loadedArray,
  type SavedTensor,
  savedArray,
  snapshotSchema,
} from './snapshot.ts';
import type { Carried } from './state.ts';
import { verifySnapshot } from './verify.ts';

/** What lies on the device; everything else of a snapshot is the host's. */
const tensorNames: ReadonlySet<string> = new Set(['field', 'tail', 'activity', 'positions', 'attractors', 'pattern']);

/** The bytes are read while cycles go on: tensors never change, so holding them is enough. */
export async function takeSnapshot(body: FieldBody): Promise<FieldSnapshot> {
  const { values, arrays } = hostState(body);
  const { seed } = body;
  const options = { ...body.options };
  const { cycle } = body.carried;
  const patterns = (body.library?.entries ?? []).map((e, i) => [`library.${i}`, e.pattern] as const);
  const held = [...Object.entries(body.tensors), ...patterns].map(([name, t]) => [name, t.clone().keep()] as const);
  const tensors: Record<string, SavedTensor> = { ...arrays };
  try {
    for (const [name, t] of held)
      tensors[name] = { dtype: t.dtype, shape: [...t.shape], bytes: Uint8Array.from(await t.bytes()) };
  } finally {
    for (const [, t] of held) t.dispose();
  }
  return { schema: snapshotSchema, options, seed, cycle, values, tensors };
}

/** On an error the field stays as it is. */
export function restoreSnapshot(body: FieldBody, snapshot: FieldSnapshot): void {
  const { rt, device, options } = body;
  checkFits(snapshot, options, where);
  verifySnapshot(snapshot, options, where);
  const program = holdProgram(rt, device, options, snapshot.values.features === true);
  try {
    const made = rt.scope({ device }, () => {
      const names = Object.keys(snapshot.tensors).filter((name) => tensorNames.has(name));
      const state = names.map((name) => {
        const saved = snapshot.tensors[name]!;
        return [name, rt.fromBytes(saved.bytes, saved.dtype, saved.shape).keep()] as const;
      });
      return body.stacked(Object.fromEntries(state), snapshot.seed, program);
    });
    body.replace(made, snapshot.seed, program);
  } catch (e) {
    program.release();
    throw e;
  }
  restoreHost(body, snapshot);
}

const where = 'restore';

function hostState(body: FieldBody): { values: Record<string, unknown>; arrays: Record<string, SavedTensor> } {
  const { prediction, motors } = body.trained;
  const mind = body.mind.save();
  const arrays: Record<string, SavedTensor> = { ...mind.arrays };
  const { sensorDim } = body.options.shape;
  const { vectors } = body.recent;
  arrays.recent = savedArray(Float32Array.from(vectors.flatMap((v) => [...v])), [vectors.length, sensorDim]);
  if (body.predicted) arrays.predicted = savedArray(body.predicted);
  if (body.features) arrays.features = savedArray(body.features);
  const entries = body.library?.entries ?? [];
  if (entries.length > 0)
    arrays['library.contexts'] = savedArray(Float32Array.from(entries.flatMap((e) => [...e.context])), [
      entries.length,
      contextLength,
    ]);
  for (const [name, w] of Object.entries({ prediction, motors }))
    if (w) arrays[`trained.${name}`] = savedArray(w.values, [w.outputs, w.inputs]);
  const values = {
    carried: structuredClone(body.carried),
    statistics: body.statistics,
    features: body.program.parts.projection !== null,
    mind: mind.values,
    library: {
      cycle: body.library?.cycle ?? 0,
      strategy: body.strategy,
      entries: entries.map(({ id, score, cycle }) => ({ id, score, cycle })),
    },
  };
  return { values, arrays };
}

function restoreHost(body: FieldBody, { values, tensors, seed }: FieldSnapshot): void {
  body.carried = structuredClone(values.carried) as Carried;
  body.statistics = values.statistics as Statistics | null;
  body.predicted = tensors.predicted ? loadedArray<Float32Array>(tensors.predicted) : null;
  body.features = tensors.features ? loadedArray<Float64Array>(tensors.features) : null;
  const { recent } = tensors;
  const flat = loadedArray<Float32Array>(recent!);
  const [count, width] = recent!.shape as [number, number];
  body.recent.set(Array.from({ length: count }, (_, i) => flat.slice(i * width, (i + 1) * width)));
  for (const what of ['prediction', 'motors'] as const) {
    const saved = tensors[`trained.${what}`];
    const [outputs, inputs] = (saved?.shape ?? []) as [number, number];
    body.trained[what] = saved ? { inputs, outputs, values: loadedArray<Float64Array>(saved) } : null;
  }
  body.mind = mindOf(body.options, seed);
  body.mind.restore(values.mind as Record<string, unknown>, tensors);
  restoreLibrary(body, values.library as SavedLibrary | undefined, tensors);
}

interface SavedLibrary {
  readonly cycle: number;
  readonly strategy: number | null;
  readonly entries: readonly { readonly id: number; readonly score: number; readonly cycle: number }[];
}

function restoreLibrary(body: FieldBody, saved: SavedLibrary | undefined, tensors: FieldSnapshot['tensors']): void {
  body.strategy = saved?.strategy ?? null;
  if (!saved?.entries.length) {
    body.library?.restore([], saved?.cycle ?? 0);
    return;
  }
  const contexts = loadedArray<Float32Array>(tensors['library.contexts']!);
  const { rt, device } = body;
  const entries = saved.entries.map((e, i) => {
    const { bytes, dtype, shape } = tensors[`library.${i}`]!;
    const pattern = rt.scope({ device }, () => rt.fromBytes(bytes, dtype, shape).keep());
    return { ...e, pattern, context: contexts.slice(i * contextLength, (i + 1) * contextLength) };
  });
  body.patterns(where).restore(entries, saved.cycle);
}
