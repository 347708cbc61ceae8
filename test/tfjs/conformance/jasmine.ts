// Jasmine without its command line. TF.js's suite expects it as globals before its files are evaluated.

import jasmineRequire from 'jasmine-core/lib/jasmine-core/jasmine.js';

export interface Spec {
  readonly fullName: string;
  readonly status: 'passed' | 'failed' | 'pending' | 'excluded';
  readonly failedExpectations: readonly { readonly message: string; readonly stack?: string }[];
}

export interface JasmineEnv {
  configure(options: { readonly random: boolean }): void;
  addReporter(reporter: { specStarted?(spec: Spec): void; specDone?(spec: Spec): void }): void;
  execute(): Promise<unknown>;
}

interface Jasmine {
  DEFAULT_TIMEOUT_INTERVAL: number;
  getEnv(options: { readonly suppressLoadErrors: boolean }): JasmineEnv;
}

export interface JasmineRequire {
  core(self: JasmineRequire): Jasmine;
  interface(jasmine: Jasmine, env: JasmineEnv): Record<string, unknown>;
}

const jasmine = jasmineRequire.core(jasmineRequire);
export const jasmineEnv: JasmineEnv = jasmine.getEnv({ suppressLoadErrors: true });
Object.assign(globalThis, jasmineRequire.interface(jasmine, jasmineEnv));

// Software GPUs compile on the processor: specs that set a limit of their own get more time.
jasmine.DEFAULT_TIMEOUT_INTERVAL = 600_000;
const patient = Object.create(jasmine, { DEFAULT_TIMEOUT_INTERVAL: { get: () => 600_000, set: () => {} } });
Object.assign(globalThis, { jasmine: patient });
