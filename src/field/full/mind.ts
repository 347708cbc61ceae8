// The host's part of model `full`: modulation, and the memories of imprints, novelty, attractors and regions.
//
// `think` works everything out and changes nothing; `learn` takes it over once the cycle has succeeded.

import { statisticAt } from '../cycle/record.ts';
import { cellsOf } from '../cycle/shape.ts';
import { type CheckedInput, writeInput } from '../input.ts';
import type { Mind, Past, Thought } from '../mind.ts';
import type { ResolvedField } from '../options.ts';
import { legacyPrediction } from '../predictor.ts';
import { HostRandom } from '../random.ts';
import { loadedArray, type SavedTensor, savedArray } from '../snapshot.ts';
import { type Carried, contentMeans } from '../state.ts';
import { BlockGrid } from './block-grid.ts';
import { type ImprintPlace, Imprints, mostImprints } from './imprints.ts';
import { errorMemory, type Modulation, type Mood, modulate, startMood } from './modulation.ts';
import { mostSamples, Novelty, sampleEvery } from './novelty.ts';
import { mostRegions, type Region, regionEvery, updateRegions } from './regions.ts';
import {
  blockOf,
  type FullTables,
  mostAttractors,
  sampleCount,
  type ThoughtName,
  tablesOf,
  thoughtNames,
  waveCount,
} from './tables.ts';

interface Attractor {
  readonly slot: number;
  readonly reward: number;
  readonly cycle: number;
}

/** An attractor whose force is weaker goes. */
const weakestForce = 0.001;

export interface FullThought extends Thought {
  readonly modulation: Modulation;
  readonly mood: Mood;
  readonly values: Readonly<Record<ThoughtName, number>>;
  readonly attractors: readonly Attractor[];
}

/** How many attractors fit into the limit. */
export function attractorCapacity({ shape, settings }: ResolvedField): number {
  const bytes = cellsOf(shape) * shape.layout.content * 4;
  return Math.min(mostAttractors, Math.floor(settings.attractorBytes / bytes));
}

export class FullMind implements Mind {
  readonly #options: ResolvedField;
  readonly #tables: FullTables;
  readonly #grid: BlockGrid;
  readonly #waves: Float32Array;
  #mood: Mood = startMood();
  readonly #imprints: Imprints;
  readonly #novelty = new Novelty();
  #attractors: readonly Attractor[] = [];
  #regions: Region[] = [];
  /** Of the last record: the part of content with |x| < 0.1, and the block means. */
  #sparsity = 0;
  #activity: Float32Array;
  #content: Float32Array;

  constructor(options: ResolvedField, seed: number) {
    this.#options = options;
    this.#tables = tablesOf(options.shape);
    this.#waves = waveVectors(seed);
    const { blocks, blockCount } = this.#tables;
    this.#grid = new BlockGrid(blocks, options.boundary === 'periodic');
    this.#imprints = new Imprints((cell) => blockOf(cell, options.shape, this.#tables), options.shape.edges);
    this.#activity = new Float32Array(blockCount);
    this.#content = new Float32Array(blockCount * options.shape.layout.content);
  }

  get inputLength(): number {
    return this.#tables.inputLength;
  }

  get tailLength(): number {
    return this.#tables.tailLength;
  }

  get regions(): number {
    return this.#regions.length;
  }

  get saturation(): number {
    const used = this.#imprints.count + this.#novelty.count + this.#attractors.length + this.#regions.length;
    return used / (mostImprints + mostSamples + mostAttractors + mostRegions);
  }

  think(input: CheckedInput, carried: Carried, { statistics }: Past, error: number | null): FullThought {
    const { shape, settings } = this.#options;
    const errors = error === null ? this.#mood.errors : [error, ...this.#mood.errors].slice(0, errorMemory);
    const mood: Mood = { ...this.#mood, errors };
    const means = statistics ? contentMeans(statistics, shape) : emptyMeans;
    const idle = input.active ? 0 : carried.idle + 1;
    const facts = { mood, carried, means, sparsity: this.#sparsity, idle, reward: input.reward, settings };
    const modulation = modulate(facts);
    mood.calm = modulation.calm;
    mood.phase = this.#mood.phase + settings.evolutionRate;
    const nowhere = { remembered: null, similar: null };
    const { remembered, similar } = input.active ? this.#imprints.placesFor(input.sensors, this.#activity) : nowhere;
    const { attractors, store } = this.#attractorsFor(input, carried.cycle);
    const [aim0, aim1, aim2, aim3] = modulation.aims;
    return {
      modulation,
      mood,
      attractors,
      store,
      values: {
        intensity: modulation.intensity,
        drive: modulation.drive,
        sensorNorm: normOf(input.sensors, shape.layout.content),
        keep: modulation.keep,
        phase: mood.phase % (2 * Math.PI),
        aim0,
        aim1,
        aim2,
        aim3,
        aimOfError: modulation.aimOfError,
        activityMean: means.absolute * shape.layout.content,
        remembered: remembered ? 1 : 0,
        remembered0: remembered?.[0] ?? 0,
        remembered1: remembered?.[1] ?? 0,
        remembered2: remembered?.[2] ?? 0,
        similar: similar ? 1 : 0,
        similar0: similar?.[0] ?? 0,
        similar1: similar?.[1] ?? 0,
        similar2: similar?.[2] ?? 0,
      },
    };
  }

  write(whole: Float32Array, at: number, input: CheckedInput, cycle: number, thought: FullThought): void {
    const { shape } = this.#options;
    const t = this.#tables;
    const into = whole.subarray(at, at + this.inputLength).fill(0);
    writeInput(into, 0, input, cycle, shape, this.#options.settings);
    thoughtNames.forEach((name, i) => {
      into[t.thoughts + i] = thought.values[name];
    });
    into.set(this.#waves, t.waves);
    for (const { block, strength, pattern } of this.#regions) {
      into[t.strengths + block] = strength;
      into.set(pattern, t.patterns + block * shape.layout.content);
    }
    for (const a of thought.attractors) into[t.forces + a.slot] = forceOf(a, cycle);
  }

  learn(thought: FullThought, input: CheckedInput, carried: Carried, tail: Float32Array): void {
    const t = this.#tables;
    const { shape } = this.#options;
    const { cycle } = carried;
    this.#mood = thought.mood;
    this.#attractors = thought.attractors;
    this.#sparsity = tail[shape.motorDim + statisticAt.weak]! / (cellsOf(shape) * shape.layout.content);
    this.#activity.set(tail.subarray(t.blockActivity, t.blockActivity + t.blockCount));
    this.#content.set(tail.subarray(t.blockContent, t.blockContent + t.blockCount * shape.layout.content));
    if (input.active) this.#imprints.remember(input.sensors, [...tail.subarray(t.extra, t.extra + 3)], cycle);
    if (cycle % sampleEvery === 0) this.#look(tail.slice(t.samples, t.samples + sampleCount), cycle);
    const { content } = shape.layout;
    if (cycle % regionEvery === 0)
      this.#regions = updateRegions(this.#regions, this.#activity, this.#content, cycle, this.#grid, content);
  }

  predict({ recent, statistics }: Past): Float32Array | null {
    const { shape, settings } = this.#options;
    if (settings.prediction !== 'legacy' || !statistics) return null;
    return legacyPrediction(recent, contentMeans(statistics, shape).absolute, shape.sensorDim);
  }

  #look(values: Float32Array, cycle: number): void {
    const wave = this.#options.settings.noveltyWave ? 0.1 * Math.sin(0.01 * cycle) : 0;
    this.#mood.novelty = Math.max(0, this.#novelty.look(values, cycle) + wave);
  }

  /** The attractors of a cycle, those that became too weak left out, and where a new one goes. */
  #attractorsFor({ reward }: CheckedInput, cycle: number): { attractors: readonly Attractor[]; store: number } {
    const living = this.#attractors.filter((a) => Math.abs(forceOf(a, cycle)) >= weakestForce * 0.01);
    const capacity = attractorCapacity(this.#options);
    if (!(Math.abs(reward) > 0.1) || capacity === 0) return { attractors: living, store: -1 };
    const kept = living.length < capacity ? living : living.slice(1);
    const used = new Set(kept.map((a) => a.slot));
    let slot = 0;
    while (used.has(slot)) slot++;
    return { attractors: [...kept, { slot, reward, cycle }], store: slot };
  }

  save(): { values: Record<string, unknown>; arrays: Record<string, SavedTensor> } {
    const join = (list: readonly Float32Array[], width: number): SavedTensor =>
      savedArray(Float32Array.from(list.flatMap((v) => [...v])), [list.length, width]);
    const { sensorDim, layout } = this.#options.shape;
    const samples = this.#novelty.save();
    return {
      values: {
        mood: structuredClone(this.#mood),
        sparsity: this.#sparsity,
        attractors: [...this.#attractors],
        imprints: this.#imprints.places,
        samples: samples.cycles,
        regions: this.#regions.map(({ block, strength, lastSeen }) => ({ block, strength, lastSeen })),
      },
      arrays: {
        'mind.imprints': join(this.#imprints.sensors, sensorDim),
        'mind.samples': samples.values,
        'mind.regions': join(
          this.#regions.map((r) => r.pattern),
          layout.content,
        ),
        'mind.activity': savedArray(this.#activity),
        'mind.content': savedArray(this.#content),
      },
    };
  }

  restore(values: Record<string, unknown>, arrays: Readonly<Record<string, SavedTensor>>): void {
    const rows = (name: string): Float32Array[] => {
      const saved = arrays[name]!;
      const flat = loadedArray<Float32Array>(saved);
      const [count, width] = saved.shape as [number, number];
      return Array.from({ length: count }, (_, i) => flat.slice(i * width, (i + 1) * width));
    };
    const list = <T>(name: string): readonly T[] => values[name] as readonly T[];
    this.#mood = structuredClone(values.mood) as Mood;
    this.#sparsity = values.sparsity as number;
    this.#attractors = [...list<Attractor>('attractors')];
    this.#imprints.restore(rows('mind.imprints'), list<ImprintPlace>('imprints'));
    this.#novelty.restore(list<number>('samples'), arrays['mind.samples']!);
    const regions = list<{ block: number; strength: number; lastSeen: number }>('regions');
    this.#regions = rows('mind.regions').map((pattern, i) => ({ pattern, ...regions[i]! }));
    this.#activity = loadedArray<Float32Array>(arrays['mind.activity']!);
    this.#content = loadedArray<Float32Array>(arrays['mind.content']!);
  }
}

const emptyMeans = { mean: 0, absolute: 0, variance: 0, sparsity: 0, information: 0 };

const forceOf = ({ reward, cycle }: Attractor, now: number): number => reward * 0.95 ** (now - cycle) * 0.01;

/** Length of the vector of channel c mod S over all content channels. */
function normOf(sensors: Float32Array, content: number): number {
  let sum = 0;
  for (let c = 0; c < content; c++) sum += sensors[c % sensors.length]! ** 2;
  return Math.sqrt(sum);
}

/** Unit vectors from the seed. */
function waveVectors(seed: number): Float32Array {
  const random = new HostRandom(seed, 'waves');
  const made = new Float32Array(3 * waveCount);
  for (let w = 0; w < waveCount; w++) {
    const v = [random.normal(), random.normal(), random.normal()];
    const length = Math.hypot(...v);
    made.set(
      v.map((x) => x / length),
      3 * w,
    );
  }
  return made;
}
