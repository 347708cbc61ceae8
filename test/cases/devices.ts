// The devices that the shared suites run on: every one that this machine has, and the CPU in its different ways of running.
//
// A device that cannot be opened is listed with the reason, which the suites print; nothing is skipped in silence.

import type { DType } from '../../src/base/dtype.ts';
import { createRuntime, type Runtime, type RuntimeOptions } from '../../src/index.ts';
import { type Allowances, wgsl } from './tolerance.ts';

export interface Target {
  readonly name: string;
  readonly options: RuntimeOptions;
  readonly allow: Allowances;
  /** Run elementwise cases on repeated data, so that vector loops and threads see it. */
  readonly wide?: 'also' | 'only';
  /** Cases in flight at once. */
  readonly together: number;
  /** Share of the fuzzer's graphs: a GPU emulated in software takes long for each. */
  readonly share: number;
  /** `npm test` takes every n-th case of an op, `npm run test:all` every one: devices that compile each case take long. */
  readonly nth: number;
  readonly dtypes: (rt: Runtime) => ReadonlySet<DType>;
}

const dtypesOf = (rt: Runtime): ReadonlySet<DType> => rt.device(rt.devices().find((d) => d.open)!.id).caps.dtypes;

const target = (name: string, options: RuntimeOptions, more: Partial<Target> = {}): Target => ({
  name,
  options,
  allow: {},
  together: 1,
  share: 1,
  nth: 1,
  dtypes: dtypesOf,
  ...more,
});

const always: readonly Target[] = [
  // Its error function is a plain series in double precision.
  target('reference', { devices: ['reference'] }, { nth: 5, allow: { ulp: { erf: 4 } } }),
  target('cpu', { devices: ['cpu'] }),
  // Without the interpreter of tiny kernels, so that the smallest case runs as WebAssembly.
  target(
    'cpu compiled',
    { devices: ['cpu'], cpu: { threads: 1, tinyElements: 0, blas: false } },
    { wide: 'also', nth: 10 },
  ),
];

const optional: readonly Target[] = [
  target('webgpu', { devices: ['webgpu'] }, { wide: 'only', together: 16, share: 0.15, nth: 13, allow: wgsl }),
  target('cuda', { devices: ['cuda'] }, { wide: 'only', together: 16 }),
];

/** Devices that were looked for and not found, with the reason. */
export const absent: { readonly name: string; readonly reason: string }[] = [];

async function present(): Promise<Target[]> {
  const found: Target[] = [];
  for (const t of optional) {
    try {
      const rt = await createRuntime(t.options);
      await rt.close();
      found.push(t);
    } catch (e) {
      absent.push({ name: t.name, reason: e instanceof Error ? e.message.split('\n')[0]! : `${e}` });
    }
  }
  return found;
}

const wanted = process.env.GPUFORGE_TEST_DEVICES?.split(',');

/** GPUFORGE_TEST_DEVICES=cpu,webgpu limits the suites to some of them. */
export const targets: readonly Target[] = [...always, ...(await present())].filter(
  (t) => !wanted || wanted.includes(t.name),
);

export const openRuntime = (t: Target): Promise<Runtime> => createRuntime({ ...t.options, seed: 1 });
