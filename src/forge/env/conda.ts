// environment.yml for conda-forge. PyTorch comes from conda-forge itself where it builds for the backend (pytorch-gpu with
// cuda-version, never the channel that stopped at 2.5); everything else it does not build comes through pip from the proven
// index, together with the packages that are bound to the framework, so that there is one torch and not two.

import { comments, yaml } from '../text/quote.ts';
import { type EnvPlan, specOf, spell } from './plan.ts';

export function writeConda(plan: EnvPlan, checked: boolean): string {
  const { choice, selection } = plan;
  const native = nativeFramework(plan);
  const conda: string[] = [`python=${plan.python}`];
  const pip: string[] = [];
  if (native) conda.push(...native);
  else {
    if (choice.index) pip.push(`--extra-index-url ${choice.index.url}`);
    pip.push(...plan.framework.map((row) => spell(row, row.spec)));
  }
  for (const use of selection.packages) {
    const onConda = use.conda !== null && (native !== undefined || !use.bound);
    // conda-forge rebuilds at its own pace, so exact pins hold for pip only.
    if (onConda) conda.push(`${use.conda}${use.range}`);
    else pip.push(spell(use, specOf(use, plan.profile.pin === 'exact')));
  }
  if (pip.length > 0) conda.push('pip');
  if (pip.length > 0 && plan.pypiIndex !== null) pip.unshift(`--index-url ${plan.pypiIndex}`);
  const notes = [
    ...plan.madeFor,
    `Install: conda env create -f environment.yml && conda activate ${plan.name}${checked ? ' && python verify.py' : ''}`,
  ];
  if (native && choice.backend === 'cuda') {
    notes.push(
      `conda-forge builds PyTorch itself, so its version may differ from ${choice.version}; cuda-version keeps it within what the driver and the GPU can do.`,
      `The solver looks for the virtual package __cuda. Where no GPU is visible (CI, docker build), set CONDA_OVERRIDE_CUDA=${plan.driverCuda ?? choice.cuda}.`,
    );
  }
  const variables = Object.entries(choice.environment);
  return [
    comments(notes),
    `name: ${yaml(plan.name)}`,
    'channels:',
    '  - conda-forge',
    'dependencies:',
    ...conda.map((entry) => `  - ${yaml(entry)}`),
    ...(pip.length > 0 ? ['  - pip:', ...pip.map((entry) => `      - ${yaml(entry)}`)] : []),
    ...(variables.length > 0 ? ['variables:', ...variables.map(([name, value]) => `  ${name}: ${yaml(value)}`)] : []),
    '',
  ].join('\n');
}

/** The packages by which conda-forge installs this build; undefined where it has none and pip must. */
function nativeFramework(plan: EnvPlan): readonly string[] | undefined {
  const { choice } = plan;
  if (choice.framework !== 'pytorch') return undefined;
  const vision = plan.framework.some((row) => row.name === 'torchvision') ? ['torchvision'] : [];
  switch (choice.backend) {
    case 'cuda': {
      const family = choice.cuda?.split('.')[0];
      // CUDA 11 builds are no longer made on conda-forge.
      return family === '12' || family === '13' ? ['pytorch-gpu', `cuda-version=${family}.*`, ...vision] : undefined;
    }
    case 'mps':
      return ['pytorch', ...vision];
    case 'cpu':
      return [plan.platform.startsWith('macos') ? 'pytorch' : 'pytorch-cpu', ...vision];
    case 'rocm':
    case 'xpu':
      return undefined;
    default:
      return choice.backend satisfies never;
  }
}
