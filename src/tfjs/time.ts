// How long kernels take: by the device's own timestamps where it gave some, else until the work was done, as TF.js's CPU
// backend has it.

import { ForgeError, type Runtime } from '../index.ts';

export interface KernelTime {
  /** Or why it is not known. */
  kernelMs: number | { readonly error: string };
  wallMs: number;
  getExtraProfileInfo?(): string;
}

/**
 * Runs work at once (TF.js reads its results before the promise is there), computes what it left waiting, and adds up
 * when the device was busy with it.
 */
export async function timeOf(rt: Runtime, work: () => void, flush: () => void): Promise<KernelTime> {
  const measuring = rt.spans(true);
  const names: string[] = [];
  const launched = new Set<number>();
  const spans = new Map<number, number>();
  const stop = [
    rt.on('launch', ({ id, name }) => {
      launched.add(id);
      names.push(name);
    }),
    rt.on('replay', ({ id, kernels, recorded }) => {
      if (!recorded) return;
      launched.add(id);
      names.push(...kernels);
    }),
    rt.on('span', ({ ids, start, end }) => {
      if (ids.some((id) => launched.has(id))) spans.set(ids[0]!, end - start);
    }),
  ];
  const start = performance.now();
  try {
    flush();
    launched.clear();
    names.length = 0;
    work();
    flush();
    for (const end of stop.splice(0, 2)) end();
    await measuring;
    await rt.flush();
    const wallMs = performance.now() - start;
    const kernelMs = [...spans.values()].reduce((a, b) => a + b, 0);
    return {
      kernelMs: spans.size > 0 ? kernelMs : wallMs,
      wallMs,
      getExtraProfileInfo: () => names.join(', '),
    };
  } catch (e) {
    if (!isClosed(e)) throw e;
    // TF.js's debug mode leaves these promises alone: one that fails because the program has ended would end it as a crash.
    return { kernelMs: { error: e.message }, wallMs: performance.now() - start };
  } finally {
    for (const end of stop) end();
    await rt.spans(false).catch((e: unknown) => {
      if (!isClosed(e)) throw e;
    });
  }
}

const isClosed = (e: unknown): e is ForgeError => e instanceof ForgeError && e.code === 'RUNTIME_CLOSED';
