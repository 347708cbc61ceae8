// The three questions of the overview, answered in words: which device runs, is memory short, did anything fail. Each answer has a
// headline that stands alone, for the one line that sums up all of it.

import { shortLine } from '../../base/format.ts';
import { formatBytes } from '../../index.ts';
import type { Answer, RuntimeView, Standing, StudioHealth } from '../types.ts';

type Told = Answer & { readonly headline: string };

const rank: Readonly<Record<Standing, number>> = { bad: 3, watch: 2, good: 1, unknown: 0 };
const MiB = 2 ** 20;

const worst = <T extends { readonly standing: Standing }>(list: readonly T[]): T =>
  list.reduce((a, b) => (rank[b.standing] > rank[a.standing] ? b : a));

const plural = (n: number, one: string, many = `${one}s`): string =>
  `${n.toLocaleString('en')} ${n === 1 ? one : many}`;

export function healthOf(runtimes: readonly RuntimeView[]): StudioHealth {
  const open = runtimes.filter((r) => r.closedAt === null);
  const failures = failuresOf(runtimes);
  if (open.length === 0) return nothingRuns(runtimes.length > 0, failures);
  const device = deviceOf(open);
  const memory = memoryOf(open);
  const all = [device, memory, failures];
  const { standing } = worst(all);
  const told = all.filter((a) => a.standing === standing).map((a) => a.headline);
  const quiet = failures.answer === 'No' ? 'nothing failed' : 'nothing failed lately';
  const line = standing === 'good' ? `All is well: ${device.headline}, memory has room, ${quiet}.` : told.join(' ');
  return { standing, line, device: plain(device), memory: plain(memory), failures: plain(failures) };
}

const plain = ({ standing, answer, detail }: Told): Answer => ({ standing, answer, detail });

function nothingRuns(closed: boolean, failures: Told): StudioHealth {
  const detail = closed
    ? 'The program has closed its runtime.'
    : 'Nothing to watch: pass a runtime to serveStudio({ runtimes: [rt] }).';
  return {
    standing: 'unknown',
    line: detail,
    device: { standing: 'unknown', answer: closed ? 'Nothing runs' : 'No program', detail },
    memory: { standing: 'unknown', answer: 'Unknown', detail: 'No runtime is open.' },
    failures: plain(failures),
  };
}

type Device = RuntimeView['snapshot']['devices'][number] & { readonly perSecond: number };

/** What each device does, most busy first. */
function deviceOf(runtimes: readonly RuntimeView[]): Told {
  const devices = runtimes.flatMap((r) =>
    r.snapshot.devices
      .filter((d) => d.health !== null)
      .map((d): Device => {
        const busy = r.busy.find((b) => b.device === d.id);
        return { ...d, perSecond: busy?.launchesPerSecond ?? 0 };
      }),
  );
  const alive = devices.filter((d) => d.open);
  const lost = devices.filter((d) => d.health!.state === 'lost');
  if (alive.length === 0) {
    const detail = lost[0] ? `${lost[0].id} was lost and there is no other.` : 'Run gpuforge doctor to find out why.';
    return { standing: 'bad', answer: 'No device is open', detail, headline: `No device is open. ${detail}` };
  }
  const working = alive.filter((d) => d.perSecond > 0).sort((a, b) => b.perSecond - a.perSecond);
  const [first] = working;
  const does = working.length > 1 ? 'do' : 'does';
  const answer = first ? `${names(working.slice(0, 2))} ${does} the work` : 'Idle';
  const rate = first ? `${first.name}: ${plural(Math.round(first.perSecond), 'kernel')} a second.` : '';
  const ready = `Ready: ${names(alive)}. No kernel was started in the last second.`;
  const problem = problemOf(lost, alive);
  if (problem)
    return { standing: 'watch', answer, detail: [problem, rate].filter(Boolean).join(' '), headline: problem };
  return { standing: 'good', answer, detail: rate || ready, headline: first ? answer : 'nothing to do' };
}

const names = (list: readonly { readonly id: string }[]): string => list.map((d) => d.id).join(' and ');

function problemOf(lost: readonly Device[], alive: readonly Device[]): string | null {
  const goOn = `${names(alive)} ${alive.length > 1 ? 'do' : 'does'} the work.`;
  if (lost.length > 0) return `${names(lost)} ${lost.length > 1 ? 'were' : 'was'} lost; ${goOn}`;
  const resting = alive.filter((d) => d.health!.state === 'open' || d.health!.state === 'quarantined');
  if (resting.length > 0) return `${names(resting)} failed often and gets no work for now.`;
  const fallen = alive.filter((d) => d.health!.fallenBack);
  return fallen.length > 0 ? `Another device does the work of ${names(fallen)} for now.` : null;
}

const pressures = {
  low: { standing: 'good', answer: 'No, there is room', headline: 'Memory has room.' },
  moderate: { standing: 'good', answer: 'No, but it is filling up', headline: 'Memory is filling up.' },
  high: { standing: 'watch', answer: 'Yes, it is getting short', headline: 'Memory is getting short.' },
  critical: { standing: 'bad', answer: 'Yes, it is nearly full', headline: 'Memory is nearly full.' },
} as const;

function memoryOf(runtimes: readonly RuntimeView[]): Told {
  const answers = runtimes.flatMap((r) =>
    r.snapshot.memory.places
      .filter((p) => r.snapshot.devices.find((d) => d.id === p.device)?.open)
      .map((p) => placeOf(p, r.memory.spills)),
  );
  const unknown = { standing: 'unknown', answer: 'Unknown', detail: 'No device is open.', headline: '' } as const;
  if (answers.length === 0) return unknown;
  const found = worst(answers);
  // The first device is the preferred one: with room everywhere it is the one to tell about.
  const told = found.standing === 'good' ? answers.find((a) => a.standing === 'good')! : found;
  const [leak] = runtimes.flatMap((r) => r.memory.leaks);
  if (!leak || told.standing === 'bad') return told;
  const site = leak.sites[0]?.site;
  return {
    standing: 'watch',
    answer: 'It keeps growing',
    detail: `${leak.device} grew to ${formatBytes(leak.toMb * MiB)} without coming down${site ? `; most was made at ${shortLine(site)}` : ''}.`,
    headline: 'Memory keeps growing.',
  };
}

function placeOf(p: RuntimeView['snapshot']['memory']['places'][number], spills: number): Told {
  if (p.utilization === null) {
    const detail = `${p.device} does not tell how much memory it has; ${formatBytes(p.live)} are in use.`;
    return { standing: 'unknown', answer: 'Unknown', detail, headline: detail };
  }
  const whole = p.total === null ? '' : ` of ${formatBytes(p.total)}`;
  const moved = spills > 0 ? ` ${plural(spills, 'tensor')} had to move to host memory.` : '';
  const detail = `${p.device}: ${Math.round(p.utilization * 100)} %${whole} in use, ${formatBytes(p.live)} by this program.${moved}`;
  return { ...pressures[p.pressure], detail };
}

/** A failure is news for so long. */
const recentMs = 60_000;

function failuresOf(runtimes: readonly RuntimeView[]): Told {
  const sum = (of: (counts: RuntimeView['counts']) => number): number =>
    runtimes.reduce((total, r) => total + of(r.counts), 0);
  const errors = sum((c) => c.errors);
  const retries = sum((c) => c.retries);
  const losses = sum((c) => c.losses);
  const recoveries = sum((c) => c.recoveries);
  if (errors + retries + losses === 0)
    return { standing: 'good', answer: 'No', detail: 'No failure since the studio was started.', headline: '' };
  const lostNow = runtimes.some(
    (r) => r.closedAt === null && r.snapshot.devices.some((d) => d.health?.state === 'lost'),
  );
  const what = [
    losses > 0 ? plural(losses, 'device loss', 'device losses') : '',
    retries > 0 ? plural(retries, 'failed attempt') : '',
    errors > 0 ? `${plural(errors, 'error')} in callbacks` : '',
  ].filter(Boolean);
  const after = lostNow
    ? 'Not everything has recovered yet.'
    : recoveries > 0
      ? `Recovered ${recoveries === 1 ? 'once' : `${recoveries} times`}.`
      : 'The work went on.';
  const detail = `${what.join(', ')}. ${after}`;
  if (lostNow)
    return { standing: 'bad', answer: 'Yes, a device is lost', detail, headline: `A device is lost. ${detail}` };
  const ages = runtimes.map(
    (r) => r.snapshot.clock - (r.snapshot.recovery.history.at(-1)?.at ?? Number.NEGATIVE_INFINITY),
  );
  const recent = errors > 0 || Math.min(...ages) < recentMs;
  if (!recent) return { standing: 'good', answer: 'Not lately', detail, headline: '' };
  return { standing: 'watch', answer: 'Yes, and it was handled', detail, headline: `A failure was handled: ${detail}` };
}
