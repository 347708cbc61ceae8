// What a profile suggests to change. Each rule looks at measured figures alone and stays silent without them; none promises a
// factor.

import { formatBytes, shortLine } from '../../base/format.ts';
import { checked } from '../../base/signatures.ts';
import { isHost } from '../analyse/entry-times.ts';
import { fileKinds } from '../file/kinds.ts';
import type { ProfileFile } from '../file/types.ts';
import { median } from '../statistics.ts';
import { type Call, Facts, onGpu, onHost } from './facts.ts';

export interface Suggestion {
  readonly rule: RuleName;
  /** The operation, device or line it is about. */
  readonly about: string;
  /** The figures that made the rule speak, in words. */
  readonly evidence: string;
  /** What to do. */
  readonly advice: string;
}

type Found = Omit<Suggestion, 'rule'>;

const ms = (v: number): string => (v >= 1 ? `${v.toFixed(2)} ms` : `${(1000 * v).toFixed(0)} µs`);
const percent = (v: number): string => `${(100 * v).toFixed(0)} %`;
const MB = 1e6;

/** One suggestion for each operation for which `look` finds something. */
const perOperation =
  (look: (calls: readonly Call[], facts: Facts, operation: string) => Omit<Found, 'about'> | null) =>
  (facts: Facts): Found[] =>
    [...facts.operations].flatMap(([operation, calls]) => {
      const found = look(calls, facts, operation);
      return found ? [{ about: operation, ...found }] : [];
    });

const durations = (calls: readonly Call[]): number[] => calls.map((c) => c.entry.durationMs);
const sum = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);

/** Launching and waiting beyond the device's own work, as a share of a call; null if that was not measured. */
function hostShare({ entry, kernels, waits }: Call): number | null {
  if (entry.gpuTimeMs === null || kernels.length === 0 || entry.durationMs === 0) return null;
  const waited = Math.max(0, sum(waits.map((w) => w.ms)) - entry.gpuTimeMs);
  return (sum(kernels.map((k) => k.hostMs)) + waited) / entry.durationMs;
}

const names = (calls: readonly Call[]): string[] => calls.map((c) => c.kernels.map((k) => k.name).join('\n'));

export const rules = {
  'gpu-too-small': perOperation((calls) => {
    const usual = median(durations(calls));
    if (calls.length < 20 || usual >= 1 || !calls.every((c) => onGpu(c.entry.device))) return null;
    const shares = calls.map(hostShare);
    if (!shares.every((s) => s !== null)) return null;
    const share = median(shares);
    if (share <= 0.5) return null;
    return {
      evidence: `${calls.length} calls on ${calls[0]!.entry.device}, median ${ms(usual)}; launching and waiting take ${percent(share)} of it`,
      advice: 'Put many of them into one batch, or let the router choose the CPU for them.',
    };
  }),

  'cpu-too-large': perOperation((calls, facts) => {
    const usual = median(durations(calls));
    if (usual <= 10 || !calls.every((c) => onHost(c.entry.device)) || facts.gpus.length === 0) return null;
    const bytes = calls.map((c) => sum(c.kernels.map((k) => k.bytes ?? 0)));
    if (median(bytes) <= MB) return null;
    const predicted = calls.flatMap((c) => c.routes).flatMap((r) => pair(r.predictions));
    if (predicted.length === 0) return null;
    const [cpu, gpu] = [median(predicted.map((p) => p.cpu)), median(predicted.map((p) => p.gpu))];
    if (cpu < 1.5 * gpu) return null;
    return {
      evidence: `median ${ms(usual)} on the CPU with ${formatBytes(median(bytes))}; predicted ${ms(cpu / 1000)} on the CPU and ${ms(gpu / 1000)} on a GPU`,
      advice: 'Try it on the GPU: rt.scope({ device }). rt.explain(tensor) says why it runs where it does.',
    };
  }),

  'many-small': perOperation((calls, { profile }) => {
    const total = sum(durations(calls));
    if (calls.length < 10 || total / calls.length >= 100 || total <= 0.05 * profile.wallMs) return null;
    const kernels = names(calls);
    if (kernels[0] === '' || !kernels.every((n) => n === kernels[0])) return null;
    return {
      evidence: `${calls.length} calls of the same kernels, ${ms(total)} in all (${percent(total / profile.wallMs)} of the time)`,
      advice: 'Make one call with all of the data: stack the inputs along a new axis.',
    };
  }),

  'memory-heavy': ({ profile }) =>
    profile.machine.devices.flatMap((d) => {
      const peak = profile.memory.reduce((most, p) => (p.device === d.id ? Math.max(most, p.live) : most), 0);
      if (d.budget === null || peak <= 100 * MB || peak <= 0.5 * d.budget) return [];
      const holders = Object.entries(profile.summary)
        .filter(([, s]) => s.peakMemoryMb !== null)
        .sort((a, b) => b[1].peakMemoryMb! - a[1].peakMemoryMb!)
        .slice(0, 3)
        .map(([name, s]) => `${name} (${s.peakMemoryMb!.toFixed(0)} MiB)`);
      return [
        {
          about: d.id,
          evidence: `peak ${formatBytes(peak)} of a budget of ${formatBytes(d.budget)}${holders.length > 0 ? `; highest in ${holders.join(', ')}` : ''}`,
          advice: 'Dispose of tensors early with rt.scope, or work in smaller chunks.',
        },
      ];
    }),

  repeated: perOperation((calls) => {
    const counts = new Map<string, number[]>();
    for (const { entry } of calls) {
      if (entry.inputs === null) continue;
      const known = counts.get(entry.inputs);
      if (known) known.push(entry.durationMs);
      else counts.set(entry.inputs, [entry.durationMs]);
    }
    const most = [...counts.values()].sort((a, b) => b.length - a.length)[0];
    if (!most || most.length < 100 || median(most) >= 1) return null;
    return {
      evidence: `${most.length} calls with the very same arguments, median ${ms(median(most))}`,
      advice: 'Keep the result instead of computing it again.',
    };
  }),

  starved: ({ gpus }) =>
    gpus.flatMap(({ id, time }) => {
      if (!time || time.busy >= 0.5 || time.idleHost <= 0.3) return [];
      const line = time.longestGapLine ? ` after a wait in ${shortLine(time.longestGapLine)}` : '';
      const idle = `waiting for the host ${percent(time.idleHost)}, for transfers ${percent(time.idleTransfer)}, unknown ${percent(time.idleUnknown)}`;
      return [
        {
          about: id,
          evidence: `busy ${percent(time.busy)}; idle: ${idle}; the longest gap is ${ms(time.longestGapMs)}${line}`,
          advice: 'Enqueue the next work before you await a result, and compile repeated functions with rt.compile.',
        },
      ];
    }),

  'transfer-bound': (facts) => {
    const { transfers, wallMs, machine } = facts.profile;
    const copyMs = facts.copyMs;
    if (copyMs === null || wallMs === 0 || copyMs <= 0.3 * wallMs) return [];
    const bytes = sum(transfers.map((t) => t.bytes));
    const unpinned = sum(transfers.filter((t) => !t.pinned).map((t) => t.bytes));
    if (unpinned <= bytes / 2) return [];
    const reachable = machine.devices.flatMap((d) => (isHost(d.id) || !d.roof?.uploadGBs ? [] : [d.roof.uploadGBs]));
    const against = reachable.length > 0 ? ` (calibrated: ${Math.max(...reachable).toFixed(1)} GB/s)` : '';
    return [
      {
        about: 'transfers',
        evidence: `${formatBytes(bytes)} in ${ms(copyMs)}, ${percent(copyMs / wallMs)} of the time, ${percent(unpinned / bytes)} of it unpinned, at ${(bytes / copyMs / 1e6).toFixed(1)} GB/s${against}`,
        advice: 'Keep data on the device between steps, and upload from rt.pinned memory.',
      },
    ];
  },

  'compile-bound': ({ profile }) => {
    const { compiles, wallMs, startMs } = profile;
    const made = compiles.filter((c) => !c.cached);
    const total = sum(made.map((c) => c.ms));
    const late = made.filter((c) => c.start > startMs + 5000);
    const lateSeconds = (wallMs - 5000) / 1000;
    const perSecond = lateSeconds > 0 ? late.length / lateSeconds : 0;
    if (wallMs === 0 || (total <= 0.1 * wallMs && perSecond <= 20)) return [];
    const shown = [...new Set(made.flatMap((c) => c.kernels))].slice(0, 3).join(', ');
    return [
      {
        about: 'programs',
        evidence: `${made.length === 1 ? 'One program was' : `${made.length} programs were`} compiled in ${ms(total)}, ${percent(total / wallMs)} of the time: ${shown}`,
        advice: 'Keep shapes fixed, and pass values that change as tensors instead of constants.',
      },
    ];
  },

  'allocation-churn': ({ profile: { machine, wallMs } }) =>
    machine.devices.flatMap(({ id, allocations, grown, cleanups }) => {
      const hits = allocations === 0 ? 1 : 1 - grown / allocations;
      const churns = allocations >= 1000 && hits < 0.95;
      const cleans = cleanups >= 2 && cleanups > wallMs / 10_000;
      if (!churns && !cleans) return [];
      return [
        {
          about: id,
          evidence: `${percent(hits)} of ${allocations} allocations found memory ready; ${cleanups} clean-ups in ${ms(wallMs)}`,
          advice: 'Use rt.scope or rt.compile so that memory is used again, or give the device a larger budget.',
        },
      ];
    }),

  'wrong-route': perOperation((calls) => {
    const slow: { took: number; other: number; device: string; by: string; samples: number }[] = [];
    for (const r of calls.flatMap((c) => c.routes)) {
      const own = r.predictions.find((p) => p.device === r.device);
      if (!own || own.samples === 0) continue;
      for (const p of r.predictions) {
        if (p.device === r.device || p.samples === 0 || own.work < 1.3 * p.work) continue;
        slow.push({
          took: own.work,
          other: p.work,
          device: r.device,
          by: p.device,
          samples: Math.min(own.samples, p.samples),
        });
        break;
      }
    }
    if (slow.length < 10) return null;
    const { device, by, samples } = slow.at(-1)!;
    const [took, other] = [median(slow.map((s) => s.took)) / 1000, median(slow.map((s) => s.other)) / 1000];
    return {
      evidence: `${slow.length} runs went to ${device} (median ${ms(took)}); ${by} was measured at ${ms(other)} (${samples} samples or more)`,
      advice: `Pin it with rt.scope({ device: '${by}' }), and report it: the router should have found this.`,
    };
  }),

  'hidden-sync': ({ operations }) => {
    const lines = new Map<string, { spans: number; waits: number; ms: number }>();
    for (const { waits } of [...operations.values()].flat()) {
      const perLine = new Map<string, number[]>();
      for (const w of waits) if (w.line !== '') perLine.set(w.line, [...(perLine.get(w.line) ?? []), w.ms]);
      for (const [line, list] of perLine) {
        if (list.length <= 2) continue;
        const known = lines.get(line) ?? { spans: 0, waits: 0, ms: 0 };
        lines.set(line, { spans: known.spans + 1, waits: known.waits + list.length, ms: known.ms + sum(list) });
      }
    }
    return [...lines]
      .filter(([, l]) => l.spans >= 10)
      .map(([line, l]) => ({
        about: shortLine(line),
        evidence: `${l.waits} waits in ${l.spans} scopes, ${ms(l.ms)} in all`,
        advice: 'Read once at the end of the scope instead of after each step.',
      }));
  },
} as const satisfies Readonly<Record<string, (facts: Facts) => Found[]>>;

export type RuleName = keyof typeof rules;

/** The best prediction for the CPU and for a GPU, where there are both. */
function pair(predictions: readonly { device: string; us: number }[]): { cpu: number; gpu: number }[] {
  const best = (host: boolean): number =>
    Math.min(...predictions.filter((p) => isHost(p.device) === host).map((p) => p.us));
  const [cpu, gpu] = [best(true), best(false)];
  return Number.isFinite(cpu) && Number.isFinite(gpu) ? [{ cpu, gpu }] : [];
}

/** Everything the rules find, in the order of the table. */
export const suggest = checked(
  'suggest',
  'profile:profile',
  (profile: ProfileFile): Suggestion[] => {
    const facts = new Facts(profile);
    return (Object.keys(rules) as RuleName[]).flatMap((rule) =>
      rules[rule](facts).map((found) => ({ rule, ...found })),
    );
  },
  fileKinds,
);
