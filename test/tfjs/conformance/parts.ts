// The suite in several processes: most of the time of a GPU run goes into compiling kernels, on one core each.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { joined, type Result } from './result.ts';

const file = fileURLToPath(import.meta.url);

function part(k: number, n: number): Promise<Result> {
  const args = process.argv.slice(2);
  const at = args.indexOf('--jobs');
  args.splice(at, 2);
  return new Promise((resolve, reject) => {
    const command = [file, ...args.filter((a) => a !== '--json'), '--json', '--part', `${k}/${n}`];
    execFile(process.execPath, command, { maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      const line = stdout.trim().split('\n').at(-1) ?? '';
      if (line.startsWith('{')) resolve(JSON.parse(line) as Result);
      else reject(error ?? new Error(`part ${k}/${n}: ${stdout.slice(-500)}${stderr.slice(-500)}`));
    });
  });
}

export async function runParts(jobs: number): Promise<Result> {
  const results = await Promise.all(Array.from({ length: jobs }, (_, k) => part(k, jobs)));
  return results.reduce(joined);
}
