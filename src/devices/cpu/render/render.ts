// Kernel → WebAssembly module.

import { KernelError } from '../../../errors.ts';
import { Exprs } from '../../../kernel/expr.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import { WasmModule } from '../wasm/module.ts';
import { moduleText } from '../wasm/text.ts';
import { renderMap } from './map.ts';
import type { RenderOptions, WasmKernel } from './module.ts';
import { renderReduction } from './reduce.ts';
import { substitute } from './segments.ts';
import { unfolded } from './unfold.ts';
import { fitPositions } from './wide.ts';

export function renderKernel(kernel: Kernel, options: RenderOptions): WasmKernel {
  try {
    return render(kernel, options);
  } catch (cause) {
    if (cause instanceof KernelError) throw cause;
    throw new KernelError({
      code: 'RENDER_FAILED',
      message: `cpu: kernel ${kernel.name} could not be rendered: ${cause instanceof Error ? cause.message : cause}`,
      fix: 'This is a defect of the renderer: please report it with the kernel as explain() prints it.',
      where: kernel.name,
      source: '',
      cause,
    });
  }
}

function render(given: Kernel, options: RenderOptions): WasmKernel {
  const exprs = new Exprs();
  const kernel = fitPositions(reintern(unfolded(given), exprs), exprs);
  const module = new WasmModule({ module: 'env', name: 'memory', shared: options.shared });
  const rendered = (kernel.accumulators.length > 0 ? renderReduction : renderMap)(kernel, exprs, module, options);
  const bytes = module.bytes();
  return {
    ...rendered,
    bytes,
    get text() {
      return moduleText(bytes);
    },
  };
}

/** The kernel with its expressions in a builder of our own, so that they can be rewritten. */
function reintern(kernel: Kernel, exprs: Exprs): Kernel {
  const roots = [...kernel.accumulators.map((a) => a.value), ...kernel.outputs.map((o) => o.value)];
  const made = substitute(exprs, roots, new Map());
  const n = kernel.accumulators.length;
  return {
    ...kernel,
    accumulators: kernel.accumulators.map((a, i) => ({ ...a, value: made[i]! })),
    outputs: kernel.outputs.map((o, i) => ({ ...o, value: made[n + i]! })),
  };
}
