// npm run fuzz -- --runs N --seed S --device D --without OP,OP: random graphs on the devices present, or on one of them.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

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
console.log(`seed ${seed}`);
const { status } = spawnSync(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', 'test/fuzz', '--disable-console-intercept'],
  {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
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
process.exit(status ?? 1);
