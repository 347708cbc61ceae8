// The steps of a field by themselves, on any tensor [D, H, W, C]: fused evolution and gradient extraction.

import { checked } from '../base/signatures.ts';
import { type Compiled, type Runtime, ShapeError, type Tensor } from '../index.ts';
import { evolved } from './cycle/evolution.ts';
import { gradient, gradientScale } from './cycle/gradient.ts';
import { Neighbours } from './cycle/grid.ts';
import { FieldConfigError } from './errors.ts';
import type { Blur, Boundary } from './settings.ts';
import { evolutionSignature, fieldKinds, gradientSignature } from './signatures.ts';

export interface EvolutionOptions {
  /** The factor that stays. Default 0.999. */
  readonly keep?: number | undefined;
  /** How much of a value is replaced by the mean around it. Default 0.05. */
  readonly diffusion?: number | undefined;
  /** Default 'mean', of the 27 cells around; 'separable' weighs by 1/4, 1/2, 1/4 along each axis. */
  readonly blur?: Blur | undefined;
  /** Standard deviation of the noise. Default 0. */
  readonly spontaneous?: number | undefined;
  /** Factor of the noise. Default 1. */
  readonly noiseScale?: number | undefined;
  /** What the noise is drawn from: needed if there is some. */
  readonly key?: Tensor | undefined;
  readonly boundary?: Boundary | undefined;
  /** Disposes of the field: its memory is used again by the step after. */
  readonly inPlace?: boolean | undefined;
}

type Step = Compiled<readonly Tensor[], Tensor>;
interface Prepared {
  readonly step: Compiled<readonly Tensor[], Tensor | { readonly [name: string]: Tensor }>;
  readonly near: Neighbours;
}

const prepared = new WeakMap<Runtime, Map<string, Prepared>>();
/** Steps of different options that a runtime keeps. */
const mostPrepared = 32;

function prepare(rt: Runtime, name: string, make: () => Prepared): Prepared {
  let known = prepared.get(rt);
  if (!known) prepared.set(rt, (known = new Map()));
  let found = known.get(name);
  if (found) return found;
  if (known.size >= mostPrepared) {
    const [oldest, value] = known.entries().next().value!;
    known.delete(oldest);
    value.step.dispose();
    value.near.dispose();
  }
  found = make();
  known.set(name, found);
  return found;
}

/** x ← keep·x; x ← (1 − q)·x + q·blur(x); x ← x + spontaneous·noiseScale·N(0, 1), as one launch. */
export const fusedEvolution = checked(
  'fusedEvolution',
  evolutionSignature,
  (rt: Runtime, field: Tensor, options: EvolutionOptions = {}): Tensor => {
    const { keep = 0.999, diffusion = 0.05, blur = 'mean', spontaneous = 0, noiseScale = 1 } = options;
    const { boundary = 'periodic', key, inPlace = false } = options;
    const edges = checkField(field, 'fusedEvolution');
    const amplitude = spontaneous * noiseScale;
    const bad = Object.entries({ keep, diffusion }).find(([, v]) => !(v >= 0 && v <= 1));
    if (bad || !(amplitude >= 0 && amplitude < Number.POSITIVE_INFINITY))
      throw new FieldConfigError({
        where: 'fusedEvolution',
        problem: bad ? `${bad[0]} is ${String(bad[1])}` : `the noise has a deviation of ${String(amplitude)}`,
        fix: 'Use keep and diffusion from 0 to 1, and noise of 0 or more.',
      });
    if (amplitude > 0 && !key)
      throw new FieldConfigError({
        where: 'fusedEvolution',
        problem: 'there is noise and no key to draw it from',
        fix: 'Give key: rt.random.key(seed), another one for each step.',
      });
    const name = `evolution ${[keep, diffusion, blur, amplitude, boundary, edges, field.dtype]}`;
    const mix = diffusion > 0 ? { stays: 1 - diffusion, comes: diffusion } : null;
    const { step } = prepare(rt, name, () => {
      const near = new Neighbours(rt, edges, boundary);
      const body = (x: Tensor, k?: Tensor): Tensor => {
        const noise = k ? rt.random.normal(x.shape, { key: k }).mul(amplitude) : undefined;
        return evolved(x.cast('f32'), near, 0, { keep, mix, blur, noise }).cast(x.dtype);
      };
      return { near, step: rt.compile(body as (...args: readonly Tensor[]) => Tensor) };
    });
    const next = (step as Step)(...(amplitude > 0 ? [field, key!] : [field]));
    if (inPlace) field.dispose();
    return next;
  },
  fieldKinds,
);

export interface GradientOptions {
  readonly boundary?: Boundary | undefined;
  /** The channels [0, content) that the mean is over. Default: all. */
  readonly content?: number | undefined;
}

export interface GradientResult {
  /** Length of the gradient per channel, mean over the content channels: [D, H, W]. */
  readonly magnitude: Tensor;
  /** The components along the three axes, mean over the content channels: [D, H, W] each. */
  readonly components: readonly [Tensor, Tensor, Tensor];
}

/** 3D Sobel divided by 32: a unit ramp gives 1, on bounded grids at the walls too. */
export const extractGradient = checked(
  'extractGradient',
  gradientSignature,
  (rt: Runtime, field: Tensor, options: GradientOptions = {}): GradientResult => {
    const edges = checkField(field, 'extractGradient');
    const channels = field.shape[3]!;
    const { boundary = 'periodic', content = channels } = options;
    if (!(Number.isSafeInteger(content) && content >= 1 && content <= channels))
      throw new FieldConfigError({
        where: 'extractGradient',
        problem: `content is ${String(content)} of ${channels} channels`,
        fix: `Use a whole number from 1 to ${channels}.`,
      });
    const { step } = prepare(rt, `gradient ${[boundary, content, edges, channels, field.dtype]}`, () => {
      const near = new Neighbours(rt, edges, boundary);
      const body = (x: Tensor): { readonly [name: string]: Tensor } => {
        const own = x.slice([null, null, null, [0, content]]).cast('f32');
        const g = gradient(rt, own, near, 0);
        const mean = (t: Tensor): Tensor => t.sum({ axis: 3 }).mul(1 / (gradientScale * content));
        const size = g[0].square().add(g[1].square()).add(g[2].square()).sqrt();
        return { magnitude: mean(size), a: mean(g[0]), b: mean(g[1]), c: mean(g[2]) };
      };
      return { near, step: rt.compile(body as (...args: readonly Tensor[]) => { readonly [name: string]: Tensor }) };
    });
    const { magnitude, a, b, c } = step(field) as { readonly [name: string]: Tensor };
    return { magnitude: magnitude!, components: [a!, b!, c!] };
  },
  fieldKinds,
);

function checkField(field: Tensor, where: string): [number, number, number] {
  const { shape, dtype } = field;
  if (shape.length === 4 && (dtype === 'f32' || dtype === 'f16') && shape.every((n) => n >= 1))
    return [shape[0]!, shape[1]!, shape[2]!];
  throw new ShapeError({
    code: 'FIELD_SHAPE',
    message: `${where}: a field is f32 or f16 of [depth, height, width, channels], not ${dtype} [${shape.join(', ')}]`,
    fix: 'Reshape it, and cast it to f32.',
    where,
  });
}
