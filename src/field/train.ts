// Training of a readout: cycles over records, features gathered on the device, weights fitted on the host in doubles.

import { FieldConfigError } from './errors.ts';
import type { Field, FieldInput } from './field.ts';
import { checkInput } from './input.ts';
import { apply, type Fit, recursive, ridge, type Weights } from './linear.ts';
import { featureCount } from './predictor.ts';

export interface TrainRecord {
  /** What the field is given. */
  readonly input: FieldInput;
  /** What the readout should say then: the next sensor vector, or motors. */
  readonly target: ArrayLike<number>;
}

export interface TrainOptions {
  /** `ridge` sees all records at once; `rls` goes on learning from what was learned before. */
  readonly method: 'ridge' | 'rls';
  readonly what: 'prediction' | 'motors';
  /** Of ridge. Default 1e-3. */
  readonly lambda?: number | undefined;
  /** Of rls. Default 0.999. */
  readonly forget?: number | undefined;
}

export interface TrainReport {
  readonly samples: number;
  readonly features: number;
  /** Mean squared error on the records with the weights that came out. */
  readonly mse: number;
  /** Of saying what was there last: the sensors of the record, or the target before. */
  readonly persistenceMse: number;
  /** 1 − mse / persistenceMse. */
  readonly skill: number;
  readonly ms: number;
}

const where = 'train';

/** Runs the records through the field, which changes it, and fits weights to its features. */
export async function train(
  field: Field,
  records: readonly TrainRecord[],
  options: TrainOptions,
  before: Weights | null,
): Promise<{ weights: Weights; report: TrainReport }> {
  const start = performance.now();
  const { shape } = field.options;
  const outputs = options.what === 'prediction' ? shape.sensorDim : shape.motorDim;
  checkTraining(records, outputs, options);
  // All of them before the first cycle: a field that was half trained would have changed for nothing.
  for (const { input } of records) checkInput(input, shape, where);
  const inputs = featureCount(shape);
  const fit: Fit =
    options.method === 'ridge'
      ? ridge(inputs, outputs, options.lambda ?? 1e-3)
      : recursive(inputs, outputs, options.forget ?? 0.999, before?.inputs === inputs ? before : undefined);
  const seen: Float64Array[] = [];
  for (const { input, target } of records) {
    const features = await field.featuresAfter(input, where);
    fit.add(features, target);
    seen.push(features);
  }
  const weights = fit.weights();
  if (!weights.values.every(Number.isFinite)) throw noWeights(options);
  let [mse, persistenceMse] = [0, 0];
  records.forEach(({ input, target }, r) => {
    const said = apply(weights, seen[r]!);
    const last = options.what === 'prediction' ? input : records[r - 1]?.target;
    for (let o = 0; o < outputs; o++) {
      mse += (said[o]! - target[o]!) ** 2;
      persistenceMse += ((last?.[o] ?? 0) - target[o]!) ** 2;
    }
  });
  mse /= records.length * outputs;
  persistenceMse /= records.length * outputs;
  const skill = persistenceMse > 0 ? 1 - mse / persistenceMse : 0;
  const report = {
    samples: records.length,
    features: inputs,
    mse,
    persistenceMse,
    skill,
    ms: performance.now() - start,
  };
  return { weights, report };
}

/** The records say nothing about some directions, and too little held the weights there. */
function noWeights({ method, lambda = 1e-3, forget = 0.999 }: TrainOptions): FieldConfigError {
  const ridge = method === 'ridge';
  return new FieldConfigError({
    where,
    problem: `the records give no finite weights with ${ridge ? `lambda ${lambda}` : `forget ${forget}`}`,
    fix: `Use ${ridge ? 'a larger lambda' : 'a forget nearer to 1'}. What was learned before stays.`,
  });
}

function checkTraining(
  records: readonly TrainRecord[],
  outputs: number,
  { method, what, lambda, forget }: TrainOptions,
): void {
  const refuse = (problem: string, fix: string): never => {
    throw new FieldConfigError({ where, problem, fix });
  };
  if (method !== 'ridge' && method !== 'rls') refuse(`method is '${String(method)}'`, "Use 'ridge' or 'rls'.");
  if (what !== 'prediction' && what !== 'motors') refuse(`what is '${String(what)}'`, "Use 'prediction' or 'motors'.");
  if (records.length === 0) refuse('there are no records', 'Give some.');
  if (lambda !== undefined && !(lambda > 0)) refuse(`lambda is ${lambda}`, 'Use a number above 0.');
  if (forget !== undefined && !(forget > 0 && forget <= 1))
    refuse(`forget is ${forget}`, 'Use a number above 0, up to 1.');
  const isTarget = (t: ArrayLike<number>): boolean => t.length === outputs && Array.from(t).every(Number.isFinite);
  const bad = records.findIndex(({ target }) => !isTarget(target));
  if (bad >= 0)
    refuse(
      `the target of record ${bad} has ${records[bad]!.target.length} values, or some that are no numbers`,
      `Give ${outputs} finite numbers.`,
    );
}
