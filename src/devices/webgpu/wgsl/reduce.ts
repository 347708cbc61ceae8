// Kernels with a reduction: threads fold what is theirs, a tree in workgroup memory joins them, and one thread per
// output applies the epilogue. Where several workgroups share an output, or bytes are stored that no single one owns, the
// fold leaves its accumulators in scratch words and a second pass of the same form finishes.

import { sizeOf } from '../../../base/shape.ts';
import { axesOf } from '../../../kernel/bounds.ts';
import type { Kernel } from '../../../kernel/kernel.ts';
import type { Pass, Traits } from '../plan.ts';
import { AccumulatorText } from './accumulators.ts';
import { bindBuffers, type InPlace } from './buffers.ts';
import { outputPositions } from './elementwise.ts';
import { ExpressionWriter, WgslScope } from './expressions.ts';
import { gridOf, unravel } from './grid.ts';
import { Lanes } from './lanes.ts';
import { Module } from './module.ts';
import { lastMoving, planFinish, planReduction, type ReductionPlan } from './reduce-plan.ts';
import { scratchWords, vectorOf, type Width } from './types.ts';

/** Longest run of values that one variable takes in before it is added to the next: keeps the error of long sums small. */
const block = 32;

export interface Reduction {
  readonly passes: readonly Pass[];
  readonly scratch: readonly number[];
}

export function renderReduction(kernel: Kernel, traits: Traits, inPlace: InPlace): Reduction {
  const plan = planReduction(kernel, traits);
  if (!plan.partials) return { passes: [renderPass(kernel, traits, plan, inPlace, 'whole')], scratch: [] };
  const finish = planFinish(kernel, plan.chunks, traits);
  const words = kernel.accumulators.reduce((n, a) => n + (a.op.startsWith('arg') ? 2 : 1), 0);
  return {
    passes: [
      renderPass(kernel, traits, plan, inPlace, 'fold'),
      renderPass(kernel, traits, finish, inPlace, 'finish', plan.chunks),
    ],
    scratch: [words * plan.chunks * paddedOuts(kernel) * 4],
  };
}

const paddedOuts = (kernel: Kernel): number => Math.ceil(sizeOf(kernel.space) / 4) * 4;

type Stage = 'whole' | 'fold' | 'finish';

function renderPass(
  kernel: Kernel,
  traits: Traits,
  plan: ReductionPlan,
  inPlace: InPlace,
  stage: Stage,
  chunks = plan.chunks,
): Pass {
  const { space, reduced } = kernel;
  const { tx, ty, deal } = plan;
  const rank = space.length;
  const count = stage === 'finish' ? chunks : sizeOf(reduced);
  const module = new Module(traits, kernel.scalars);
  const total = sizeOf(space);
  const outputs =
    stage === 'fold'
      ? []
      : kernel.outputs.map((o) => ({ param: { type: o.type, elements: total }, vector: deal.width === 4 }));
  const buffers = bindBuffers(module, kernel.inputs, outputs, inPlace);
  if (stage !== 'whole') {
    module.words('partials', { from: 'scratch', index: 0, access: stage === 'fold' ? 'write' : 'read' });
  }
  const redAxis = plan.lanes === 'red' ? lastMoving(reduced, rank)! : null;
  const lanes =
    plan.lanes === 'none' ? null : new Lanes({ axis: redAxis ?? deal.axis, space, accumulators: plan.lanes === 'out' });
  const writer = new ExpressionWriter(
    module,
    lanes,
    {
      axis: (axis, width) => (width === 4 ? `q${axis}` : `p${axis}`),
      // The result of argmax is the position, the last of its variables.
      acc: (slot) => accs[slot]!.names('r').at(-1)!,
      input: buffers.input,
    },
    [...kernel.accumulators, ...kernel.outputs].map((o) => o.value),
  );
  const accs = kernel.accumulators.map((a, k) => new AccumulatorText(module, a, k));

  const outer = new WgslScope();
  const inner = new WgslScope(outer, (e) => [...axesOf(e)].every((a) => a < rank));
  const width: Width = plan.lanes === 'none' ? 1 : 4;
  const step = ty * (redAxis === null ? 1 : 4);
  const state = { accs, width, redAxis, stage, chunks, stride: paddedOuts(kernel), deal: deal.width };
  const body = stage === 'finish' ? partialValues(state) : foldValues(kernel, writer, inner, state);
  const loop = foldLoop(accs, width, plan, count, step, body);

  const gathered =
    redAxis === null ? accs.flatMap((a) => renamed(a, 'a', 'g')) : accs.flatMap((a) => a.gather('g', 'a'));
  const joined: Width = redAxis === null ? width : 1;
  const tree = joinThreads(module, accs, joined, tx, ty, traits);
  const end = new WgslScope(outer);
  const final =
    stage === 'fold' ? storePartials(state, joined) : storeOutputs(kernel, writer, end, buffers.outputs, deal.width);

  const groups = Math.ceil(plan.items / tx) * plan.chunks;
  const grid = gridOf(groups, traits);
  const positions = outputPositions(space, deal, 'start');
  const text = [
    `let tx = lid % ${tx}u;`,
    `let ty = lid / ${tx}u;`,
    `let group = ${grid.group};`,
    `let chunk = group % ${plan.chunks}u;`,
    `let place = (group / ${plan.chunks}u) * ${tx}u + tx;`,
    // Threads beyond the last output fold it once more and store nothing, so that all reach the barriers.
    `let start = min(place, ${plan.items - 1}u)${deal.width === 4 ? ' * 4u' : ''};`,
    'let at = i32(start);',
    ...positions.lines,
    ...positions.wide,
    ...outer.lines,
    ...loop,
    ...gathered,
    ...tree,
    `if (ty == 0u && place < ${plan.items}u) {`,
    ...end.lines,
    ...final,
    '}',
  ].join('\n');
  const suffix = { whole: '', fold: '_fold', finish: '_finish' }[stage];
  return module.pass(`${kernel.name}${suffix}`, [tx * ty, 1, 1], grid.workgroups, text);
}

interface State {
  readonly accs: readonly AccumulatorText[];
  readonly width: Width;
  readonly redAxis: number | null;
  readonly stage: Stage;
  readonly chunks: number;
  /** Outputs per chunk in the scratch words. */
  readonly stride: number;
  readonly deal: Width;
}

/** Takes the accumulators' expressions at position `r` into the variables `b`. */
function foldValues(kernel: Kernel, writer: ExpressionWriter, inner: WgslScope, s: State): string[] {
  const rank = kernel.space.length;
  const values = kernel.accumulators.map((a) => writer.wide(a.value, inner, s.width));
  const positions = unravel('r', kernel.reduced, (d) => `p${rank + d}`);
  const wide = s.redAxis === null ? [] : [`let q${s.redAxis} = vec4<i32>(p${s.redAxis}) + vec4<i32>(0i, 1i, 2i, 3i);`];
  const at =
    s.redAxis === null ? `${vectorOf('i32', s.width)}(i32(r))` : '(vec4<i32>(i32(r)) + vec4<i32>(0i, 1i, 2i, 3i))';
  return [...positions, ...wide, ...inner.lines, ...s.accs.flatMap((a, k) => a.take('b', [values[k]!, at], s.width))];
}

/** Takes the partial results of chunk `r` into the variables `b`. */
function partialValues(s: State): string[] {
  let word = 0;
  return s.accs.flatMap((a) => {
    const parts = a.types.map((t) => {
      const base = `${word++ * s.chunks}u`;
      const first = `(${base} + r) * ${s.stride}u + start`;
      const text =
        s.deal === 4
          ? `vec4<u32>(${[0, 1, 2, 3].map((l) => `partials[${first} + ${l}u]`).join(', ')})`
          : `partials[${first}]`;
      return scratchWords[t].from(text, s.deal);
    });
    return a.take('b', parts, s.deal);
  });
}

function storePartials(s: State, width: Width): string[] {
  let word = 0;
  return s.accs.flatMap((a) =>
    a.types.flatMap((t, i) => {
      const first = `(${word++ * s.chunks}u + chunk) * ${s.stride}u + start`;
      const name = a.names('r')[i]!;
      const words = scratchWords[t].to(name, width);
      if (width === 1) return [`partials[${first}] = ${words};`];
      return [
        '{',
        `let w = ${words};`,
        ...['x', 'y', 'z', 'w'].map((l, k) => `partials[${first} + ${k}u] = w.${l};`),
        '}',
      ];
    }),
  );
}

function storeOutputs(
  kernel: Kernel,
  writer: ExpressionWriter,
  scope: WgslScope,
  outputs: ReturnType<typeof bindBuffers>['outputs'],
  width: Width,
): string[] {
  const values = kernel.outputs.map((o) => writer.wide(o.value, scope, width));
  return values.map((v, k) => outputs[k]!.store('at', v, width));
}

/** The loop over what one thread folds; long ones in runs, and runs of runs, so that long float sums stay accurate. */
function foldLoop(
  accs: readonly AccumulatorText[],
  width: Width,
  plan: ReductionPlan,
  count: number,
  step: number,
  body: readonly string[],
): string[] {
  const first = `chunk * ${plan.chunk}u + ty * ${step / plan.ty}u`;
  const last = plan.chunks === 1 ? `${count}u` : `min((chunk + 1u) * ${plan.chunk}u, ${count}u)`;
  const declare = (prefix: string): string[] => accs.flatMap((a) => a.declare(prefix, width));
  const head = [...declare('a'), `let last = ${last};`];
  // Of each level a thread adds up at most 2 · block values: of the body, of runs of it, of runs of runs.
  let levels = 0;
  while (Math.ceil(plan.chunk / step) > 2 * block ** (levels + 1)) levels++;
  const nest = (level: number, into: string, from: string, to: string): string[] => {
    if (level === 0) {
      const own = body.join('\n').replaceAll(/\bb(\d+i?(_better)?)\b/g, `${into}$1`);
      return [`for (var r = ${from}; r < ${to}; r += ${step}u) {`, own, '}'];
    }
    const length = step * block ** level;
    const [run, stop, part] = level === 1 ? ['run', 'stop', 'b'] : [`run${level}`, `stop${level}`, `part${level}_`];
    return [
      `for (var ${run} = ${from}; ${run} < ${to}; ${run} += ${length}u) {`,
      ...declare(part),
      `let ${stop} = min(${run} + ${length}u, ${to});`,
      ...nest(level - 1, part, run, stop),
      ...accs.flatMap((acc) => acc.take(into, acc.names(part), width)),
      '}',
    ];
  };
  return [...head, ...nest(levels, 'a', first, 'last')];
}

function renamed(a: AccumulatorText, from: string, to: string): string[] {
  const source = a.names(from);
  return a.names(to).map((n, i) => `let ${n} = ${source[i]};`);
}

/**
 * Joins the ty threads of an output; the result is in the variables `r` of the first of them. A tree in workgroup memory; its
 * last levels, which lie within one subgroup, by shuffles: threads of a row are in subgroups by their order, as the checks make
 * sure of. Both ways add the same pairs in the same order.
 */
function joinThreads(
  module: Module,
  accs: readonly AccumulatorText[],
  width: Width,
  tx: number,
  ty: number,
  traits: Traits,
): string[] {
  if (ty === 1) return accs.flatMap((a) => renamed(a, 'g', 'r'));
  const bools = accs.some((a) => a.types.includes('bool'));
  const shuffled = (half: number): boolean => !bools && 2 * half * tx <= traits.subgroup;
  const lines: string[] = [];
  let half = ty / 2;
  const alone = shuffled(half);
  if (!alone) {
    for (const a of accs) {
      a.names('w').forEach((n, i) => {
        module.global(`var<workgroup> ${n}: array<${vectorOf(a.types[i]!, width)}, ${tx * ty}>;`);
        lines.push(`${n}[lid] = ${a.names('g')[i]};`);
      });
    }
    lines.push('workgroupBarrier();');
  }
  for (; half >= 1 && !shuffled(half); half /= 2) {
    lines.push(`if (ty < ${half}u) {`);
    for (const a of accs) {
      const mine = a.names('w').map((n, i) => `var ${a.names('m')[i]} = ${n}[lid];`);
      const theirs = a.names('w').map((n) => `${n}[lid + ${half * tx}u]`);
      const back = a.names('w').map((n, i) => `${n}[lid] = ${a.names('m')[i]};`);
      lines.push(...mine, ...a.take('m', theirs, width), ...back);
    }
    lines.push('}', 'workgroupBarrier();');
  }
  for (const a of accs) {
    const shared = a.names('w');
    a.names('r').forEach((n, i) => {
      lines.push(`${half >= 1 ? 'var' : 'let'} ${n} = ${alone ? a.names('g')[i] : `${shared[i]}[lid]`};`);
    });
  }
  for (; half >= 1; half /= 2) {
    for (const a of accs) {
      const theirs = a.names('r').map((n, i) => {
        lines.push(`let ${a.names('s')[i]}_${half} = subgroupShuffleDown(${n}, ${half * tx}u);`);
        return `${a.names('s')[i]}_${half}`;
      });
      lines.push(...a.take('r', theirs, width));
    }
  }
  return lines;
}
