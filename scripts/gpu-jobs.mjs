// Runs programs side by side, and some of them alone afterwards; a short table last.
//
// A job is { name, command, alone, seconds }: `seconds` is its time limit, after which it is ended and has failed. What each of them
// prints goes to a file of its own; of one that failed, the lines that say so are shown at once.

import { spawn } from 'node:child_process';
import { createWriteStream, mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** Lines that tell what went wrong, and the last ones: the words of our own tests and of compute-sanitizer. */
const telling =
  /^FAIL|^\w*Error\b|^========= (?!COMPUTE-SANITIZER|ERROR SUMMARY: 0|RACECHECK SUMMARY: 0)|[1-9]\d* failed/;
const shown = 40;

/** In groups of their own: a checker and the program below it end together, also with this one. */
const running = new Set();

function end(child) {
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => {
    for (const child of running) end(child);
    process.exit(1);
  });

function run({ name, command, seconds }, folder) {
  const [program, ...rest] = command;
  const started = performance.now();
  const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  running.add(child);
  const log = createWriteStream(join(folder, `${name.replaceAll(/[^\w.-]+/g, '-')}.txt`));
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      log.write(chunk);
      text += chunk;
    });
  }
  let late = false;
  const limit = setTimeout(() => {
    late = true;
    end(child);
  }, 1000 * seconds);
  return new Promise((resolve) => {
    const ended = (code, why) => {
      clearTimeout(limit);
      running.delete(child);
      const took = (performance.now() - started) / 1000;
      const lines = text.split('\n').filter((l) => l.trim() !== '');
      const last = lines.findLast((l) => !l.startsWith('=========')) ?? '';
      const result = late ? `not done in ${seconds} s` : code === 0 ? 'passed' : why;
      if (result !== 'passed') {
        const said = lines.filter((l) => telling.test(l)).slice(0, shown);
        console.log([`-- ${name}: ${result}`, ...said, ...lines.slice(-5)].map((l) => l.slice(0, 900)).join('\n'));
      }
      log.end(() => resolve({ name, result, took, last }));
    };
    child.on('error', (error) => ended(1, error.message));
    child.on('close', (code, signal) => ended(code ?? 1, `exit ${code ?? signal}`));
  });
}

/** True if all jobs passed, and there were some. `most`: how many run at a time; long ones should come first. */
export async function runJobs(jobs, most, folder) {
  mkdirSync(folder, { recursive: true });
  const started = performance.now();
  const results = [];
  const work = async (waiting) => {
    for (let job = waiting.shift(); job; job = waiting.shift()) results.push(await run(job, folder));
  };
  const beside = jobs.filter((j) => !j.alone);
  await Promise.all(Array.from({ length: most }, () => work(beside)));
  await work(jobs.filter((j) => j.alone));
  const width = Math.max(...results.map((r) => r.name.length));
  for (const { name, result, took, last } of results)
    console.log(
      `${name.padEnd(width)}  ${result.padEnd(8)} ${took.toFixed(0).padStart(4)} s  ${last.trim().slice(0, 110)}`,
    );
  const failed = results.filter((r) => r.result !== 'passed');
  const total = ((performance.now() - started) / 1000).toFixed(0);
  console.log(
    `${results.length - failed.length} of ${results.length} passed in ${total} s, ${most} at a time; ${folder}`,
  );
  return results.length > 0 && failed.length === 0;
}
