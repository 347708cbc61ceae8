// What the benches of layers are asked for on the command line.

import { createRuntime, type DeviceKind } from '../../src/index.ts';

export const args = process.argv.slice(2);

/** The word behind `--name`. */
export const option = (name: string): string | undefined => {
  const i = args.indexOf(`--${name}`);
  return i < 0 ? undefined : args[i + 1];
};

/** The kind of device to measure: `--devices`, else CUDA where it is, else the CPU. */
export async function kindToMeasure(): Promise<DeviceKind> {
  const asked = option('devices');
  if (asked) return asked as DeviceKind;
  const rt = await createRuntime({ devices: ['cuda', 'cpu'], routing: { mode: 'off' } });
  const there = rt.devices().some((d) => d.open && d.id.startsWith('cuda'));
  await rt.close();
  return there ? 'cuda' : 'cpu';
}
