// Model `full`: one cycle of N fields as an expression of tensors.
//
//   place       where to imprint: a remembered cell, the resonance's peak, near a similar pattern, or the emptiest cell
//   decay       imprint, decay by each cell's own factors, spontaneous noise and waves
//   diffusion   learned, in flux form: the sum of content stays, and no coefficient is negative
//   coupling    with the 26 cells around; then the limiter, and the dynamics go on learning
//   pulls       global diffusion, attractors, regions, the strategic pattern
//   measure     the tail: what model `fused` measures, and what the host's memories need
//
// Content, temporal channels and dynamics are computed apart and put together once.

import type { Runtime, Tensor } from '../../index.ts';
import { type DialName, dialOf } from '../cycle/dials.ts';
import { cycleKeys } from '../cycle/fused.ts';
import { sumOf } from '../cycle/grid.ts';
import { channelValues, falloff, inputOf } from '../cycle/imprint.ts';
import { extrasOf, measured } from '../cycle/measure.ts';
import { statisticNames } from '../cycle/record.ts';
import { type CycleParts, cellsOf } from '../cycle/shape.ts';
import { type ChannelLayout, rangeOf } from '../layout.ts';
import type { StateTensors } from '../program.ts';
import { blockMeans, upsampled } from './blocks.ts';
import { type ThoughtName, tablesOf, thoughtNames, waveCount } from './tables.ts';

export type FullBody = (state: StateTensors, input: Tensor, keys: Tensor) => { readonly [name: string]: Tensor };

const axes = [1, 2, 3] as const;

export function fullCycle(rt: Runtime, parts: CycleParts): FullBody {
  const { shape, plan, near } = parts;
  const tables = tablesOf(shape);
  const { layout } = shape;
  return (state, input, keys) => {
    const x = state.field!.cast('f32');
    const rows = x.shape[0]!;
    const given = inputOf(input, shape);
    const thought = (name: ThoughtName): Tensor => {
      const at = tables.thoughts + thoughtNames.indexOf(name);
      return input.slice([null, [at, at + 1]]).reshape([rows, 1, 1, 1, 1]);
    };
    const channels = (from: Tensor, first: number, end: number): Tensor =>
      from.slice([null, null, null, null, [first, end]]);
    const content = channels(x, ...rangeOf(layout, 'content'));
    const cells = [...x.shape.slice(0, 4), 1];
    /** One channel of a group of dynamics: a value per cell. */
    const dyn = (name: 'decay' | 'diffusion' | 'coupling' | 'plasticity', k: number): Tensor => {
      const first = rangeOf(layout, name)[0] + k;
      return channels(x, first, first + 1);
    };

    // Where, and the imprint. Factors are spread over all cells before they are multiplied: products of some axes would be stored apart.
    const place = placeOf(rt, content, given.sensors, state.tail!, thought, parts);
    const position = axes.map((axis) => rt.iota(cells, axis, { dtype: 'f32' }));
    const cube = position.map((at, a) => {
      const n = shape.edges[a]!;
      const off = at.sub(place.cell[a]!.broadcastTo(cells)).abs();
      return falloff(rt, near.boundary === 'periodic' ? off.minimum(off.neg().add(n)) : off);
    });
    const strength = thought('intensity').mul(given.imprints.reshape([rows, 1, 1, 1, 1]));
    const spread = cube[0]!.mul(cube[1]!).mul(cube[2]!).mul(strength.broadcastTo(cells));
    const values = channelValues(rt, given.sensors, shape, layout.content).reshape([rows, 1, 1, 1, layout.content]);
    const imprinted = content.add(spread.mul(values));

    // Decay and spontaneous activity.
    const keep = thought('keep');
    const own = [0, 1, 2, 3].map((k) => dyn('decay', k).sigmoid());
    const number = rt.iota([1, 1, 1, 1, layout.content], 4).mod(4);
    const stays = own.reduceRight<Tensor>(
      (rest, one, k) => rt.where(number.equal(k).broadcastTo(content.shape), one, rest),
      own[3]!,
    );
    const dial = (name: DialName): Tensor => dialOf(input, name, shape).reshape([rows, 1, 1, 1, 1]);
    const rest = dial('rest');
    const decayed = imprinted.sub(rest).mul(stays.mul(keep)).add(rest);
    const key = cycleKeys(keys, 'spontaneous', given.cycle);
    const waves = wavesOf(input, thought('phase'), position, parts);
    const restless = plan.noisy ? rt.random.normal(content.shape, { key }).mul(dial('noise')).add(waves) : waves;
    const active = decayed.add(restless.mul(thought('drive')));

    // Learned diffusion: what flows through a face leaves one cell and enters the other.
    const flows = axes.map((axis, a) => {
      const conducts = dyn('diffusion', a).tanh();
      const flow = (side: -1 | 1): Tensor => {
        const face = conducts
          .add(near.at(conducts, axis, side))
          .mul(0.05)
          .maximum(0);
        return near.at(active, axis, side).sub(active).mul(face);
      };
      return flow(-1).add(flow(1));
    });
    const diffused = active.add(sumOf(flows));

    // Coupling and the limiter.
    const signal = diffused.mul(dyn('plasticity', 0).sigmoid()).tanh().mul(0.1);
    const others = near.sumAround(signal, 1).sub(signal);
    const strongly = sumOf([0, 1, 2, 3].map((k) => dyn('coupling', k))).mul(0.25);
    const couples = strongly.mul(dyn('plasticity', 1).sigmoid());
    const limited = diffused.add(others.mul(couples)).mul(0.5).tanh().mul(2);

    // Global diffusion and what pulls at the content.
    const smooth = limited.add(
      sumOf(
        axes.map((axis) =>
          near
            .at(limited, axis, -1)
            .add(near.at(limited, axis, 1))
            .sub(limited.mul(2)),
        ),
      ).mul(dial('flows')),
    );
    const pulled = regional(rt, attracted(rt, smooth, state, input, parts), input, parts);

    // Temporal channels fade, and pass some of themselves on; dynamics go to their aims.
    const fading = x.mul(sumOf(own).mul(0.25).mul(keep));
    const shifted = fading.mul(0.85).add(fading.roll(1, 4).mul(0.15));
    const c = rt.iota(x.shape, 4);
    const [firstTemporal] = rangeOf(layout, 'temporal');
    const temporal = rt.where(c.equal(firstTemporal), fading, shifted);
    const busy = state.activity!.reshape(cells).greater(thought('activityMean')).cast('f32');
    const aims = (['plasticity', 'coupling', 'diffusion', 'decay'] as const).reduce<Tensor>((aim, name, i) => {
      const g = (3 - i) as 0 | 1 | 2 | 3;
      return rt.where(c.less(rangeOf(layout, name)[1]), thought(`aim${g}`).broadcastTo(x.shape), aim);
    }, rt.zeros(x.shape));
    // The decay dynamics add their aim up: with a leak they would end at 0, where half of the content goes in each cycle.
    const lasts = rt.where(c.less(rangeOf(layout, 'decay')[1]), 1, 0.95);
    const learned = x
      .mul(lasts)
      .add(busy.mul(thought('aimOfError')).add(aims).mul(0.05))
      .clip(-5, 5);

    const [told, lasting] = strategic(pulled, temporal, state, layout);
    const spare = x.shape[4]! - layout.content;
    const wide = told.pad([
      [0, 0],
      [0, 0],
      [0, 0],
      [0, 0],
      [0, spare],
    ]);
    const [firstDynamics] = rangeOf(layout, 'decay');
    const whole = rt.where(c.less(layout.content), wide, rt.where(c.less(firstDynamics), lasting, learned));
    const next = whole.cast(shape.precision);
    const stored = next.cast('f32');
    const noise = plan.noisyPlaces
      ? rt.random
          .normal([rows, ...shape.edges], { key: cycleKeys(keys, 'place', given.cycle) })
          .mul(dial('placeNoise').reshape([rows, 1, 1, 1]))
      : null;
    const { tail, activity } = measured(rt, stored, input, parts, noise);
    const body = channels(stored, ...rangeOf(layout, 'content'));
    const samples = stored.reshape([rows, -1]).takeAlongAxis(state.positions!, 1, { mode: 'clip' });
    const extra = [...place.cell, place.peak].map((t) => t.reshape([rows, 1]));
    const blocks = blockMeans(activity.reshape(cells).mul(1 / layout.content), tables.blocks);
    const record = [tail, ...extra, samples, blocks, blockMeans(body, tables.blocks)];
    record.push(...extrasOf(rt, stored, activity, parts));
    // `diffused` is a result so that it is stored: coupling reads it once, and what it is made of 27 times otherwise.
    return { field: next, activity, tail: rt.concat(record, 1), diffused };
  };
}

/** The cell to imprint, [N, 1, 1, 1, 1] per axis, and the highest resonance. */
function placeOf(
  rt: Runtime,
  content: Tensor,
  sensors: Tensor,
  tail: Tensor,
  thought: (name: ThoughtName) => Tensor,
  { shape }: CycleParts,
): { readonly cell: readonly Tensor[]; readonly peak: Tensor } {
  const rows = content.shape[0]!;
  const wanted = channelValues(rt, sensors, shape, shape.layout.content).reshape([rows, 1, 1, 1, shape.layout.content]);
  const dot = content.mul(wanted).sum({ axis: 4 });
  const sizes = content
    .square()
    .sum({ axis: 4 })
    .sqrt()
    .mul(thought('sensorNorm').reshape([rows, 1, 1, 1]));
  const cosine = dot.div(sizes.maximum(1e-12)).reshape([rows, cellsOf(shape)]);
  const best = cosine.argmax({ axis: 1 });
  const peak = cosine.max({ axis: 1 });
  const [, height, width] = shape.edges;
  const resonant = [best.floorDivide(height * width), best.floorDivide(width).mod(height), best.mod(width)].map((t) =>
    t.cast('f32').reshape([rows, 1, 1, 1, 1]),
  );
  const emptiest = shape.motorDim + statisticNames.indexOf('place0');
  const cell = [0, 1, 2].map((a) => {
    const empty = tail.slice([null, [emptiest + a, emptiest + a + 1]]).reshape([rows, 1, 1, 1, 1]);
    const near = rt.where(thought('similar').greater(0.5), thought(`similar${a as 0 | 1 | 2}`), empty);
    const found = rt.where(peak.greater(0.3).reshape([rows, 1, 1, 1, 1]), resonant[a]!, near);
    return rt.where(thought('remembered').greater(0.5), thought(`remembered${a as 0 | 1 | 2}`), found);
  });
  return { cell, peak };
}

/** 0.2 · Σ 0.005·sin(phase + v·x / 3) over the field's wave vectors, at every cell. */
function wavesOf(input: Tensor, phase: Tensor, position: readonly Tensor[], { shape }: CycleParts): Tensor {
  const { waves } = tablesOf(shape);
  const { shape: cells } = position[0]!;
  const list = Array.from({ length: waveCount }, (_, w) => {
    const along = position.map((x, a) => {
      const at = waves + 3 * w + a;
      return x.mul(
        input
          .slice([null, [at, at + 1]])
          .reshape([-1, 1, 1, 1, 1])
          .broadcastTo(cells),
      );
    });
    return sumOf(along)
      .mul(1 / 3)
      .add(phase.broadcastTo(cells))
      .sin();
  });
  return sumOf(list).mul(0.2 * 0.005);
}

/** Towards what was rewarded, away from what was punished: Σ weight · q · (A − x), q by how near they are. */
function attracted(rt: Runtime, x: Tensor, { attractors }: StateTensors, input: Tensor, { shape }: CycleParts): Tensor {
  if (!attractors) return x;
  const [rows, count] = attractors.shape as [number, number];
  const first = tablesOf(shape).forces;
  const forces = input.slice([null, [first, first + count]]);
  const flat = (t: Tensor, n: number): Tensor => t.reshape([rows, n, -1]);
  const [a, f] = [flat(attractors, count), flat(x, 1)];
  const dot = a.mul(f).sum({ axis: 2 });
  const sizes = a
    .square()
    .sum({ axis: 2 })
    .mul(f.square().sum({ axis: 2 }));
  const cosine = dot.div(sizes.sqrt().maximum(1e-12));
  const near = rt.where(forces.greater(0), cosine.add(1), cosine.neg().add(1)).mul(0.5);
  const weight = forces.mul(near);
  const pull = a
    .mul(weight.reshape([rows, count, 1]))
    .sum({ axis: 1 })
    .reshape(x.shape);
  return x.add(pull).sub(x.mul(weight.sum({ axis: 1 }).reshape([rows, 1, 1, 1, 1])));
}

/** Each region pulls at the content within two cells of its centre, in its block. */
function regional(rt: Runtime, x: Tensor, input: Tensor, { shape }: CycleParts): Tensor {
  const { blocks, blockCount, strengths, patterns } = tablesOf(shape);
  const rows = x.shape[0]!;
  const { content } = shape.layout;
  const strength = input.slice([null, [strengths, strengths + blockCount]]).reshape([rows, ...blocks, 1]);
  const pattern = input.slice([null, [patterns, patterns + blockCount * content]]).reshape([rows, ...blocks, content]);
  const near = axes.map((axis, a) => {
    const [n, size] = [shape.edges[a]!, shape.edges[a]! / blocks[a]!];
    const at = rt.iota([1, ...axes.map((b) => (b === axis ? n : 1)), 1], axis);
    return at
      .mod(size)
      .cast('f32')
      .sub((size - 1) / 2)
      .abs()
      .lessEqual(2)
      .broadcastTo([rows, ...shape.edges, 1]);
  });
  const within = near[0]!.logicalAnd(near[1]!).logicalAnd(near[2]!);
  const weight = rt.where(within, upsampled(strength, shape.edges, blocks).mul(0.01), 0);
  return x.add(upsampled(pattern, shape.edges, blocks).sub(x).mul(weight));
}

/** Content [.., content] and temporal channels [.., C] with the strategic pattern, if there is one. */
function strategic(
  content: Tensor,
  temporal: Tensor,
  { pattern }: StateTensors,
  layout: ChannelLayout,
): readonly [Tensor, Tensor] {
  if (!pattern) return [content, temporal];
  const mean = pattern.mean({ axis: 4, keepdims: true }).tanh().mul(0.2);
  const [first, end] = rangeOf(layout, 'temporal');
  const spare = temporal.shape[4]! - end;
  const wide = pattern.pad([
    [0, 0],
    [0, 0],
    [0, 0],
    [0, 0],
    [first, spare],
  ]);
  return [content.add(mean), temporal.mul(0.7).add(wide.mul(0.3))];
}
