// The foreign-function port: all that the CUDA device asks of an FFI.
//
// Everything crosses as plain numbers: handles, device pointers and host addresses are 64-bit integers below 2^53, so no
// call allocates. Memory that foreign code reads or writes is a typed array whose address was taken once with `address`;
// its ArrayBuffer must stay referenced as long as foreign code may use it.

export type ForeignType = 'i32' | 'u32' | 'u64' | 'f32' | 'f64';

export interface ForeignFunction {
  (...args: number[]): number;
  /** Runs the call on another thread: for waits that block, never for launches. */
  threaded(...args: number[]): Promise<number>;
}

export interface ForeignLibrary {
  /** The name under which it was found. */
  readonly path: string;
  /** Undefined if the library has no such symbol. */
  bind(symbol: string, result: ForeignType, args: readonly ForeignType[]): ForeignFunction | undefined;
}

export interface Ffi {
  readonly name: string;
  /** The first library that loads; throws an Error with one line per name if none does. */
  open(names: readonly string[]): ForeignLibrary;
  /** Where the array's bytes are. They do not move: V8 keeps the contents of an ArrayBuffer outside its heap. */
  address(array: ArrayBufferView): number;
  /** Foreign memory as an ArrayBuffer, without a copy. The memory must outlive every use of the result. */
  view(address: number, bytes: number): ArrayBuffer;
  /** The zero-terminated text at an address. */
  text(address: number): string;
}
