// What the suite's page runs, on the browser's WebGPU: the case suite and random graphs.

import { createRuntime, type Runtime } from '../../src/index.ts';
import { parseCases } from '../cases/format.ts';
import { runCases } from '../cases/run.ts';
import { wgsl } from '../cases/tolerance.ts';
import { compiled, eager, type FuzzReport, fuzz } from '../fuzz/run.ts';

export interface CasesResult {
  readonly passed: number;
  readonly failures: readonly string[];
  readonly skipped: readonly (readonly [reason: string, cases: number])[];
}

declare global {
  /** Runs every `nth` case of a file. */
  var runCaseFile: (file: string, text: string, nth: number) => Promise<CasesResult>;
  /** Runs random graphs, compiled or not. */
  var runFuzz: (seed: number, count: number, manner: 'eager' | 'compiled') => Promise<FuzzReport>;
}

let opened: Promise<Runtime> | null = null;
const runtime = (): Promise<Runtime> => (opened ??= createRuntime({ devices: ['webgpu'], seed: 1 }));

globalThis.runCaseFile = async (file, text, nth) => {
  const rt = await runtime();
  const { dtypes } = rt.device('webgpu').caps;
  const cases = parseCases(file, text).filter((_, i) => i % nth === 0);
  const result = await runCases(rt, cases, { dtypes, allow: wgsl, wide: 'only', together: 16 });
  return { ...result, skipped: [...result.skipped] };
};

globalThis.runFuzz = async (seed, count, manner) => {
  const rt = await runtime();
  const { dtypes } = rt.device('webgpu').caps;
  const wishes = { dtypes };
  return fuzz([{ name: 'webgpu', rt }], wishes, { seed, count }, { eager, compiled }[manner]);
};
