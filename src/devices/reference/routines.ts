// The routines, one element at a time, straight from their definitions in kernel.ts.

import { accumulatorFor, type DType, isFloat } from '../../base/dtype.ts';
import { sizeOf } from '../../base/shape.ts';
import { Exprs } from '../../kernel/expr.ts';
import type {
  Attention,
  Compact,
  Epilogue,
  Kernel,
  Matmul,
  Products,
  Routine,
  Rows,
  Scan,
  Scatter,
  Sort,
  TopK,
} from '../../kernel/kernel.ts';
import { combineOp } from '../../kernel/ops.ts';
import { castValue, meaning, roundTo, type Value } from '../../kernel/semantics.ts';
import { fourier } from './fourier.ts';
import { type Elements, interpret } from './interpret.ts';

type Run<R extends Routine> = (
  routine: R,
  buffers: readonly Elements[],
  scalars: readonly number[],
  scratch: (type: DType, n: number) => Elements,
) => void;

const add = (t: DType) => meaning('add', t)!;
const mul = (t: DType) => meaning('mul', t)!;
const wrap = (t: DType): ((v: Value) => Value) => (isFloat(t) ? (v) => v : roundTo[t]);

const matmul: Run<Matmul> = (r, buffers, scalars, scratch) => {
  const [a, b] = buffers as [Elements, Elements];
  const out = buffers[buffers.length - 1]!;
  const product = r.epilogue ? scratch(r.type, r.batch * r.m * r.n) : out;
  const type = r.type;
  const [plus, times, fix] = [add(type), mul(type), wrap(type)];
  const zero = type === 'i64' || type === 'u64' ? 0n : 0;
  for (let batch = 0; batch < r.batch; batch++) {
    const atA = (r.batchA === 1 ? 0 : batch) * r.m * r.k;
    const atB = (r.batchB === 1 ? 0 : batch) * r.k * r.n;
    for (let i = 0; i < r.m; i++) {
      for (let j = 0; j < r.n; j++) {
        let sum: Value = zero;
        for (let k = 0; k < r.k; k++) {
          const x = a.get(atA + (r.transposeA ? k * r.m + i : i * r.k + k));
          const y = b.get(atB + (r.transposeB ? j * r.k + k : k * r.n + j));
          sum = fix(plus(sum, fix(times(x, y, 0)), 0));
        }
        product.set((batch * r.m + i) * r.n + j, sum);
      }
    }
  }
  const space = [r.batch, r.m, r.n] as const;
  if (r.epilogue) runEpilogue(r.name, space, r.type, r.epilogue, product, buffers.slice(2, -1), out, scalars);
};

// The epilogue as a kernel of its own: its accumulator is read from the product.
function runEpilogue(
  name: string,
  space: readonly [number, number, number],
  acc: DType,
  epilogue: Epilogue,
  product: Elements,
  inputs: readonly Elements[],
  out: Elements,
  scalars: readonly number[],
): void {
  const b = new Exprs();
  const axes = space.map((size, i) => b.axis(i, size));
  const position = b.alu(
    'add',
    b.alu(
      'mul',
      b.alu('add', b.alu('mul', axes[0]!, b.const('index', space[1])), axes[1]!),
      b.const('index', space[2]),
    ),
    axes[2]!,
  );
  const elements = sizeOf(space);
  const kernel: Kernel = {
    kind: 'kernel',
    name: `${name}_epilogue`,
    space,
    reduced: [],
    // The product is read behind the epilogue's own inputs; reducing over nothing, the accumulator is the element itself.
    accumulators: [{ op: 'max', type: acc, value: b.load(acc, epilogue.inputs.length, position) }],
    outputs: [epilogue.output],
    inputs: [...epilogue.inputs, { type: acc, elements }],
    scalars: epilogue.scalars,
    inPlace: [],
    estimate: { flops: 0, bytesRead: 0, bytesWritten: 0 },
  };
  interpret(kernel, [...inputs, product], [out], scalars);
}

const isNaNValue = (v: Value): boolean => typeof v === 'number' && Number.isNaN(v);

/** Of each row `count` are stored, from rank `first` on. */
const sortRows = (r: Sort | TopK, first: number, count: number, buffers: readonly Elements[]): void => {
  const [input, values, positions] = buffers as [Elements, Elements, Elements | undefined];
  for (let row = 0; row < r.rows; row++) {
    const at = row * r.columns;
    const order = Array.from({ length: r.columns }, (_, i) => i);
    // NaN is last in both directions; equal values keep their order.
    order.sort((i, j) => {
      const [x, y] = [input.get(at + i), input.get(at + j)];
      if (isNaNValue(x) || isNaNValue(y)) return Number(isNaNValue(x)) - Number(isNaNValue(y)) || i - j;
      return (x < y ? -1 : x > y ? 1 : 0) * (r.descending ? -1 : 1) || i - j;
    });
    order.slice(first, first + count).forEach((from, to) => {
      values.set(row * count + to, input.get(at + from));
      positions?.set(row * count + to, from);
    });
  }
};

const scan: Run<Scan> = (r, buffers) => {
  const [input, out] = buffers as [Elements, Elements];
  const combine = meaning(combineOp[r.combine], r.type)!;
  const fix = wrap(r.type);
  for (let o = 0; o < r.outer; o++) {
    for (let n = 0; n < r.inner; n++) {
      let acc: Value | undefined;
      for (let step = 0; step < r.length; step++) {
        const i = r.reverse ? r.length - 1 - step : step;
        const at = (o * r.length + i) * r.inner + n;
        const v = r.from ? castValue(input.get(at), r.from, r.type) : input.get(at);
        acc = acc === undefined ? v : fix(combine(acc, v, 0));
        out.set(at, acc);
      }
    }
  }
};

const scatter: Run<Scatter> = (r, buffers, _, scratch) => {
  const [base, at, updates, out] = buffers as [Elements, Elements, Elements, Elements];
  const total = r.outer * r.length * r.inner;
  // Halves are combined in f32 and rounded once, as in all sums of halves.
  const type = accumulatorFor(r.type);
  const combine = r.combine === 'set' ? (_: Value, v: Value) => v : meaning(combineOp[r.combine], type)!;
  const sums = type === r.type ? out : scratch(type, total);
  for (let i = 0; i < total; i++) sums.set(i, base.get(i));
  const placeOf = (given: number): number => {
    const counted = given < 0 && !r.clips ? given + r.length : given;
    return Math.max(0, Math.min(r.length - 1, counted));
  };
  for (let o = 0; o < r.outer; o++) {
    for (let j = 0; j < r.count; j++) {
      for (let n = 0; n < r.inner; n++) {
        const u = (o * r.count + j) * r.inner + n;
        const to = (o * r.length + placeOf(Number(at.get(r.perElement ? u : j)))) * r.inner + n;
        sums.set(to, combine(sums.get(to), updates.get(r.uniform ? 0 : u), 0));
      }
    }
  }
  if (sums !== out) for (let i = 0; i < total; i++) out.set(i, sums.get(i));
};

const compact: Run<Compact> = (r, buffers) => {
  const flags = buffers[0]!;
  const output = buffers[buffers.length - 1]!;
  const found = Array.from({ length: r.length }, (_, i) => i).filter((i) => Number(flags.get(i)) !== 0);
  if (r.what === 'count') output.set(0, found.length);
  else
    for (let i = 0; i < r.count; i++) {
      const at = found[i];
      output.set(i, at === undefined ? 0 : r.what === 'values' ? buffers[1]!.get(at) : at);
    }
};

/** Scores in f32, everything behind them in doubles. */
const attention: Run<Attention> = (r, buffers, scalars, scratch) => {
  const [q, k, v] = buffers as [Elements, Elements, Elements];
  const out = buffers[buffers.length - 1]!;
  const { queries, keys, depth, width } = r;
  const scores = scratch('f32', r.batch * queries * keys);
  const own = (count: number, batch: number, size: number): number => (count === 1 ? 0 : batch * size);
  for (let batch = 0, at = 0; batch < r.batch; batch++) {
    const atQ = own(r.batchQ, batch, queries * depth);
    const atK = own(r.batchK, batch, keys * depth);
    for (let i = 0; i < queries; i++) {
      for (let j = 0; j < keys; j++) {
        let sum = 0;
        for (let d = 0; d < depth; d++)
          sum += (q.get(atQ + i * depth + d) as number) * (k.get(atK + j * depth + d) as number);
        scores.set(at++, Math.fround(sum));
      }
    }
  }
  const changed = scratch('f32', r.batch * queries * keys);
  runEpilogue(r.name, [r.batch, queries, keys], 'f32', r.scores, scores, buffers.slice(3, -1), changed, scalars);
  for (let row = 0; row < r.batch * queries; row++) {
    const line = Array.from({ length: keys }, (_, j) => changed.get(row * keys + j) as number);
    const top = line.reduce((x, y) => Math.max(x, y), Number.NEGATIVE_INFINITY);
    const weights = line.map((s) => Math.exp(s - (Number.isFinite(top) ? top : 0)));
    const sum = weights.reduce((x, y) => x + y, 0);
    const atV = own(r.batchV, Math.floor(row / queries), keys * width);
    for (let c = 0; c < width; c++) {
      const result = weights.reduce((x, w, j) => x + (w / sum) * (v.get(atV + j * width + c) as number), 0);
      out.set(row * width + c, roundTo[r.type](result));
    }
  }
};

/** Stage by stage, with every result in memory of its own. */
const rows: Run<Rows> = (stack, buffers, scalars, scratch) => {
  const results: Elements[] = [];
  for (const { kernel, sources, stored, scalars: slots } of stack.stages) {
    const inputs = sources.map((s) => ('buffer' in s ? buffers[s.buffer]! : results[s.result]!));
    const size = sizeOf(kernel.space);
    const outputs = kernel.outputs.map(({ type }, k) => (stored[k]! >= 0 ? buffers[stored[k]!]! : scratch(type, size)));
    interpret(
      kernel,
      inputs,
      outputs,
      slots.map((s) => scalars[s]!),
    );
    results.push(...outputs);
  }
};

const products: Run<Products> = ({ product, count }, buffers, scalars, scratch) => {
  for (let i = 0; i < count; i++)
    matmul(product, [buffers[i]!, buffers[count + i]!, buffers[2 * count + i]!], scalars, scratch);
};

export function runRoutine(
  routine: Routine,
  buffers: readonly Elements[],
  scalars: readonly number[],
  scratch: (type: DType, n: number) => Elements,
): void {
  switch (routine.op) {
    case 'matmul':
      matmul(routine, buffers, scalars, scratch);
      break;
    case 'products':
      products(routine, buffers, scalars, scratch);
      break;
    case 'attention':
      attention(routine, buffers, scalars, scratch);
      break;
    case 'sort':
      sortRows(routine, 0, routine.columns, buffers);
      break;
    case 'topk':
      sortRows(routine, routine.first, routine.count, buffers);
      break;
    case 'scan':
      scan(routine, buffers, scalars, scratch);
      break;
    case 'scatter':
      scatter(routine, buffers, scalars, scratch);
      break;
    case 'compact':
      compact(routine, buffers, scalars, scratch);
      break;
    case 'rows':
      rows(routine, buffers, scalars, scratch);
      break;
    case 'fourier':
      fourier(routine, buffers);
      break;
    case 'raw':
      throw new Error(`reference: ${routine.name}: raw ${routine.language} kernels run on their own device only`);
    default:
      routine satisfies never;
  }
}
