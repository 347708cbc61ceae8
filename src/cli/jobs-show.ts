// Shows the jobs of a queue. Exit status: 0, 1 if there is no such job, 2 if the call makes no sense.

import { type DeadLetter, type JobStatus, openTransport, type Transport } from '../batch/index.ts';
import { columns, type Output } from '../forge/style.ts';
import { ArgumentError } from '../index.ts';
import { tellFailure } from './failure.ts';
import type { JobAction, JobFlags } from './jobs.ts';

type Action = (transport: Transport, id: string, flags: JobFlags, output: Output) => Promise<number>;

const watchMs = 500;
const barWidth = 24;

const actions: Readonly<Record<JobAction, { readonly needsId: boolean; readonly run: Action }>> = {
  list: { needsId: false, run: list },
  show: { needsId: true, run: show },
  cancel: { needsId: true, run: (t, id, f, o) => change(t, id, f, o, cancelled) },
  remove: { needsId: true, run: (t, id, f, o) => change(t, id, f, o, removed) },
  retry: {
    needsId: true,
    run: (t, id, f, o) => change(t, id, f, o, async (job) => `${await job.retry()} chunks once more`),
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
    if (flags.json) output.write(`${JSON.stringify({ schema: 'gpuforge.jobs/1', jobs: all }, null, 2)}\n`);
    else output.write(`${flags.watch && output.isTTY ? '\u001b[2J\u001b[H' : ''}${table(all)}`);
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
    if (flags.json)
      output.write(`${JSON.stringify({ schema: 'gpuforge.job/1', ...status, deadLetters: dead }, null, 2)}\n`);
    else output.write(`${flags.watch && output.isTTY ? '\u001b[2J\u001b[H' : ''}${page(status, dead)}`);
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
  return 'cancelled';
}

async function removed(job: Handle): Promise<string> {
  await job.remove();
  return 'removed';
}

/** `[########--------] 50 %`. Of a job whose size is not known yet, what was submitted counts as all. */
export function bar({ done, dead, total, submitted }: JobStatus): string {
  const all = total ?? submitted;
  const share = all === 0 ? (total === 0 ? 1 : 0) : (done + dead) / all;
  const full = Math.floor(share * barWidth);
  return `[${'#'.repeat(full)}${'-'.repeat(barWidth - full)}] ${`${Math.floor(100 * share)}`.padStart(3)} %`;
}

function table(all: readonly JobStatus[]): string {
  if (all.length === 0) return 'There are no jobs.\n';
  const rows = all.map((j) => [
    j.id,
    j.op,
    bar(j),
    `${j.done}/${j.total ?? '?'}`,
    j.dead > 0 ? `${j.dead} dead` : '',
    j.state,
  ]);
  return `${columns([['job', 'operation', 'progress', 'done', '', 'state'], ...rows])}\n`;
}

function page(status: JobStatus, dead: readonly DeadLetter[]): string {
  const { id, op, state, done, total, retries, duplicates } = status;
  const lines = [
    `${id}: ${op}, ${state}`,
    `${bar(status)}  ${done} of ${total ?? 'an unknown number of'} chunks, ${retries} retried, ${duplicates} discarded`,
    ...dead.map((d) => `chunk ${d.index} failed after ${d.attempts} attempts: ${d.error}`),
  ];
  return `${lines.join('\n')}\n`;
}
