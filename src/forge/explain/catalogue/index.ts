// The whole catalogue. A code is never renamed once it has shipped.

import type { ErrorClass, Facts } from '../types.ts';
import { acceleratorClasses } from './accelerators.ts';
import { amdClasses } from './amd.ts';
import { buildClasses } from './build.ts';
import { clusterClasses } from './clusters.ts';
import { containerClasses } from './containers.ts';
import { cudaClasses } from './cuda.ts';
import { kernelClasses } from './cuda-kernels.ts';
import { driverClasses } from './driver.ts';
import { driverInstallClasses } from './driver-install.ts';
import { extensionClasses } from './extensions.ts';
import { failureClasses } from './failures.ts';
import { familiesOf } from './families/index.ts';
import { frameworkClasses } from './frameworks.ts';
import { graphicsClasses } from './graphics.ts';
import { installClasses } from './install.ts';
import { kindClasses } from './kinds.ts';
import { libraryClasses } from './libraries.ts';
import { memoryClasses } from './memory.ts';
import { ncclClasses } from './nccl.ts';
import { nodeClasses } from './node.ts';
import { sentencesOf } from './sentences.ts';
import { servingClasses } from './serving.ts';
import { toldOf } from './told.ts';
import { toolClasses } from './tools.ts';
import { videoClasses } from './video.ts';
import { virtualClasses } from './virtual.ts';

/** An NVIDIA card in the machine confirms a fault of the NVIDIA stack; its absence proves nothing, the text may come from elsewhere. */
const onNvidia = (facts: Facts): boolean | undefined => (facts.nvidia ? true : undefined);
const onAmd = (facts: Facts): boolean | undefined => (facts.amd ? true : undefined);

const confirmed = (of: readonly ErrorClass[], holds: (facts: Facts) => boolean | undefined): readonly ErrorClass[] =>
  of.map((row) => ({ holds, ...row }));

const rows: readonly ErrorClass[] = [
  ...confirmed([...driverClasses, ...driverInstallClasses, ...cudaClasses, ...kernelClasses, ...ncclClasses], onNvidia),
  ...confirmed(amdClasses, onAmd),
  ...libraryClasses,
  ...memoryClasses,
  ...frameworkClasses,
  ...buildClasses,
  ...extensionClasses,
  ...kindClasses,
  ...installClasses,
  ...servingClasses,
  ...acceleratorClasses,
  ...containerClasses,
  ...clusterClasses,
  ...virtualClasses,
  ...graphicsClasses,
  ...toolClasses,
  ...videoClasses,
  ...nodeClasses,
  ...failureClasses,
];

export const catalogue: readonly ErrorClass[] = rows.map((row) => ({
  ...row,
  patterns: [
    ...row.patterns,
    ...(sentencesOf.get(row.code) ?? []),
    ...(toldOf.get(row.code) ?? []),
    ...(familiesOf.get(row.code) ?? []),
  ],
}));
