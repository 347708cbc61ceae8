// Everything a field is, as plain data: what is saved, restored and compared. Nothing in it can run.

import type { DType } from '../index.ts';
import { FieldFileError } from './errors.ts';
import type { ResolvedField } from './options.ts';

export const snapshotSchema = 'gpuforge.field/1';

export interface SavedTensor {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Little-endian. */
  readonly bytes: Uint8Array;
}

export interface FieldSnapshot {
  readonly schema: typeof snapshotSchema;
  readonly options: ResolvedField;
  readonly seed: number;
  readonly cycle: number;
  /** Numbers, lists and texts of the host's part. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly tensors: Readonly<Record<string, SavedTensor>>;
}

const arrays = { f32: Float32Array, f64: Float64Array, i32: Int32Array } as const;
type HostArray = Float32Array | Float64Array | Int32Array;

export function savedArray(values: HostArray, shape: readonly number[] = [values.length]): SavedTensor {
  const dtype = (Object.keys(arrays) as (keyof typeof arrays)[]).find((d) => values instanceof arrays[d])!;
  return { dtype, shape, bytes: new Uint8Array(values.buffer, values.byteOffset, values.byteLength).slice() };
}

export function loadedArray<T extends HostArray>(saved: SavedTensor): T {
  const kind = arrays[saved.dtype as keyof typeof arrays];
  return new kind(saved.bytes.slice().buffer) as T;
}

/** Refuses a snapshot of another kind of field, and says what differs. */
export function checkFits(snapshot: FieldSnapshot, own: ResolvedField, where: string): void {
  const differs = (['shape', 'boundary'] as const).flatMap((part) => {
    const [a, b] = [JSON.stringify(snapshot.options[part]), JSON.stringify(own[part])];
    return a === b ? [] : [`${part} ${a}, not ${b}`];
  });
  if (differs.length === 0) return;
  throw new FieldFileError({
    where,
    problem: `the snapshot is of another field: ${differs.join('; ')}`,
    fix: 'Make a field with the same sizes, or Field.load(file), which makes one.',
  });
}
