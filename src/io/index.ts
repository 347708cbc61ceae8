// Reading and writing the array files of other programs: .npy and .npz of NumPy, safetensors.
//
// Bytes in, records out, and the reverse; no file system, no tensors. A file that is truncated, damaged or lies about
// itself gives a FormatError that says where; nothing is allocated by a size that the file merely claims.

export { formatNpy, parseNpy } from './npy.ts';
export { formatNpz, parseNpz } from './npz.ts';
export type { ArrayRecord } from './record.ts';
export { formatSafetensors, parseSafetensors, type Safetensors } from './safetensors.ts';
