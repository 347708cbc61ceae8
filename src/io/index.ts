// Reading and writing the array files of other programs: .npy and .npz of NumPy, safetensors.
//
// `read…` and `write…` speak tensors; `parse…` and `format…` speak bytes and records. A file that is truncated, damaged or lies about
// itself gives a FormatError that says where; nothing is allocated by a size that the file merely claims.

export { formatNpy, parseNpy } from './npy.ts';
export { formatNpz, type NpzOptions, parseNpz } from './npz.ts';
export type { ArrayRecord } from './record.ts';
export { formatSafetensors, parseSafetensors, type Safetensors } from './safetensors.ts';
export {
  readNpy,
  readNpz,
  readSafetensors,
  type Source,
  type TensorRecord,
  writeNpy,
  writeNpz,
  writeSafetensors,
} from './tensors.ts';
