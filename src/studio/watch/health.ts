// The three questions of the overview, answered in words: which device runs, is memory short, did anything fail.

import { formatBytes } from '../../index.ts';
import type { Answer, RuntimeView, Standing, StudioHealth } from '../types.ts';

const rank: Readonly<Record<Standing, number>> = { bad: 3, watch: 2, good: 1, unknown: 0 };

const worst = <T extends { readonly standing: Standing }>(list: readonly T[]): T =>
  list.reduce((a, b) => (rank[b.standing] > rank[a.standing] ? b : a));

export function healthOf(runtimes: readonly RuntimeView[]): StudioHealth {
  const open = runtimes.filter((r) => r.closedAt === null);
  if (open.length === 0) {
    const closed = runtimes.length > 0;
    const none: Answer = {
      standing: 'unknown',
      answer: closed ? 'Nothing runs' : 'No program',
      detail: closed
        ? 'The program has closed its runtime.'
        : 'Nothing to watch: pass a runtime to serveStudio({ runtimes: [rt] }).',
    };
    const silent: Answer = { standing: 'unknown', answer: 'Unknown', detail: 'No runtime is open.' };
    return { standing: 'unknown', line: none.detail, device: none, memory: silent, failures: failuresOf(runtimes) };
  }
  const device = deviceOf(open);
  const memory = memoryOf(open);
  const failures = failuresOf(runtimes);
  const all = [failures, memory, device];
  const { standing, detail, answer } = worst(all);
  const line =
    standing === 'good' ? `All is well. ${device.answer}; memory has room; nothing failed.` : `${answer}. ${detail}`;
  return { standing, line, device, memory, failures };
}

/** What each device does, most busy first. */
function deviceOf(runtimes: readonly RuntimeView[]): Answer {
  const devices = runtimes.flatMap((r) =>
    r.snapshot.devices
      .filter((d) => d.health !== null)
      .map((d) => ({ ...d, busy: r.busy.find((b) => b.device === d.id) ?? null })),
  );
  const lost = devices.filter((d) => d.health?.state === 'lost');
  const alive = devices.filter((d) => d.open);
  if (alive.length === 0)
    return {
      standing: 'bad',
      answer: 'No device is open',
      detail: lost[0] ? `${lost[0].id} was lost.` : 'Run `gpuforge doctor` to find out why.',
    };
  const rates = alive.map((d) => d.busy?.launchesPerSecond ?? 0);
  const working = alive.filter((_, i) => rates[i]! > 0).sort((a, b) => speed(b) - speed(a));
  const resting = alive.filter((d) => d.health!.state === 'open' || d.health!.state === 'quarantined');
  const names = (list: readonly { readonly id: string }[]): string => list.map((d) => d.id).join(' and ');
  const running = working.length > 0 ? `${names(working.slice(0, 2))} ${working.length > 1 ? 'run' : 'runs'}` : 'Idle';
  const rate = working[0]
    ? `${Math.round(speed(working[0])).toLocaleString('en')} kernels a second on ${working[0].id}`
    : '';
  const plain = working[0]
    ? `${working[0].name}: ${rate}.`
    : `Ready: ${alive.map((d) => d.id).join(', ')}. No kernel was started in the last second.`;
  if (lost.length > 0) {
    return {
      standing: 'watch',
      answer: running,
      detail: `${names(lost)} ${lost.length > 1 ? 'were' : 'was'} lost; ${names(alive)} ${alive.length > 1 ? 'do' : 'does'} the work.`,
    };
  }
  if (resting.length > 0)
    return {
      standing: 'watch',
      answer: running,
      detail: `${names(resting)} failed often and gets no work for now. ${plain}`,
    };
  const fallen = alive.filter((d) => d.health!.fallenBack);
  if (fallen.length > 0)
    return {
      standing: 'watch',
      answer: running,
      detail: `Another device does the work of ${names(fallen)} for now. ${plain}`,
    };
  return { standing: 'good', answer: running, detail: plain };
}

const speed = (d: { readonly busy: { readonly launchesPerSecond: number | null } | null }): number =>
  d.busy?.launchesPerSecond ?? 0;

const pressure: Readonly<Record<string, { readonly standing: Standing; readonly answer: string }>> = {
  low: { standing: 'good', answer: 'No, there is room' },
  moderate: { standing: 'good', answer: 'No, but it is filling up' },
  high: { standing: 'watch', answer: 'Yes, it is getting short' },
  critical: { standing: 'bad', answer: 'Yes, it is nearly full' },
};

function memoryOf(runtimes: readonly RuntimeView[]): Answer {
  const answers = runtimes.flatMap(({ snapshot: { memory, devices }, memory: more }): Answer[] =>
    memory.places
      .filter((p) => devices.find((d) => d.id === p.device)?.open)
      .map((p) => {
        if (p.utilization === null)
          return {
            standing: 'unknown',
            answer: 'Unknown',
            detail: `${p.device} does not tell how much memory it has; ${formatBytes(p.live)} are in use.`,
          };
        const spilled =
          more.spills > 0 ? ` ${more.spills.toLocaleString('en')} times a tensor had to move to host memory.` : '';
        const whole = p.total === null ? '' : ` of ${formatBytes(p.total)}`;
        return {
          ...pressure[p.pressure]!,
          detail: `${p.device}: ${Math.round(p.utilization * 100)} %${whole} in use, ${formatBytes(p.live)} by this program.${spilled}`,
        };
      }),
  );
  if (answers.length === 0) return { standing: 'unknown', answer: 'Unknown', detail: 'No device is open.' };
  const found = worst(answers);
  // The first device is the preferred one: with room everywhere it is the one to tell about.
  const told = found.standing === 'good' ? answers.find((a) => a.standing === 'good')! : found;
  const leak = runtimes.flatMap((r) => r.memory.leaks)[0];
  if (leak && told.standing !== 'bad')
    return {
      standing: 'watch',
      answer: 'It keeps growing',
      detail: `${leak.device} grew to ${formatBytes(leak.toMb * 2 ** 20)} without coming down${leak.sites[0]?.site ? `; most was made at ${leak.sites[0].site}` : ''}.`,
    };
  return told;
}

const recentMs = 60_000;

function failuresOf(runtimes: readonly RuntimeView[]): Answer {
  const sum = (of: (r: RuntimeView) => number): number => runtimes.reduce((total, r) => total + of(r), 0);
  const errors = sum((r) => r.counts.errors);
  const retries = sum((r) => r.counts.retries);
  const losses = sum((r) => r.counts.losses);
  const recoveries = sum((r) => r.counts.recoveries);
  const failed = errors + retries + losses;
  if (failed === 0) return { standing: 'good', answer: 'No', detail: 'No failure since the studio was started.' };
  const lostNow = runtimes.some(
    (r) => r.closedAt === null && r.snapshot.devices.some((d) => d.health?.state === 'lost'),
  );
  const parts = [
    losses > 0 ? `${plural(losses, 'device loss', 'device losses')}` : '',
    retries > 0 ? `${plural(retries, 'failed attempt', 'failed attempts')}` : '',
    errors > 0 ? `${plural(errors, 'error', 'errors')} in callbacks` : '',
  ].filter(Boolean);
  const last = Math.max(...runtimes.map((r) => r.snapshot.recovery.history.at(-1)?.at ?? Number.NEGATIVE_INFINITY));
  const clock = runtimes[0]!.snapshot.clock;
  const recent = errors > 0 || clock - last < recentMs;
  const ended = lostNow
    ? 'Not everything has recovered yet.'
    : recoveries > 0
      ? `Recovered ${plural(recoveries, 'time', 'times')}.`
      : 'The work went on.';
  return {
    standing: lostNow ? 'bad' : recent ? 'watch' : 'good',
    answer: lostNow ? 'Yes, a device is lost' : recent ? 'Yes, and it was handled' : 'Not lately',
    detail: `${parts.join(', ')}. ${ended}`,
  };
}

const plural = (n: number, one: string, many: string): string => `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
