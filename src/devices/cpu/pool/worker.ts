// The program of a worker thread, as text: it starts from this string alone, in Node and in browsers, with no file to
// find and nothing for a bundler to do. It sleeps until the epoch moves, joins the open job, runs chunks, leaves.
//
// A sleeping worker sees no messages, so the modules it runs come through the shared memory; the engine knows their
// bytes already and gives it the compiled code of the calling thread.

import { controlAddress } from '../memory.ts';
import { controlWords, slot, slotWord, spins, state, word } from './control.ts';

export const workerSource = `'use strict';
const serve = (memory, worker, me) => {
  const words = new Int32Array(memory.buffer, ${controlAddress}, ${controlWords});
  const times = new Float64Array(memory.buffer, ${controlAddress}, ${controlWords} / 2);
  const codes = new Map();
  const load = () => {
    const id = words[${word.code}];
    let run = codes.get(id);
    if (run) return run;
    memory.grow(0);
    const bytes = new Uint8Array(memory.buffer, words[${word.codeAddress}] >>> 0, words[${word.codeBytes}]).slice();
    run = new WebAssembly.Instance(new WebAssembly.Module(bytes), { env: { memory } }).exports.run;
    if (codes.size > 500) codes.clear();
    codes.set(id, run);
    return run;
  };
  const work = () => {
    const run = load();
    const chunks = words[${word.chunks}];
    const size = words[${word.chunkItems}];
    const items = words[${word.items}];
    const args = words[${word.args}];
    for (;;) {
      const chunk = Atomics.add(words, ${word.next}, 1);
      if (chunk >= chunks) return;
      const fault = Atomics.exchange(words, ${word.fault}, 0);
      if (fault === 1) worker.end();
      if (fault === 2) throw new Error('injected');
      if (fault === 3) for (;;);
      if (fault === 4) while (Atomics.load(words, ${word.fault}) !== 5) Atomics.wait(words, ${word.fault}, 0);
      run(args, chunk * size, Math.min(items, (chunk + 1) * size));
      Atomics.add(words, me + ${slot.done}, 1);
    }
  };
  let seen = 0;
  Atomics.store(words, me + ${slot.state}, ${state.asleep});
  for (;;) {
    for (let i = 0; i < ${spins} && Atomics.load(words, ${word.epoch}) === seen && Atomics.load(words, ${word.rest}) === 0; i++);
    while (Atomics.load(words, ${word.epoch}) === seen) Atomics.wait(words, ${word.epoch}, seen);
    seen = Atomics.load(words, ${word.epoch});
    if (Atomics.load(words, ${word.stop})) break;
    Atomics.store(words, me + ${slot.state}, ${state.inside});
    let after = ${state.asleep};
    if (Atomics.load(words, ${word.open}) === 1) {
      const timed = words[${word.timed}] === 1;
      if (timed) times[(me + ${slot.start}) / 2] = worker.now();
      try {
        work();
      } catch {
        after = ${state.failed};
      }
      if (timed) times[(me + ${slot.end}) / 2] = worker.now();
    }
    Atomics.store(words, me + ${slot.state}, after);
    Atomics.notify(words, me + ${slot.state});
    if (after === ${state.failed}) break;
  }
  worker.end();
};
if (typeof require === 'function') {
  const { workerData } = require('node:worker_threads');
  const now = () => Number(process.hrtime.bigint()) / 1e6;
  serve(workerData.memory, { end: () => process.exit(0), now }, workerData.me);
} else {
  const now = () => performance.timeOrigin + performance.now();
  onmessage = (event) => serve(event.data.memory, { end: () => close(), now }, event.data.me);
}
`;

/**
 * What to add to a worker's times to get those of the calling thread. Every thread counts `performance.now()` from its own start;
 * the clock behind it is one for all of them.
 */
export function workerOffset(): number {
  const { process: node } = globalThis as { process?: { hrtime?: { bigint?(): bigint } } };
  const shared = node?.hrtime?.bigint?.();
  return shared === undefined ? -performance.timeOrigin : performance.now() - Number(shared) / 1e6;
}

/** What a worker is given when it starts. */
export const workerData = (memory: WebAssembly.Memory, worker: number): { memory: WebAssembly.Memory; me: number } => ({
  memory,
  me: slotWord(worker),
});
