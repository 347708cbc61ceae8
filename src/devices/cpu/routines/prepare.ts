// Routines on the CPU: which program does which.

import { ArgumentError, DeviceUnavailable } from '../../../errors.ts';
import type { Routine } from '../../../kernel/kernel.ts';
import type { Blas } from '../blas.ts';
import type { WasmEngine } from '../engine.ts';
import type { CpuProgram } from '../program.ts';
import { prepareMatmul } from './matmul.ts';
import { prepareScan } from './scan.ts';
import { prepareScatter } from './scatter.ts';
import { prepareSort } from './sort.ts';

/** Work on no elements: nothing to render, nothing to run. */
const nothing = (name: string, buffers: number): CpuProgram => ({
  name,
  source: ';; nothing to do\n',
  needs: new Array<number>(buffers).fill(0),
  scalars: 0,
  run: () => {},
  dispose: () => {},
});

export function prepareRoutine(routine: Routine, engine: WasmEngine, blas: Blas): CpuProgram {
  switch (routine.op) {
    case 'matmul':
      if (routine.epilogue) {
        throw new ArgumentError({
          code: 'EPILOGUE',
          message: `${routine.name}: matmul takes no epilogue here (cpu)`,
          fix: 'Run the epilogue as a kernel of its own, as the capabilities say.',
          where: routine.name,
        });
      }
      return prepareMatmul(routine, engine, blas);
    case 'sort':
      if (routine.rows * routine.columns === 0) return nothing(routine.name, 3);
      return prepareSort(routine, engine);
    case 'scan':
      if (routine.outer * routine.length * routine.inner === 0) return nothing(routine.name, 2);
      return prepareScan(routine, engine);
    case 'scatter':
      if (routine.outer * routine.length * routine.inner === 0) return nothing(routine.name, 4);
      return prepareScatter(routine, engine);
    case 'raw':
      throw new DeviceUnavailable({
        code: 'RAW_KERNEL',
        message: `${routine.name}: raw ${routine.language} kernels do not run on the CPU (cpu)`,
        fix: 'Run it on the device it was written for, or write it as an expression with rt.kernel.',
        where: routine.name,
      });
    default:
      return routine satisfies never;
  }
}
