// What the case page runs: the case suite on the browser's WebGPU, with the results left for the test to read.

import { createRuntime, type Runtime } from '../../src/index.ts';
import { parseCases } from '../cases/format.ts';
import { runCases } from '../cases/run.ts';
import { wgsl } from '../cases/tolerance.ts';

export interface CasesResult {
  readonly passed: number;
  readonly failures: readonly string[];
  readonly skipped: readonly (readonly [reason: string, cases: number])[];
}

declare global {
  /** Runs every `nth` case of a file. */
  var runCaseFile: (file: string, text: string, nth: number) => Promise<CasesResult>;
}

let rt: Runtime | null = null;

globalThis.runCaseFile = async (file, text, nth) => {
  rt ??= await createRuntime({ devices: ['webgpu'], seed: 1 });
  const { dtypes } = rt.device('webgpu').caps;
  const cases = parseCases(file, text).filter((_, i) => i % nth === 0);
  const result = await runCases(rt, cases, { dtypes, allow: wgsl, wide: 'only', together: 16 });
  return { ...result, skipped: [...result.skipped] };
};
