// Shows the jobs of a queue. Exit status: 0, 1 if there is no such job, 2 if the call makes no sense.

import { serves } from '../batch/chunk-id.ts';
import { type DeadLetter, type JobStatus, openTransport, type Transport, type WorkerCaps } from '../batch/index.ts';
import { columns, type Output } from '../forge/style.ts';
import { ArgumentError } from '../index.ts';
import { tellFailure } from './failure.ts';
import type { JobAction, JobFlags } from './jobs.ts';

type Action = (transport: Transport, id: string, flags: JobFlags, output: Output) => Promise<number>;

const watchMs = 500;
const barWidth = 24;
/** Chunks that failed of which a page tells why. */
const mostDead = 20;
/** A shorter bar says nothing. */
const shortestBar = 6;

const actions: Readonly<Record<JobAction, { readonly needsId: boolean; readonly run: Action }>> = {
  list: { needsId: false, run: list },
  show: { needsId: true, run: show },
  cancel: { needsId: true, run: (t, id, f, o) => change(t, id, f, o, cancelled) },
  remove: { needsId: true, run: (t, id, f, o) => change(t, id, f, o, removed) },
  retry: {
    needsId: true,
    run: (t, id, f, o) => change(t, id, f, o, retried),
  },
};

export async function jobs(
  action: JobAction,
  id: string | undefined,
  flags: JobFlags,
  output: Output,
): Promise<number> {
  const found = actions[action];
  if (found.needsId && id === undefined) return refused('NO_ID', 'the id of a job is missing', flags, output, 2);
  const transport = await openTransport(flags.redis, { prefix: flags.prefix });
  try {
    return await found.run(transport, id ?? '', flags, output);
  } finally {
    await transport.close();
  }
}

async function list(transport: Transport, _: string, flags: JobFlags, output: Output): Promise<number> {
  for (;;) {
    const all = await transport.jobs();
    const workers = flags.json ? [] : await transport.workers();
    if (flags.json) output.write(`${JSON.stringify({ schema: 'gpuforge.jobs/1', jobs: all }, null, 2)}\n`);
    else
      output.write(`${flags.watch && output.isTTY ? '\u001b[2J\u001b[H' : ''}${table(all, workers, output.columns)}`);
    if (!flags.watch || all.every((j) => j.state !== 'running')) return 0;
    await new Promise((resolve) => setTimeout(resolve, watchMs));
  }
}

async function show(transport: Transport, id: string, flags: JobFlags, output: Output): Promise<number> {
  const job = await transport.job(id);
  if (!job) return missing(id, flags, output);
  for (;;) {
    const status = await job.status();
    const dead = await job.deadLetters();
    const workers = flags.json ? [] : await transport.workers();
    if (flags.json)
      output.write(`${JSON.stringify({ schema: 'gpuforge.job/1', ...status, deadLetters: dead }, null, 2)}\n`);
    else output.write(`${flags.watch && output.isTTY ? '\u001b[2J\u001b[H' : ''}${page(status, dead, workers)}`);
    if (!flags.watch || status.state !== 'running') return 0;
    await new Promise((resolve) => setTimeout(resolve, watchMs));
  }
}

type Handle = NonNullable<Awaited<ReturnType<Transport['job']>>>;

async function change(
  transport: Transport,
  id: string,
  flags: JobFlags,
  output: Output,
  what: (job: Handle) => Promise<string>,
): Promise<number> {
  const job = await transport.job(id);
  if (!job) return missing(id, flags, output);
  const done = await what(job);
  output.write(
    flags.json ? `${JSON.stringify({ schema: 'gpuforge.job/1', ...(await job.status()) })}\n` : `${id}: ${done}\n`,
  );
  return 0;
}

const missing = (id: string, flags: JobFlags, output: Output): number =>
  refused('NO_JOB', `there is no job ${id}`, flags, output, 1);

function refused(code: string, message: string, flags: JobFlags, output: Output, status: number): number {
  const info = { code, message, fix: 'gpuforge jobs list shows all.', where: 'gpuforge jobs' };
  tellFailure(new ArgumentError(info), output, flags.json);
  return status;
}

async function cancelled(job: Handle): Promise<string> {
  await job.cancel();
  const { state } = await job.status();
  return state === 'done' ? 'it is done: there was nothing to cancel' : 'cancelled';
}

async function retried(job: Handle): Promise<string> {
  const count = await job.retry();
  return count === 0 ? 'no chunk of it has failed for good' : `${chunks(count)} will run once more`;
}

async function removed(job: Handle): Promise<string> {
  await job.remove();
  return 'removed';
}

/** `[########----x] 50 %`, with an x for chunks that failed. Of a job whose size is not known yet, what was submitted counts as all. */
export function bar({ done, dead, total, submitted }: JobStatus, width = barWidth): string {
  const all = total ?? submitted;
  const share = all === 0 ? (total === 0 ? 1 : 0) : (done + dead) / all;
  const percent = `${`${Math.floor(100 * share)}`.padStart(3)} %`;
  if (width < shortestBar) return percent;
  const full = Math.floor(share * width);
  const crosses = dead === 0 ? 0 : Math.max(1, Math.round((dead / all) * width));
  const marks = '#'.repeat(Math.max(0, full - crosses)) + 'x'.repeat(Math.min(crosses, full));
  return `[${marks.padEnd(width, '-')}] ${percent}`;
}

const chunks = (n: number): string => `${n} ${n === 1 ? 'chunk' : 'chunks'}`;

/** Whether a job waits for workers that are not there. */
const isAlone = ({ state, needs }: JobStatus, workers: readonly WorkerCaps[]): boolean =>
  state === 'running' && !workers.some((w) => serves(w, needs));

/** As wide as the terminal: the bars are as long as there is room for them. */
function table(all: readonly JobStatus[], workers: readonly WorkerCaps[], width: number): string {
  if (all.length === 0) return 'There are no jobs.\n';
  const withBars = (length: number): string =>
    columns([
      ['job', 'operation', 'progress', 'done', 'state'],
      ...all.map((j) => [
        j.id,
        j.op,
        bar(j, length),
        `${j.done}/${j.total ?? '?'}`,
        isAlone(j, workers) ? 'no worker' : j.dead > 0 ? `${j.state}, ${j.dead} dead` : j.state,
      ]),
    ]);
  const widest = Math.max(
    ...withBars(barWidth)
      .split('\n')
      .map((l) => l.length),
  );
  return withBars(Math.min(barWidth, barWidth - (widest - width)));
}

export function page(status: JobStatus, dead: readonly DeadLetter[], workers: readonly WorkerCaps[]): string {
  const { id, op, needs, state, done, total, retries, duplicates } = status;
  const failed = dead.length === 0 ? '' : `, ${dead.length} failed`;
  const lines = [
    `${id}: ${op}, ${state}`,
    `${bar(status)}  ${done} of ${total ?? 'an unknown number of'} chunks done${failed}`,
    ...(retries > 0 ? [`attempts that failed and were repeated: ${retries}`] : []),
    ...(duplicates > 0 ? [`results that were there already and were discarded: ${duplicates}`] : []),
    ...(isAlone(status, workers) ? [`No worker for ${needs} is there. Start one: gpuforge worker --help`] : []),
    ...dead
      .slice(0, mostDead)
      .map(
        (d) =>
          `chunk ${d.index} failed after ${d.attempts} ${d.attempts === 1 ? 'attempt' : 'attempts'}: ${d.error.split('\n')[0]}`,
      ),
    ...(dead.length > mostDead ? [`and ${chunks(dead.length - mostDead)} more: --json tells of all.`] : []),
    ...(dead.length > 0 && state !== 'cancelled' ? [`gpuforge jobs retry ${id} runs them once more.`] : []),
    ...(state === 'cancelled' ? ['It goes on when it is submitted again under its id.'] : []),
  ];
  return `${lines.join('\n')}\n`;
}
