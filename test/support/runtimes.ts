// One runtime for each kind of device, for all tests of a file.

import { createRuntime, type DeviceKind, type Runtime } from '../../src/index.ts';

const open = new Map<DeviceKind, Promise<Runtime>>();

/** One that nobody else has: what it holds is what its test made, whatever the collector takes of other tests meanwhile. */
export const ownRuntime = (kind: DeviceKind): Promise<Runtime> =>
  createRuntime({ devices: [kind], cpu: { threads: 1 }, seed: 1 });

/** The runtime of a kind, opened when it is first asked for; `closeAll` ends them. */
export function runtimeOf(kind: DeviceKind): Promise<Runtime> {
  let rt = open.get(kind);
  if (!rt) open.set(kind, (rt = ownRuntime(kind)));
  return rt;
}

export async function closeAll(): Promise<void> {
  for (const rt of open.values()) await (await rt).close();
  open.clear();
}
