// Baselines: what operations took on a machine, kept beside the code. One section per machine; a machine without one is never
// judged by another's.

import { checked } from '../../base/signatures.ts';
import { FormatError } from '../../errors.ts';
import { amount, checkShape, listOf, plainObject, text, wrong } from '../file/check.ts';
import { fileKinds } from '../file/kinds.ts';
import type { ProfileFile } from '../file/types.ts';
import { baselineSchema } from '../file/types.ts';
import { samplesOf } from './compare.ts';
import { noiseOf } from './statistics.ts';

export interface BaselineOperation {
  /** ms of calls, the newest ones, in order. */
  readonly samples: readonly number[];
  /** How far apart identical runs were, as a share; null with too few samples. */
  readonly noise: number | null;
}

export interface BaselineMachine {
  readonly createdAt: string;
  readonly operations: Readonly<Record<string, BaselineOperation>>;
}

export interface Baseline {
  readonly schema: typeof baselineSchema;
  readonly machines: Readonly<Record<string, BaselineMachine>>;
}

const mostSamples = 200;

/** Devices with their drivers, the processor, and the minor version of the library. */
export const machineKey = checked(
  'machineKey',
  'profile:profile',
  ({ machine, gpuforge }: ProfileFile): string => {
    const devices = machine.devices.map((d) => `${d.name}${d.driver ? ` ${d.driver}` : ''}`).sort();
    return [...devices, machine.cpu, `gpuforge ${gpuforge.split('.').slice(0, 2).join('.')}`].join(' | ');
  },
  fileKinds,
);

/** A baseline with this profile as the section of its machine; other machines keep theirs. */
export const updateBaseline = checked(
  'updateBaseline',
  'profile:profile old:baseline|null',
  (profile: ProfileFile, old: Baseline | null): Baseline => {
    const operations: Record<string, BaselineOperation> = {};
    for (const [name, all] of samplesOf(profile)) {
      const samples = all.slice(-mostSamples);
      const noise = noiseOf(samples);
      operations[name] = { samples, noise: Number.isFinite(noise) ? Math.round(1e6 * noise) / 1e6 : null };
    }
    const section: BaselineMachine = { createdAt: profile.createdAt, operations };
    return { schema: baselineSchema, machines: { ...old?.machines, [machineKey(profile)]: section } };
  },
  fileKinds,
);

export const readBaseline = checked(
  'readBaseline',
  'json:text',
  (json: string): Baseline => {
    let data: unknown;
    try {
      data = JSON.parse(json);
    } catch (cause) {
      const message = 'the baseline is no JSON';
      throw new FormatError({ message, fix: 'Write it again with --update.', where: 'readBaseline', cause });
    }
    if (plainObject(data) !== null) throw wrong('the baseline', data, 'an object');
    const file = data as Baseline;
    if (file.schema !== baselineSchema) throw wrong('schema', file.schema, `'${baselineSchema}'`);
    checkShape(file, { machines: plainObject }, '');
    for (const [key, machine] of Object.entries(file.machines)) {
      const path = `machines['${key}']`;
      checkShape(machine, { createdAt: text, operations: plainObject }, path);
      for (const [name, op] of Object.entries(machine.operations)) {
        const at = `${path}.operations['${name}']`;
        checkShape(op, { samples: listOf(amount) }, at);
        if (op.noise !== null && amount(op.noise) !== null) throw wrong(`${at}.noise`, op.noise, 'a number, or null');
      }
    }
    return file;
  },
  fileKinds,
);

export const baselineText = checked(
  'baselineText',
  'baseline:baseline',
  (baseline: Baseline): string => `${JSON.stringify(baseline, null, 1)}\n`,
  fileKinds,
);
