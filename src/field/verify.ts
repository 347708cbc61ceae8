// Whether a snapshot is one: everything that a field takes over from it is looked at before anything is taken. What comes from a file may say
// anything.

import { attentionLength } from './cycle/attention.ts';
import { projected } from './cycle/features.ts';
import { statisticNames, tailLength } from './cycle/record.ts';
import { FieldFileError } from './errors.ts';
import { attractorCapacity } from './full/mind.ts';
import { sampleCount, tablesOf } from './full/tables.ts';
import { totalChannels } from './layout.ts';
import type { ResolvedField } from './options.ts';
import { contextLength } from './patterns.ts';
import { featureCount, remembered } from './predictor.ts';
import type { FieldSnapshot, SavedTensor } from './snapshot.ts';
import { startCarried } from './state.ts';

type Test = (value: unknown) => boolean;
type Plain = Readonly<Record<string, unknown>>;

const isObject = (v: unknown): v is Plain => typeof v === 'object' && v !== null && !Array.isArray(v);
const isNumber: Test = (v) => typeof v === 'number' && Number.isFinite(v);
const isCount: Test = (v) => Number.isSafeInteger(v) && (v as number) >= 0;
const below =
  (end: number): Test =>
  (v) =>
    isCount(v) && (v as number) < end;
const listOf =
  (test: Test, length?: number): Test =>
  (v) =>
    Array.isArray(v) && (length === undefined || v.length === length) && v.every(test);
const withKeys =
  (tests: Readonly<Record<string, Test>>): Test =>
  (v) =>
    isObject(v) && Object.entries(tests).every(([name, test]) => Object.hasOwn(v, name) && test(v[name]));
const orNull =
  (test: Test): Test =>
  (v) =>
    v === null || test(v);

const isCarried = withKeys({
  ...Object.fromEntries(Object.keys(startCarried()).map((name) => [name, isNumber])),
  cycle: isCount,
  echo: listOf(isNumber, 3),
});
const isStatistics = withKeys(Object.fromEntries(statisticNames.map((name) => [name, isNumber])));

/** What a saved tensor must be; -1 stands for any size. */
interface Wanted {
  readonly dtype: SavedTensor['dtype'];
  readonly shape: readonly number[];
  readonly optional?: true;
}

/** Refuses a snapshot that a field of these options could not go on from, and says what is wrong with it. */
export function verifySnapshot(snapshot: FieldSnapshot, options: ResolvedField, where: string): void {
  const refuse = (problem: string): never => {
    throw new FieldFileError({
      where,
      problem: `the snapshot makes no sense: ${problem}`,
      fix: 'Use what snapshot() or save() made, or an older copy of it.',
    });
  };
  const { values, tensors } = snapshot;
  if (!isCount(snapshot.seed)) refuse(`seed is ${String(snapshot.seed)}`);
  for (const [name, test] of Object.entries(valueTests(options)))
    if (!test(values[name])) refuse(`values.${name} is not what a field keeps there`);
  for (const [name, wanted] of Object.entries(wantedTensors(values, options))) {
    const found = tensors[name];
    if (!found && wanted.optional) continue;
    if (!found) refuse(`there is no tensor '${name}'`);
    const { dtype, shape } = found!;
    const fits =
      shape.length === wanted.shape.length && shape.every((n, i) => wanted.shape[i] === -1 || n === wanted.shape[i]);
    if (dtype !== wanted.dtype || !fits)
      refuse(`tensor '${name}' is ${dtype} [${shape.join(', ')}], not ${wanted.dtype} [${wanted.shape.join(', ')}]`);
  }
  if ((tensors.recent!.shape[0] ?? 0) > remembered) refuse(`it remembers ${tensors.recent!.shape[0]} sensor vectors`);
}

function valueTests(options: ResolvedField): Readonly<Record<string, Test>> {
  const entry = withKeys({ id: isCount, score: isNumber, cycle: isCount });
  return {
    carried: isCarried,
    statistics: orNull(isStatistics),
    features: (v) => typeof v === 'boolean',
    library: withKeys({ cycle: isCount, strategy: orNull(isCount), entries: listOf(entry) }),
    mind: options.shape.model === 'full' ? mindTest(options) : isObject,
  };
}

function mindTest(options: ResolvedField): Test {
  const { edges } = options.shape;
  const cell: Test = (v) => Array.isArray(v) && v.length === 3 && v.every((x, a) => below(edges[a]!)(x));
  const slots = Math.max(1, attractorCapacity(options));
  return withKeys({
    mood: withKeys({ errors: listOf(isNumber), calm: isNumber, novelty: isNumber, phase: isNumber }),
    sparsity: isNumber,
    attractors: listOf(withKeys({ slot: below(slots), reward: isNumber, cycle: isCount })),
    imprints: listOf(withKeys({ cell, matched: isCount })),
    samples: listOf(isCount),
    regions: listOf(
      withKeys({ block: below(tablesOf(options.shape).blockCount), strength: isNumber, lastSeen: isCount }),
    ),
  });
}

function wantedTensors(values: Plain, options: ResolvedField): Readonly<Record<string, Wanted>> {
  const { shape, telemetry } = options;
  const { edges, layout, sensorDim, motorDim, model, precision } = shape;
  const features = featureCount(shape);
  const extras = (telemetry === 'full' ? attentionLength : 0) + (values.features === true ? projected : 0);
  const library = (values.library as { readonly entries: readonly unknown[] }).entries.length;
  const common: Record<string, Wanted> = {
    field: { dtype: precision, shape: [1, ...edges, totalChannels(layout)] },
    tail: { dtype: 'f32', shape: [1, (model === 'full' ? tablesOf(shape).tailLength : tailLength(shape)) + extras] },
    recent: { dtype: 'f32', shape: [-1, sensorDim] },
    predicted: { dtype: 'f32', shape: [sensorDim], optional: true },
    features: { dtype: 'f64', shape: [features], optional: true },
    'trained.prediction': { dtype: 'f64', shape: [sensorDim, features], optional: true },
    'trained.motors': { dtype: 'f64', shape: [motorDim, features], optional: true },
  };
  if (model === 'fused') return common;
  const { imprints, samples, regions } = values.mind as Readonly<Record<string, readonly unknown[]>>;
  const { blockCount } = tablesOf(shape);
  const pattern = [...edges, layout.temporal];
  return {
    ...common,
    activity: { dtype: 'f32', shape: [1, ...edges] },
    positions: { dtype: 'i32', shape: [1, sampleCount] },
    attractors: { dtype: 'f32', shape: [1, attractorCapacity(options), ...edges, layout.content], optional: true },
    pattern: { dtype: 'f32', shape: [1, ...pattern], optional: true },
    'mind.imprints': { dtype: 'f32', shape: [imprints!.length, sensorDim] },
    'mind.samples': { dtype: 'f32', shape: [samples!.length, sampleCount] },
    'mind.regions': { dtype: 'f32', shape: [regions!.length, layout.content] },
    'mind.activity': { dtype: 'f32', shape: [blockCount] },
    'mind.content': { dtype: 'f32', shape: [blockCount * layout.content] },
    ...Object.fromEntries(
      Array.from({ length: library }, (_, i) => [`library.${i}`, { dtype: 'f32', shape: pattern } satisfies Wanted]),
    ),
    ...(library > 0 ? { 'library.contexts': { dtype: 'f32', shape: [library, contextLength] } as const } : {}),
  };
}
