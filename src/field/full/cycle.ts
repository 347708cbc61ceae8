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
import { cycleKeys } from '../cycle/fused.ts';
import { sumOf } from '../cycle/grid.ts';
import { channelValues, falloff, inputOf } from '../cycle/imprint.ts';
import { measured } from '../cycle/measure.ts';
import { statisticNames } from '../cycle/record.ts';
import { type CycleParts, cellsOf } from '../cycle/shape.ts';
import { featuresOf } from '../cycle/features.ts';
import { rangeOf } from '../layout.ts';
import type { StateTensors } from '../program.ts';
import { blockMeans, upsampled } from './blocks.ts';
import { tablesOf, type ThoughtName, thoughtNames, waveCount } from './tables.ts';

export type FullBody = (state: StateTensors, input: Tensor, keys: Tensor) => { readonly [name: string]: Tensor };

const axes = [1, 2, 3] as const;

export function fullCycle(rt: Runtime, parts: CycleParts): FullBody {
  const { shape, settings, near } = parts;
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
    const group = (name: Parameters<typeof rangeOf>[1]): Tensor => channels(x, ...rangeOf(layout, name));
    const [content, temporal] = [group('content'), group('temporal')];
    const dynamics = { decay: group('decay'), diffusion: group('diffusion'), coupling: group('coupling') };
    const plastic = group('plasticity');

    // Where, and the imprint.
    const place = placeOf(rt, content, given.sensors, state.tail!, thought, parts);
    const cube = axes.map((axis, a) => {
      const n = shape.edges[a]!;
      const at = rt.iota([1, ...axes.map((b) => (b === axis ? n : 1)), 1], axis, { dtype: 'f32' });
      const off = at.sub(place.cell[a]!).abs();
      return falloff(rt, near.boundary === 'periodic' ? off.minimum(off.neg().add(n)) : off);
    });
    const spread = cube[0]!.mul(cube[1]!).mul(cube[2]!);
    const values = channelValues(rt, given.sensors, shape, layout.content).reshape([rows, 1, 1, 1, layout.content]);
    const strength = thought('intensity').mul(given.imprints.reshape([rows, 1, 1, 1, 1]));
    const imprinted = content.add(spread.mul(strength).mul(values));

    // Decay and spontaneous activity.
    const keep = thought('keep');
    const own = dynamics.decay.sigmoid();
    const byChannel = own.tile([1, 1, 1, 1, Math.ceil(layout.content / 4)]);
    const stays = channels(byChannel, 0, layout.content).mul(keep);
    const rest = settings.restingLevel;
    const decayed = imprinted.sub(rest).mul(stays).add(rest);
    const amplitude = settings.spontaneous * settings.noiseScale;
    const key = cycleKeys(keys, 'spontaneous', given.cycle);
    const waves = wavesOf(rt, input, thought('phase'), parts, rows);
    const restless = amplitude > 0 ? rt.random.normal(content.shape, { key }).mul(amplitude).add(waves) : waves;
    const active = decayed.add(restless.mul(thought('drive')));
    const fading = temporal.mul(own.mean({ axis: 4, keepdims: true }).mul(keep));
    const before = rt.concat([channels(fading, 0, 1), channels(fading, 0, layout.temporal - 1)], 4);
    const shifted = fading.mul(0.85).add(before.mul(0.15));

    // Learned diffusion: what flows through a face leaves one cell and enters the other.
    const conducts = dynamics.diffusion.tanh();
    const flows = axes.map((axis, a) => {
      const own = channels(conducts, a, a + 1);
      const flow = (side: -1 | 1): Tensor => {
        const face = own.add(near.at(own, axis, side)).mul(0.05).maximum(0);
        return near.at(active, axis, side).sub(active).mul(face);
      };
      return flow(-1).add(flow(1));
    });
    const diffused = active.add(sumOf(flows));

    // Coupling, limiter, and what the dynamics learn.
    const signal = diffused.mul(channels(plastic, 0, 1).sigmoid()).tanh().mul(0.1);
    const others = sumOf(near.around(signal, 1).flat(2)).sub(signal);
    const couples = dynamics.coupling.mean({ axis: 4, keepdims: true }).mul(channels(plastic, 1, 2).sigmoid());
    const limited = diffused.add(others.mul(couples)).mul(0.5).tanh().mul(2);
    const busy = state.activity!.reshape([...x.shape.slice(0, 4), 1]).greater(thought('activityMean')).cast('f32');
    const learned = (['decay', 'diffusion', 'coupling', 'plasticity'] as const).map((name, g) => {
      const aim = busy.mul(thought('aimOfError')).add(thought(`aim${g as 0 | 1 | 2 | 3}`));
      return group(name).mul(0.95).add(aim.mul(0.05)).clip(-5, 5);
    });

    // Global diffusion and what pulls at the content.
    const q = settings.diffusion / 2;
    const smooth = limited.add(
      sumOf(axes.map((axis) => near.at(limited, axis, -1).add(near.at(limited, axis, 1)).sub(limited.mul(2)))).mul(q),
    );
    const pulled = regional(rt, attracted(rt, smooth, state, input, parts), input, parts);
    const [told, lasting] = strategic(rt, pulled, shifted, state);

    const next = rt.concat([told, lasting, ...learned], 4).cast(shape.precision);
    const stored = next.cast('f32');
    const noise =
      settings.placeNoise > 0
        ? rt.random
            .normal([rows, ...shape.edges], { key: cycleKeys(keys, 'place', given.cycle) })
            .mul(settings.placeNoise)
        : null;
    const { tail, planes } = measured(rt, stored, parts, noise);
    const body = channels(stored, ...rangeOf(layout, 'content'));
    const sparse = body.abs().less(0.1).cast('f32').reshape([rows, -1]).sum({ axis: 1 });
    const samples = stored.reshape([rows, -1]).takeAlongAxis(state.positions!, 1, { mode: 'clip' });
    const extra = [...place.cell.map((c) => c.reshape([rows, 1])), place.peak.reshape([rows, 1]), sparse.reshape([rows, 1])];
    const activity = blockMeans(planes.absolute.reshape([...x.shape.slice(0, 4), 1]).mul(1 / layout.content), tables.blocks);
    const record = [tail, ...extra, samples, activity, blockMeans(body, tables.blocks)];
    if (parts.projection) record.push(featuresOf(rt, stored, shape, parts.projection));
    return {
      field: next,
      activity: planes.absolute.reshape([rows, ...shape.edges]),
      tail: rt.concat(record, 1),
    };
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
  const sizes = content.square().sum({ axis: 4 }).mul(wanted.square().sum({ axis: 4 }));
  const cosine = dot.div(sizes.sqrt().maximum(1e-12)).reshape([rows, cellsOf(shape)]);
  const best = cosine.argmax({ axis: 1 });
  const peak = cosine.max({ axis: 1 });
  const [, height, width] = shape.edges;
  const resonant = [
    best.floorDivide(height * width),
    best.floorDivide(width).mod(height),
    best.mod(width),
  ].map((t) => t.cast('f32').reshape([rows, 1, 1, 1, 1]));
  const emptiest = shape.motorDim + statisticNames.indexOf('place0');
  const cell = [0, 1, 2].map((a) => {
    const empty = tail.slice([null, [emptiest + a, emptiest + a + 1]]).reshape([rows, 1, 1, 1, 1]);
    const near = rt.where(thought('similar').greater(0.5), thought(`similar${a as 0 | 1 | 2}`), empty);
    const found = rt.where(peak.greater(0.3).reshape([rows, 1, 1, 1, 1]), resonant[a]!, near);
    return rt.where(thought('remembered').greater(0.5), thought(`remembered${a as 0 | 1 | 2}`), found);
  });
  return { cell, peak };
}

/** 0.2 · Σ 0.005·sin(phase + v·x / 3) over the field's wave vectors. */
function wavesOf(rt: Runtime, input: Tensor, phase: Tensor, { shape }: CycleParts, rows: number): Tensor {
  const { waves } = tablesOf(shape);
  const coordinates = axes.map((axis, a) =>
    rt.iota([1, ...axes.map((b) => (b === axis ? shape.edges[a]! : 1)), 1], axis, { dtype: 'f32' }),
  );
  const list = Array.from({ length: waveCount }, (_, w) => {
    const along = coordinates.map((x, a) => {
      const at = waves + 3 * w + a;
      return x.mul(input.slice([null, [at, at + 1]]).reshape([rows, 1, 1, 1, 1]));
    });
    return sumOf(along).mul(1 / 3).add(phase).sin();
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
  const sizes = a.square().sum({ axis: 2 }).mul(f.square().sum({ axis: 2 }));
  const cosine = dot.div(sizes.sqrt().maximum(1e-12));
  const near = rt.where(forces.greater(0), cosine.add(1), cosine.neg().add(1)).mul(0.5);
  const weight = forces.mul(near);
  const pull = a.mul(weight.reshape([rows, count, 1])).sum({ axis: 1 }).reshape(x.shape);
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
    return at.mod(size).cast('f32').sub((size - 1) / 2).abs().lessEqual(2).cast('f32');
  });
  const weight = upsampled(strength, shape.edges, blocks).mul(0.01).mul(near[0]!).mul(near[1]!).mul(near[2]!);
  return x.add(upsampled(pattern, shape.edges, blocks).sub(x).mul(weight));
}

/** Content and temporal channels with the strategic pattern, if there is one. */
function strategic(_rt: Runtime, content: Tensor, temporal: Tensor, { pattern }: StateTensors): readonly [Tensor, Tensor] {
  if (!pattern) return [content, temporal];
  const mean = pattern.mean({ axis: 4, keepdims: true }).tanh().mul(0.2);
  return [content.add(mean), temporal.mul(0.7).add(pattern.mul(0.3))];
}
