// Checks what a field does, not what it is called: runs cycles and reports, with numbers, whether it keeps its promises.

import { checked } from '../base/signatures.ts';
import { Field } from './field.ts';
import { fieldKinds } from './signatures.ts';

export interface FieldCheck {
  readonly name: string;
  readonly passed: boolean;
  readonly measured: string;
}

export interface CheckReport {
  readonly passed: boolean;
  readonly device: string;
  readonly checks: readonly FieldCheck[];
}

const warmUp = 8;
const cycles = 10;
const mostLaunches = { fused: 4, full: 16 } as const;

/** Runs copies of a field; the field itself stays as it is. */
export const checkField = checked(
  'checkField',
  'async field:field',
  async (field: Field): Promise<CheckReport> => {
    const { runtime: rt, options, device } = field;
    const { sensorDim, model } = options.shape;
    const input = (t: number): Float32Array =>
      Float32Array.from({ length: sensorDim }, (_, i) => Math.sin(0.1 * t + i) * 0.5);
    const fresh = (at = device): Field => new Field(rt, options, { device: at, reason: 'check' }, false);
    const host = rt.device(device).caps.host === true;
    const checks: FieldCheck[] = [];
    const add = (name: string, passed: boolean, measured: string): void => {
      checks.push({ name, passed, measured });
    };

    const seen = { upload: 0, download: 0, elsewhere: 0, kernels: 0 };
    const ends = [
      rt.on('upload', () => seen.upload++),
      rt.on('download', () => seen.download++),
      rt.on('replay', (e) => {
        seen.kernels += e.kernels.length;
        if (e.device !== device) seen.elsewhere++;
      }),
    ];
    let failed = 0;
    let motors: number[] = [];
    const first = fresh();
    try {
      for (let t = 0; t < warmUp; t++) await first.step(input(t));
      const before = { ...seen, reserved: rt.memory.snapshot(device).reservedMb };
      for (let t = 0; t < cycles; t++)
        await first.step(input(t)).then(
          (r) => {
            motors = [...r.motors];
          },
          () => failed++,
        );
      const grown = rt.memory.snapshot(device).reservedMb - before.reserved;
      const per = (n: number): number => n / cycles;
      const [up, down] = [per(seen.upload - before.upload), per(seen.download - before.download)];
      add(
        'runs on its device',
        seen.elsewhere === 0 && seen.kernels > 0,
        `${seen.kernels} kernels on ${device}, ${seen.elsewhere} cycles elsewhere`,
      );
      add('one upload and one download per cycle', up === 1 && down === 1, `${up} up, ${down} down`);
      add('no new memory per cycle', grown === 0, `${grown} MiB in ${cycles} cycles`);
      add(
        'launches',
        first.kernels.length <= mostLaunches[model],
        `${first.kernels.length} of at most ${mostLaunches[model]}`,
      );
      add('no failed cycle', failed === 0, `${failed} of ${cycles} failed`);
    } finally {
      for (const end of ends) end();
      await first.dispose();
    }
    const again = await motorsOf(fresh(), input);
    add(
      'the same bits for the same seed',
      again.every((m, i) => m === motors[i]),
      `motors differ by ${distance(again, motors)}`,
    );
    const cpu = rt.devices().find((d) => d.open && rt.device(d.id).caps.host === true)?.id;
    if (!host && cpu !== undefined) {
      const off = distance(await motorsOf(fresh(cpu), input), motors);
      add('equal to the CPU', off <= 1e-3, `motors differ by ${off} after ${warmUp + cycles} cycles`);
    }
    return { passed: checks.every((c) => c.passed), device, checks };
  },
  fieldKinds,
);

async function motorsOf(field: Field, input: (t: number) => Float32Array): Promise<number[]> {
  try {
    let motors: number[] = [];
    for (let t = 0; t < warmUp; t++) await field.step(input(t));
    for (let t = 0; t < cycles; t++) motors = [...(await field.step(input(t))).motors];
    return motors;
  } finally {
    await field.dispose();
  }
}

const distance = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((most, v, i) => Math.max(most, Math.abs(v - b[i]!)), 0);
