// The buffers of a launch: what each piece of work reads and writes, in launch order.
//
// Devices compare it with what they are given, so that no launch can reach beyond a buffer, and know work that writes nothing.

import type { BufferParam, Kernel, Routine } from './kernel.ts';

export interface Bindings {
  readonly inputs: readonly BufferParam[];
  readonly outputs: readonly BufferParam[];
}

const product = (...sizes: readonly number[]): number => {
  let n = 1;
  for (const size of sizes) {
    // A count that was divided by an empty extent is no number: there is nothing of it either way.
    if (size === 0) return 0;
    n *= size;
  }
  return n;
};

export function bindingsOf(work: Kernel | Routine): Bindings {
  if (work.kind === 'kernel') {
    const elements = product(...work.space);
    return { inputs: work.inputs, outputs: work.outputs.map(({ type }) => ({ type, elements })) };
  }
  switch (work.op) {
    case 'matmul': {
      const { type, m, n, k, epilogue } = work;
      const operands = [product(m, k, work.batchA), product(k, n, work.batchB)].map((elements) => ({ type, elements }));
      const result = { type: epilogue?.output.type ?? type, elements: product(m, n, work.batch) };
      return { inputs: [...operands, ...(epilogue?.inputs ?? [])], outputs: [result] };
    }
    case 'attention': {
      const { type, queries, keys, depth, width, scores } = work;
      const operands = [
        product(work.batchQ, queries, depth),
        product(work.batchK, keys, depth),
        product(work.batchV, keys, width),
      ].map((elements) => ({ type, elements }));
      const result = { type, elements: product(work.batch, queries, width) };
      return { inputs: [...operands, ...scores.inputs], outputs: [result] };
    }
    case 'products': {
      const one = bindingsOf(work.product);
      const each = (of: BufferParam): BufferParam[] => new Array<BufferParam>(work.count).fill(of);
      return { inputs: one.inputs.flatMap(each), outputs: one.outputs.flatMap(each) };
    }
    case 'sort': {
      const values = { type: work.type, elements: product(work.columns, work.rows) };
      const positions = { type: 'i32', elements: values.elements } as const;
      return { inputs: [values], outputs: work.valuesOnly ? [values] : [values, positions] };
    }
    case 'topk': {
      const elements = product(work.count, work.rows);
      const input = { type: work.type, elements: product(work.columns, work.rows) };
      return {
        inputs: [input],
        outputs: [
          { type: work.type, elements },
          { type: 'i32', elements },
        ],
      };
    }
    case 'scan': {
      const elements = product(work.length, work.inner, work.outer);
      return { inputs: [{ type: work.from ?? work.type, elements }], outputs: [{ type: work.type, elements }] };
    }
    case 'scatter': {
      const { type, inner, outer, count, perElement, uniform } = work;
      const base = { type, elements: product(work.length, inner, outer) };
      const all = product(inner, outer, count);
      const updates = { type, elements: uniform ? 1 : all };
      const at = { type: 'i32', elements: perElement ? all : product(count) } as const;
      return { inputs: [base, at, updates], outputs: [base] };
    }
    case 'compact': {
      const { type, what, length, count } = work;
      const flags = { type: 'bool', elements: length } as const;
      return {
        inputs: what === 'values' ? [flags, { type, elements: length }] : [flags],
        outputs: [{ type, elements: count }],
      };
    }
    case 'fourier': {
      const { type, rows, length, form, frequencies } = work;
      const values = { type, elements: product(rows, length) };
      const part = { type, elements: product(rows, frequencies) };
      if (form === 'hermitian') return { inputs: [part, part], outputs: [values] };
      return { inputs: form === 'complex' ? [values, values] : [values], outputs: [part, part] };
    }
    case 'rows':
    case 'raw':
      return work;
    default:
      return work satisfies never;
  }
}

/** Whether the work writes nothing, so that it does not matter what it reads. */
export function writesNothing(work: Kernel | Routine): boolean {
  // A raw kernel may have effects that its buffers do not show, unless all it could write is empty.
  const { outputs } = bindingsOf(work);
  return outputs.length > 0 && outputs.every((o) => o.elements === 0);
}
