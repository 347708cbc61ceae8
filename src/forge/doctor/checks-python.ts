// Area python: does what is installed have kernels for this GPU, and does the driver carry it?
//
// The same tables and checks that the resolver chooses by judge what is already there.

import { formatCc } from '../machine.ts';
import { describeGpu } from './checks-gpu.ts';
import { type Framework, inspectPython, type PythonTarget } from './python.ts';
import { type Context, type Finding, finding, fix } from './types.ts';

export async function checkPython(context: Context): Promise<readonly Finding[]> {
  const answer = await inspectPython(context);
  if (answer.outcome === 'none') {
    return [
      finding('PY-NONE', 'python', 'info', `no Python found: ${answer.detail}`, {
        fix: fix('Needed only for the Python frameworks; uv brings its own.', 'uv python install 3.13'),
      }),
    ];
  }
  if (answer.outcome === 'failed') {
    const which = context.options.python === undefined ? 'the Python found' : context.options.python;
    return [
      finding('PY-BROKEN', 'python', 'warning', `${which} does not work`, {
        evidence: [answer.detail],
        fix: fix('Repair it, or name another with --python.', 'gpuforge doctor --python PATH'),
      }),
    ];
  }
  const { target } = answer;
  const found = [...conflicts(target)];
  for (const framework of target.frameworks) found.push(...(await judgeFramework(context, target, framework)));
  const names = target.frameworks.map(
    ({ name, version, variant }) => `${name} ${version}${variant ? ` (${variant})` : ''}`,
  );
  const summary = `Python ${target.version} (${target.environment})${names.length > 0 ? `, ${names.join(', ')}` : ', no framework'}`;
  return [finding('PY-FOUND', 'python', 'ok', summary, { evidence: [target.interpreter] }), ...found];
}

function conflicts({ packages }: PythonTarget): readonly Finding[] {
  const found: Finding[] = [];
  if (packages.has('jax-cuda12-plugin') && packages.has('jax-cuda13-plugin')) {
    found.push(
      finding('PY-JAX-PLUGINS', 'python', 'error', 'the cuda12 and the cuda13 plugin of JAX are both installed', {
        evidence: ['only one of them can register itself'],
        fix: fix('Remove one.', 'pip uninstall -y jax-cuda12-plugin jax-cuda12-pjrt'),
      }),
    );
  }
  const cudnn = ['nvidia-cudnn-cu11', 'nvidia-cudnn-cu12', 'nvidia-cudnn-cu13'].filter((name) => packages.has(name));
  if (cudnn.length > 1) {
    found.push(
      finding('PY-CUDNN-MIXED', 'python', 'warning', 'cuDNN is installed for several CUDA versions at once', {
        evidence: cudnn.map((name) => `${name} ${packages.get(name)}`),
        fix: fix('Keep the one of the CUDA version that the framework uses.', `pip uninstall -y ${cudnn[0]}`),
      }),
    );
  }
  return found;
}

async function judgeFramework(
  context: Context,
  target: PythonTarget,
  framework: Framework,
): Promise<readonly Finding[]> {
  const { machine, options } = context;
  const gpus = machine.gpus.filter((gpu) => gpu.usable && gpu.vendor !== 'other');
  const capable = gpus.filter((gpu) => gpu.vendor === 'nvidia' || (gpu.vendor === 'amd' && !gpu.unified));
  const label = `${framework.name} ${framework.version}`;
  if (framework.variant === 'cpu' && capable.length > 0) {
    return [
      finding(
        'PY-CPU-BUILD',
        'python',
        'warning',
        `${label} is the CPU build, and ${describeGpu(capable[0]!)} goes unused`,
        {
          fix: fix(
            'Install the build for this GPU; resolve prints the exact line.',
            `gpuforge resolve --framework ${frameworkName(framework)}`,
          ),
        },
      ),
    ];
  }
  if (framework.variant === null || gpus.length === 0) return [];
  const [{ loadTables }, { vendorTargets }, { judge }, { wheelsOf }] = await Promise.all([
    import('../data/tables.ts'),
    import('../resolve/facts.ts'),
    import('../resolve/judge.ts'),
    import('../resolve/wheels.ts'),
  ]);
  const { tables } = options.tables ?? loadTables();
  const python = target.version.split('.').slice(0, 2).join('.');
  const wheels = wheelsOf(tables, frameworkName(framework)).filter(
    (wheel) => wheel.variant === framework.variant && sameRelease(wheel.version, framework.version),
  );
  if (wheels.length === 0) return [];
  for (const { target: machineTarget } of vendorTargets(tables, machine, python)) {
    const { accepted, rejected } = judge(tables, wheels, machineTarget);
    if (accepted.length > 0) return [];
    const first = rejected[0]?.rejection;
    if (!first) continue;
    const ccs = gpus.flatMap((gpu) =>
      'source' in gpu.computeCapability ? [formatCc(gpu.computeCapability.value)] : [],
    );
    return [
      finding('PY-WRONG-BUILD', 'python', 'error', `${label} (${framework.variant}) cannot run here: ${first.reason}`, {
        evidence: [
          ...gpus.map(describeGpu),
          ...(ccs.length > 0 ? [`compute capabilities ${ccs.join(', ')}`] : []),
          first.source,
        ],
        fix: fix(
          'Install the build that fits; resolve prints the exact line.',
          `gpuforge resolve --framework ${frameworkName(framework)}`,
        ),
      }),
    ];
  }
  return [];
}

function frameworkName(framework: Framework): 'pytorch' | 'tensorflow' | 'jax' {
  return framework.name === 'torch' ? 'pytorch' : framework.name;
}

/** The tables hold one patch release a minor version; the kernels in its wheels are the same. */
function sameRelease(row: string, installed: string): boolean {
  const minor = (version: string) => version.split('.').slice(0, 2).join('.');
  return minor(row) === minor(installed);
}
