// Whether the engine has relaxed SIMD, whose fused multiply-add doubles the speed of matrix products.

import { WasmModule } from '../wasm/module.ts';

let known: boolean | undefined;

export function relaxedSimd(): boolean {
  if (known === undefined) {
    const module = new WasmModule({ module: 'env', name: 'memory', shared: false });
    module.func(['v128', 'v128', 'v128'], ['v128']).code.get(0).get(1).get(2).op('f32x4.relaxed_madd');
    known = WebAssembly.validate(module.bytes());
  }
  return known;
}
