// How a field comes to be: options checked, a device chosen by what it computes, a field made on it.

import { createRuntime, type DeviceId, type Runtime } from '../index.ts';
import { chooseDevice, type DeviceChoice, type Probe } from './device.ts';
import { FieldFileError } from './errors.ts';
import type { Field } from './field.ts';
import { type FieldOptions, type ResolvedField, resolveField } from './options.ts';
import { type FieldSettings, settingRows } from './settings.ts';
import type { FieldSnapshot } from './snapshot.ts';

/** Makes a field: its class hands itself in. */
export type MakeField = (rt: Runtime, options: ResolvedField, choice: DeviceChoice, ownsRuntime: boolean) => Field;

export async function openField(options: FieldOptions, make: MakeField): Promise<Field> {
  const resolved = resolveField(options);
  const rt = options.runtime ?? (await createRuntime());
  try {
    const choice = await chooseDevice(rt, options, probeOf(rt, resolved, make));
    if (options.quiet === false) console.info(`field on ${choice.device}: ${choice.reason}`);
    return make(rt, resolved, choice, options.runtime === undefined);
  } catch (e) {
    if (!options.runtime) await rt.close();
    throw e;
  }
}

/** Where a field lives. */
export type FieldPlace = Pick<FieldOptions, 'device' | 'forceGPU' | 'runtime' | 'quiet'>;

/** A field with the options and the state of a snapshot, which is named in errors. */
export async function fieldFrom(
  snapshot: FieldSnapshot,
  options: FieldPlace,
  make: MakeField,
  name: string,
): Promise<Field> {
  const saved = savedOptions(snapshot, name);
  const field = await openField({ ...saved, ...options }, make);
  try {
    await field.restore(snapshot);
    return field;
  } catch (e) {
    await field.dispose();
    throw e;
  }
}

/** The options of a snapshot as `createField` takes them; what they say may make no sense. */
function savedOptions(snapshot: FieldSnapshot, name: string): FieldOptions {
  try {
    const { shape, settings, boundary, telemetry } = snapshot.options;
    const { edges, layout, ...sizes } = shape;
    const own = Object.entries(settings).filter(([key]) =>
      settingRows[key as keyof FieldSettings]?.models.includes(shape.model),
    );
    const made = {
      ...sizes,
      resolution: edges,
      channels: layout,
      settings: Object.fromEntries(own),
      boundary,
      telemetry,
      seed: snapshot.seed,
    };
    resolveField(made);
    return made;
  } catch (cause) {
    throw new FieldFileError({
      where: 'load',
      problem: `${name}: its options make no sense: ${(cause as Error).message.split('\n')[0]}`,
      fix: 'Use a file that save() wrote, or an older copy of it.',
      cause,
    });
  }
}

/** Cycles that a device must do as the CPU does, and how far it may be off. */
const probeCycles = 2;
const probeTolerance = 1e-4;

/** A small field of the same kind, on the device and on the CPU of the runtime, where there is one. */
function probeOf(rt: Runtime, { shape, ...rest }: ResolvedField, make: MakeField): Probe {
  const cpu = rt.devices().find((d) => d.open && rt.device(d.id).caps.host === true)?.id;
  const small: ResolvedField = { ...rest, shape: { ...shape, edges: [4, 4, 4] } };
  const cycles = async (device: DeviceId): Promise<number[]> => {
    await using field = make(rt, small, { device, reason: 'probe' }, false);
    const seen: number[] = [];
    for (let i = 0; i < probeCycles; i++) {
      const { motors, state } = await field.step(new Float32Array(shape.sensorDim).fill(0.3));
      seen.push(...motors, state.energy, state.maxActivation);
    }
    return seen;
  };
  let right: Promise<number[]> | null = null;
  return async (device) => {
    try {
      const got = await cycles(device);
      if (!got.every(Number.isFinite)) return 'its first cycles gave values that are no numbers';
      if (cpu === undefined) return null;
      right ??= cycles(cpu);
      const expected = await right;
      const off = got.reduce(
        (most, v, i) => Math.max(most, Math.abs(v - expected[i]!) / Math.max(1, Math.abs(expected[i]!))),
        0,
      );
      return off <= probeTolerance ? null : `its first cycles differ from the CPU's by ${off.toExponential(1)}`;
    } catch (e) {
      return `its first cycles failed: ${(e as Error).message.split('\n')[0]}`;
    }
  };
}
