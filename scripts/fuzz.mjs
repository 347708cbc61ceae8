// npm run fuzz: random graphs on the devices present, and the property tests, from a new seed. `npm test` always takes the same one.
//
//   npm run fuzz -- --runs N       how many graphs (10,000)
//   npm run fuzz -- --seed S       the seed of an earlier run, which prints it first and last
//   npm run fuzz -- --device D     only graphs, on one device
//   npm run fuzz -- --without OP,OP     only graphs, without some ops

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '10000' },
    seed: { type: 'string' },
    device: { type: 'string' },
    without: { type: 'string' },
  },
});
for (const name of ['runs', 'seed']) {
  if (values[name] !== undefined && !/^\d+$/.test(values[name])) {
    console.error(`--${name} takes a whole number, not '${values[name]}'.`);
    process.exit(64);
  }
}
const seed = values.seed ?? `${Math.floor(Math.random() * 2 ** 31)}`;
const graphsOnly = values.device !== undefined || values.without !== undefined;

/** Test files that draw their inputs: they take the seed from one place. */
const properties = ['src', 'test'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true })
    .filter((f) => f.endsWith('.test.ts'))
    .map((f) => `${folder}/${f.replaceAll('\\', '/')}`)
    .filter((f) => readFileSync(join(root, f), 'utf8').match(/support\/(properties|seed)\.ts/)),
);
const options = Object.entries(values).flatMap(([k, v]) => (k === 'seed' || v === undefined ? [] : [`--${k} ${v}`]));
const again = `seed ${seed}; to repeat this run: npm run fuzz -- --seed ${seed} ${options.join(' ')}`;
console.log(again);
const { status } = spawnSync(
  process.execPath,
  [
    'node_modules/vitest/vitest.mjs',
    'run',
    'test/fuzz',
    ...(graphsOnly ? [] : properties),
    '--disable-console-intercept',
  ],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      FUZZ_RUNS: values.runs,
      FUZZ_SEED: seed,
      ...(values.device ? { FUZZ_DEVICE: values.device } : {}),
      ...(values.without ? { FUZZ_WITHOUT: values.without } : {}),
    },
  },
);
console.log(again);
process.exit(status ?? 1);
