// The port over koffi, loaded on demand: the package is optional, and importing this file loads nothing.

import type { Ffi, ForeignFunction, ForeignLibrary, ForeignType } from './port.ts';

const names: Readonly<Record<ForeignType, string>> = {
  i32: 'int32_t',
  u32: 'uint32_t',
  u64: 'uint64_t',
  f32: 'float',
  f64: 'double',
};

type KoffiFunction = ((...args: number[]) => number | bigint) & {
  async(...args: (number | ((error: unknown, result: number | bigint) => void))[]): void;
};

/** Throws what `import('koffi')` throws when the package or its prebuilt part is missing. */
export async function koffiFfi(): Promise<Ffi> {
  const { default: koffi } = await import('koffi');

  const open = (candidates: readonly string[]): ForeignLibrary => {
    const failures: string[] = [];
    for (const path of candidates) {
      try {
        const library = koffi.load(path);
        return { path, bind: (symbol, result, args) => bind(library, symbol, result, args) };
      } catch (error) {
        failures.push(`${path}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    throw new Error(failures.join('\n'));
  };

  type Library = ReturnType<typeof koffi.load>;
  const bind = (library: Library, symbol: string, result: ForeignType, args: readonly ForeignType[]) => {
    let call: KoffiFunction;
    try {
      call = library.func(
        symbol,
        names[result],
        args.map((a) => names[a]),
      ) as KoffiFunction;
    } catch {
      return undefined;
    }
    const threaded = (...values: number[]): Promise<number> =>
      new Promise((resolve, reject) => {
        call.async(...values, (error, value) => (error ? reject(error) : resolve(Number(value))));
      });
    return Object.assign(call, { threaded }) as unknown as ForeignFunction;
  };

  return {
    name: `koffi ${koffi.version}`,
    open,
    address: (array) => Number(koffi.address(array)),
    view: (address, bytes) => koffi.view(BigInt(address), bytes),
    text: (address) => koffi.decode.string(BigInt(address)),
  };
}
