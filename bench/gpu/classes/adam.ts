// One step of Adam over fifty parameters, as one compiled function.

import type { CompileArgument, Compiled, Runtime, Tensor } from '../../../src/index.ts';
import type { ClassProgram } from './program.ts';

const count = 50;
const compiled = new WeakMap<Runtime, (...x: Tensor[]) => Tensor>();

function step(rt: Runtime): (...x: Tensor[]) => Tensor {
  const body = (...x: Tensor[]): Tensor[] => {
    const results: Tensor[] = [];
    for (let i = 0; i < count; i++) {
      const [p, g, m, v] = x.slice(4 * i, 4 * i + 4) as [Tensor, Tensor, Tensor, Tensor];
      const m1 = m.mul(0.9).add(g.mul(0.1));
      const v1 = v.mul(0.999).add(g.mul(g).mul(0.001));
      results.push(p.sub(m1.mul(0.01).div(v1.abs().sqrt().add(1e-8))), m1, v1);
    }
    return results;
  };
  const run = rt.compile(body as (...x: CompileArgument[]) => Tensor[]) as Compiled<CompileArgument[], Tensor[]>;
  return (...x) => {
    const [first, ...rest] = run(...x);
    for (const t of rest) t.dispose();
    return first!;
  };
}

export const adam: ClassProgram = {
  name: 'Adam step, 50 parameters 256 x 256 f32, compiled',
  inputs: Array.from({ length: 4 * count }, () => ({ shape: [256, 256], dtype: 'f32' as const })),
  calls: 10,
  run: (rt, ...x) => {
    let run = compiled.get(rt);
    if (!run) compiled.set(rt, (run = step(rt)));
    return run(...x);
  },
};
