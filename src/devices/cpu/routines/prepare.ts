// Routines on the CPU: which program does which.

import { ArgumentError, DeviceUnavailable } from '../../../errors.ts';
import type { Routine } from '../../../kernel/kernel.ts';
import type { Blas } from '../blas.ts';
import type { WasmEngine } from '../engine.ts';
import type { CpuProgram } from '../program.ts';
import { prepareCompact } from './compact.ts';
import { prepareFourier } from './fourier/index.ts';
import { prepareMatmul } from './matmul.ts';
import { prepareScan } from './scan.ts';
import { prepareScatter } from './scatter.ts';
import { prepareSort } from './sort/index.ts';
import { prepareSelect } from './sort/select.ts';

export function prepareRoutine(routine: Routine, engine: WasmEngine, blas: Blas | null): CpuProgram {
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
      return prepareSort(routine, engine);
    case 'scan':
      return prepareScan(routine, engine);
    case 'scatter':
      return prepareScatter(routine, engine);
    case 'compact':
      return prepareCompact(routine, engine);
    case 'fourier':
      return prepareFourier(routine, engine);
    case 'products':
      throw new Error(`cpu: ${routine.name}: lists of products are not among the capabilities`);
    case 'topk':
      return prepareSelect(routine, engine);
    case 'rows':
    case 'attention':
      throw new Error(`cpu: ${routine.name}: ${routine.op} is not among the capabilities`);
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
