// Why a computation cannot run where it is asked to, and what to do about it.

import { type DType, dtypeInfo } from '../base/dtype.ts';
import type { Place } from '../devices/place.ts';
import { DeviceLost, DeviceUnavailable, DTypeError, OutOfMemory } from '../errors.ts';
import { args } from '../graph/args.ts';
import type { Node } from '../graph/node.ts';
import type { Plan } from '../graph/plan.ts';
import type { AluOp } from '../kernel/ops.ts';
import { anywhere, type Want } from './want.ts';
import { reachable } from './whereabouts.ts';

/** No place can do it. */
export function noPlace(
  places: readonly Place[],
  dtypes: number,
  want: Want = anywhere,
  leaves: readonly Node[] = [],
  nodes: readonly Node[] = leaves,
): Error {
  const fitting = places.filter((p) => (dtypes & ~p.dtypes) === 0);
  const [first] = places;
  if (fitting.length === 0) {
    const { made, fix } = originOf(nodes, first!);
    return new DTypeError({
      code: 'DTYPE_NOT_ON_DEVICE',
      message: `${first!.id} has no ${missingAt(first!, dtypes)}${made}, and no other device is open that has all dtypes of this computation`,
      fix: `${fix ?? "Cast to a dtype the device has, such as 'f32' or 'i32'"}, or open the CPU device too.`,
      where: first!.id,
    });
  }
  const alive = fitting.filter((p) => p.alive);
  if (alive.length === 0) {
    return new DeviceLost({
      code: 'DEVICE_LOST',
      message: `${fitting.map((p) => p.id).join(', ')} was lost, and no other device is open that could do the work`,
      fix: "Open the CPU device too (devices: ['cuda', 'webgpu', 'cpu']), or wait until the device is back.",
      where: fitting[0]!.id,
    });
  }
  if (want.sync && !alive.some((p) => p.caps.syncRead)) return asyncOnly(alive[0]!.id);
  const able = alive.filter((p) => !want.sync || p.caps.syncRead);
  return (able[0] && unreadable(able[0], leaves)) ?? needsAsync(alive[0]!.id, 'the host');
}

export function pinnedAway(
  pin: Place,
  dtypes: number,
  want: Want = anywhere,
  leaves: readonly Node[] = [],
  nodes: readonly Node[] = leaves,
): Error {
  if (!pin.alive) return lostPin(pin);
  const missing = missingAt(pin, dtypes);
  if (missing) {
    const { made, fix } = originOf(nodes, pin);
    return new DTypeError({
      code: 'DTYPE_NOT_ON_DEVICE',
      message: `the computation is pinned to ${pin.id}, which has no ${missing}${made}`,
      fix: `${fix ?? 'Cast to a dtype the device has'}, or pin it to another device.`,
      where: pin.id,
    });
  }
  return unreadable(pin, leaves) ?? needsAsync(pin.id, want.sync ? 'the host' : 'another device');
}

/** The dtypes that a place lacks. */
const missingAt = (place: Place, dtypes: number): string =>
  Object.entries(dtypeInfo)
    .filter(([, info]) => dtypes & (1 << info.id) && !(place.dtypes & (1 << info.id)))
    .map(([name]) => name)
    .join(', ');

/** Which op of a program made a dtype that a place lacks, and what to write instead. Sources come before users. */
function originOf(nodes: readonly Node[], place: Place): { readonly made: string; readonly fix?: string } {
  const lacks = ({ dtype }: Node): boolean => (place.dtypes & (1 << dtypeInfo[dtype].id)) === 0;
  const first = nodes.find((n) => n.op === 'cast' && lacks(n) && n.sources.some((s) => !lacks(s)));
  const user = first && userOf(first, nodes);
  if (!user) return { made: '' };
  const op = nameOf(user);
  const given = [...new Set(operandsOf(user, first.dtype).map((s) => s.dtype))];
  if (given.length > 1) {
    const made = ` (${op} of ${given.join(' and ')} takes ${first.dtype})`;
    return { made, fix: "Cast the operands to one dtype that the device has, such as x.cast('f32')" };
  }
  const made = ` (${op} makes ${first.dtype} of ${first.sources[0]!.dtype})`;
  if (first.dtype === 'f64') return { made, fix: `Cast first: x.cast('f32').${op}(…)` };
  if (!(op in sums)) return { made };
  return { made, fix: `Write ${op}(${sums[op]}) if every result is below 2³¹, or cast first: x.cast('f32').${op}(…)` };
}

const moves: ReadonlySet<Node['op']> = new Set(['expand', 'reshape', 'permute']);

/** The op that a value was cast for: the first that does more than spread or turn it. */
function userOf(value: Node, nodes: readonly Node[]): Node | undefined {
  const user = nodes.find((n) => n.sources.includes(value));
  return user && moves.has(user.op) ? userOf(user, nodes) : user;
}

/** The operands that have to agree, as they were before they were cast to a dtype; numbers take any. */
function operandsOf(node: Node, dtype: DType): Node[] {
  const chosen = node.op === 'alu' && args.aluOf(node) === 'where' ? node.sources.slice(1) : node.sources;
  return chosen.map((s) => before(s, dtype)).filter((s) => s.op !== 'const');
}

/** What was cast to a dtype, spread and turned to become a value, as far as that is known: a computed value has let go of its sources. */
function before(node: Node, dtype: DType): Node {
  const same = node.op === 'cast' ? node.dtype === dtype : moves.has(node.op);
  const [source] = node.sources;
  return same && source ? before(source, dtype) : node;
}

/** How sums and products are asked for in i32. */
const sums: Readonly<Record<string, string>> = {
  sum: "{ dtype: 'i32' }",
  prod: "{ dtype: 'i32' }",
  cumsum: "axis, { dtype: 'i32' }",
  cumprod: "axis, { dtype: 'i32' }",
};

/** What ops of kernels are called where their names differ; a `greater` is a `less` with its operands exchanged. */
const calls: Readonly<Partial<Record<AluOp, string>>> = {
  eq: 'equal',
  ne: 'notEqual',
  lt: 'a comparison',
  le: 'a comparison',
  max: 'maximum',
  min: 'minimum',
  idiv: 'floorDivide',
  imod: 'mod',
  shl: 'leftShift',
  shr: 'rightShift',
  and: 'bitwiseAnd',
  or: 'bitwiseOr',
  xor: 'bitwiseXor',
};

/** The op of a node as it is called. Integers are summed as floats only on the way to their mean. */
function nameOf(node: Node): string {
  if (node.op === 'alu' || node.op === 'aluNumber') return calls[args.aluOf(node)] ?? args.aluOf(node);
  if (node.op === 'scan') return `cum${args.scanOf(node).combine}`;
  if (node.op !== 'reduce') return node.op;
  return node.dtype === 'f64' ? 'mean' : args.reduceOf(node).op;
}

/** Which input cannot be brought to a place at once, if there is one. */
function unreadable(to: Place, leaves: readonly Node[]): DeviceUnavailable | null {
  const far = leaves.find((l) => !reachable([l], to));
  return far ? needsAsync(far.storage?.place?.id ?? 'another device', to.id) : null;
}

export const lostPin = (pin: Place): DeviceLost =>
  new DeviceLost({
    code: 'DEVICE_LOST',
    message: `the computation is pinned to ${pin.id}, which was lost`,
    fix: 'Pin it to another device, or wait until the device is back.',
    where: pin.id,
  });

function needsAsync(from: string, to: string): DeviceUnavailable {
  return new DeviceUnavailable({
    code: 'NEEDS_ASYNC',
    message: `data on ${from} is needed on ${to}, and ${from} cannot be read synchronously`,
    fix: 'Use `await tensor.data()` instead of the synchronous form.',
    where: to,
  });
}

export function asyncOnly(device: string): DeviceUnavailable {
  return new DeviceUnavailable({
    code: 'NO_SYNC_READ',
    message: `${device} cannot be read synchronously`,
    fix: 'Use `await tensor.data()`.',
    where: device,
  });
}

/** Refuses a plan with a result that is larger than one buffer can be. */
export function checkSizes(plan: Plan, place: Place): void {
  for (const { bytes } of plan.made) {
    if (bytes <= place.caps.maxBufferBytes) continue;
    throw new OutOfMemory({
      code: 'BUFFER_TOO_LARGE',
      message: `${place.id}: a result of ${bytes} bytes is larger than one buffer can be (${place.caps.maxBufferBytes} bytes)`,
      fix: 'Process the data in parts, or use a device with larger buffers.',
      where: place.id,
      requested: bytes,
      available: place.caps.maxBufferBytes,
    });
  }
}
