// A recorded pair of devices: what every call of the routing bench took there, replayed with noise through the real router and its feedback.
//
// The times are the medians that `npm run bench -- routing` wrote, the profiles those of its calibration. Where a larger call of the same kind
// was faster, its time stands for the smaller one: the difference was noise. Programs, remembered choices
// and epochs are kept as the runtime keeps them; only devices and clock are simulated, and everything follows from a seed.

import { readFileSync } from 'node:fs';
import type { OperationType } from '../../src/base/operations.ts';
import { seededRandom } from '../../src/base/seeded.ts';
import type { DeviceId } from '../../src/devices/device.ts';
import type { Profile } from '../../src/governor/routing/profile.ts';
import { Router } from '../../src/governor/routing/router.ts';
import type { Decision, KernelClass, RouteRequest, WorkItem } from '../../src/governor/routing/types.ts';
import type { Executable } from '../../src/runtime/executable.ts';
import { Feedback } from '../../src/runtime/feedback.ts';

export interface Call {
  readonly program: string;
  readonly home: DeviceId;
  readonly request: RouteRequest;
  /** µs on each device. */
  readonly us: ReadonlyMap<DeviceId, number>;
}

export interface Recorded {
  readonly profiles: ReadonlyMap<DeviceId, Profile>;
  readonly calls: readonly Call[];
}

interface Shape {
  /** Launches: their class with operations, bytes, positions and gathers per element. */
  readonly work: readonly (readonly [KernelClass, flops: number, bytes: number, elements: number, gathers: number])[];
  /** Bytes of each input and of the output per element. */
  readonly reads: readonly number[];
  readonly writes: number;
}

const neighbours: readonly ['reduce', number, number, number, number] = ['reduce', 16, 16, 4, 0];

/** What the calls of the bench are made of, per element. A matrix product has 2 × side operations for each. */
const shapes: Readonly<Record<Exclude<OperationType, 'unknown'>, Shape>> = {
  matrix_multiply: { work: [['matmul', 2, 12, 1, 0]], reads: [4, 4], writes: 4 },
  matrix_add: { work: [['map', 1, 12, 1, 0]], reads: [4, 4], writes: 4 },
  element_wise: { work: [['heavy', 22, 8, 1, 0]], reads: [4], writes: 4 },
  reduction: { work: [['reduce', 1, 4, 1, 0]], reads: [4], writes: 0 },
  transform: { work: [['map', 1, 8, 1, 0]], reads: [4], writes: 4 },
  graph_algorithm: { work: [['reduce', 4, 24, 4, 1], neighbours], reads: [4, 16], writes: 4 },
  random_generation: { work: [['heavy', 203, 4, 1, 0]], reads: [], writes: 4 },
  lattice_creation: { work: [['map', 9, 4, 1, 0]], reads: [], writes: 4 },
  path_finding: { work: [['reduce', 9, 40, 4, 1], neighbours], reads: [4, 16, 16], writes: 4 },
};

function workOf(op: keyof typeof shapes, n: number): WorkItem[] {
  return shapes[op].work.map(([cls, flops, bytes, elements, gathers]) => ({
    class: cls,
    flops: flops * n * (cls === 'matmul' ? Math.sqrt(n) : 1),
    bytes: bytes * n,
    elements: elements * n,
    gathers,
  }));
}

export function recorded(name: string): Recorded {
  const file = new URL(`routing-machines/${name}.json`, import.meta.url);
  const { profiles, calls } = JSON.parse(readFileSync(file, 'utf8')) as {
    readonly profiles: readonly Profile[];
    readonly calls: readonly (readonly [keyof typeof shapes, number, DeviceId, number, number])[];
  };
  const devices = profiles.map((p) => p.device);
  return {
    profiles: new Map(profiles.map((p) => [p.device, p])),
    calls: calls.map(([op, n, home, ...us]) => {
      const work = workOf(op, n);
      const { reads, writes } = shapes[op];
      return {
        program: `${op} of ${n}`,
        home,
        request: {
          op,
          candidates: devices.map((device) => ({ device, work, penalty: 1 })),
          inputs: reads.map((bytes) => ({ bytes: bytes * n, at: [home] })),
          outputBytes: Math.max(4, writes * n),
          wanted: 'host',
        },
        us: new Map(devices.map((d, i) => [d, us[i]!])),
      };
    }),
  };
}

/** What a clock shows on a busy host: calls below a millisecond are disturbed more often, and more. */
export function noisy(us: number, random: () => number): number {
  const normal = random() + random() + random() + random() - 2;
  const short = us < 1000;
  const spread = Math.exp(normal * (short ? 0.5 : 0.2));
  const disturbed = random() < (short ? 0.1 : 0.03);
  return us * spread * (disturbed ? 1 + random() * (short ? 4 : 2) : 1);
}

export const best = (c: Call): number => Math.min(...c.us.values());

/** Every call equally often, long ones less. */
export function traceOf(calls: readonly Call[], length: number, seconds: number, random: () => number): Call[] {
  const each = (seconds * 1e6) / calls.length;
  const trace: Call[] = [];
  const weights = calls.map((c) => Math.min(1, each / best(c)));
  const sum = weights.reduce((a, b) => a + b, 0);
  calls.forEach((c, i) => {
    for (let k = Math.max(1, Math.round((length * weights[i]!) / sum)); k > 0; k--) trace.push(c);
  });
  for (let i = trace.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [trace[i], trace[j]] = [trace[j]!, trace[i]!];
  }
  return trace;
}

type Run = Pick<Executable, 'runs' | 'decision'> & { readonly device: DeviceId };

interface Program {
  readonly runs: Map<DeviceId, Run>;
  readonly choices: Map<DeviceId, { readonly run: Run; readonly epoch: number; readonly decision: Decision }>;
}

export interface Pass {
  readonly regret: number;
  readonly worst: number;
  readonly worstCall: string;
  readonly p99: number;
  readonly explored: number;
  /** Calls that took more than twice their best time. */
  readonly above: number;
}

export class Machine {
  readonly router: Router;
  readonly #feedback: Feedback;
  readonly #programs = new Map<string, Program>();
  readonly #random: () => number;
  #nowMs = 0;

  constructor({ profiles }: Recorded, seed: number) {
    this.router = new Router({}, profiles, { clock: () => this.#nowMs });
    this.#feedback = new Feedback(this.router);
    this.#random = seededRandom(seed);
  }

  pass(trace: readonly Call[]): Pass {
    let [total, oracle, explored] = [0, 0, 0];
    let worst = { ratio: 0, call: '' };
    const ratios = trace.map((c) => {
      const { device, decision } = this.run(c);
      if (decision?.explored) explored++;
      const us = c.us.get(device)!;
      total += us;
      oracle += best(c);
      const ratio = us / best(c);
      if (ratio > worst.ratio) {
        worst = { ratio, call: `${c.program}, data at ${c.home}, to ${device}` };
      }
      return ratio;
    });
    ratios.sort((a, b) => a - b);
    return {
      regret: total / oracle - 1,
      worst: worst.ratio,
      worstCall: worst.call,
      p99: ratios[Math.floor(0.99 * (ratios.length - 1))]!,
      explored,
      above: ratios.filter((r) => r > 2).length,
    };
  }

  /** One call, from its decision to what the router is told of it; the decision is null if it was remembered. */
  run(c: Call): { readonly device: DeviceId; readonly decision: Decision | null } {
    const { run, decision } = this.#find(c);
    const compiles = run.runs === 0 ? this.router.profile(run.device)!.compileUs : 0;
    const us = noisy(c.us.get(run.device)!, this.#random) + compiles;
    this.#nowMs += us / 1000;
    this.#feedback.begin(run as unknown as Executable, true);
    this.#feedback.call(run as unknown as Executable, us / 1000);
    return { device: run.device, decision };
  }

  #find(c: Call): { readonly run: Run; readonly decision: Decision | null } {
    let program = this.#programs.get(c.program);
    if (!program) {
      program = { runs: new Map(), choices: new Map() };
      this.#programs.set(c.program, program);
    }
    const choice = program.choices.get(c.home);
    if (choice?.epoch === this.router.epoch) {
      choice.run.decision = choice.decision;
      return { run: choice.run, decision: null };
    }
    const { epoch } = this.router;
    const decision = this.router.decide(c.request);
    let run = program.runs.get(decision.device);
    if (!run) {
      run = { device: decision.device, runs: 0, decision: null };
      program.runs.set(decision.device, run);
    }
    run.decision = decision;
    if (!decision.explored) program.choices.set(c.home, { run, epoch, decision });
    return { run, decision };
  }
}
