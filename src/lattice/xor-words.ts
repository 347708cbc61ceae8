// XOR of long arrays, sixteen bytes at a time in WebAssembly: a loop in JavaScript checks both arrays at every word, which takes longer
// than the words.
//
// Pieces are copied into a memory of its own that stays in the processor's caches, combined there, and copied out. The code is
//
//   (func (export "x") (param $to i32) (param $by i32) (param $end i32)
//     (loop $next                                          ;; 64 bytes a time; what lies behind the end of a piece does no harm
//       (v128.store offset=0 (local.get $to)
//         (v128.xor (v128.load offset=0 (local.get $to)) (v128.load offset=0 (local.get $by))))
//       … the same at 16, 32 and 48 …
//       (local.set $to (i32.add (local.get $to) (i32.const 64)))
//       (br_if $next (i32.lt_u (local.tee $by (i32.add (local.get $by) (i32.const 64))) (local.get $end)))))

const code =
  '0061736d0100000001070160037f7f7f000208010165016d02000003020100070501017800000a6c016a0003402000' +
  '2000fd0004002001fd000400fd51fd0b040020002000fd0004102001fd000410fd51fd0b0410' +
  '20002000fd0004202001fd000420fd51fd0b042020002000fd0004302001fd000430fd51fd0b0430' +
  '200041c0006a2100200141c0006a22012002490d000b0b';

/** Both pieces fit the first cache. */
const pieceBytes = 2 ** 13;

interface Machine {
  readonly to: Uint8Array;
  readonly by: Uint8Array;
  /** Combines the first bytes of both, into `to`. */
  run(bytes: number): void;
}

let machine: Machine | null | undefined;

/** Made when it is first needed; null where there is no WebAssembly, or none with vectors. */
function machineOf(): Machine | null {
  if (machine !== undefined) return machine;
  try {
    const memory = new WebAssembly.Memory({ initial: 1 });
    const bytes = Uint8Array.from(code.match(/../g)!, (pair) => Number.parseInt(pair, 16));
    const { x } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { e: { m: memory } }).exports;
    const combine = x as (to: number, by: number, end: number) => void;
    machine = {
      to: new Uint8Array(memory.buffer, 0, pieceBytes),
      by: new Uint8Array(memory.buffer, pieceBytes, pieceBytes),
      run: (count) => combine(0, pieceBytes, pieceBytes + count),
    };
  } catch {
    machine = null;
  }
  return machine;
}

/** to = from ^ by, all of one length above 0. False if it cannot be done here: then nothing was written. */
export function xorInPieces(to: Uint8Array, from: Uint8Array, by: Uint8Array): boolean {
  const m = machineOf();
  if (!m) return false;
  for (let at = 0; at < to.length; at += pieceBytes) {
    const end = Math.min(at + pieceBytes, to.length);
    m.to.set(from.subarray(at, end));
    m.by.set(by.subarray(at, end));
    m.run(end - at);
    to.set(end - at === pieceBytes ? m.to : m.to.subarray(0, end - at), at);
  }
  return true;
}
