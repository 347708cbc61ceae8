// npm start: builds what is missing, then takes the tour.

import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { ensureBuilt } from './build.mjs';

ensureBuilt();
const cli = fileURLToPath(new URL('../dist/cli.js', import.meta.url));
// An interrupt in the terminal reaches the child by itself; this process only waits for it to clean up.
process.on('SIGINT', () => {});
// Other signals are sent to this process alone.
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
const child = spawn(process.execPath, [cli, 'tour', ...process.argv.slice(2)], { stdio: 'inherit' });
child.on('exit', (code, signal) => {
  process.exitCode = code ?? 128 + (constants.signals[signal] ?? 0);
});
