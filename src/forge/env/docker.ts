// Dockerfile and devcontainer.json. The image is complete in itself: it copies nothing but verify.py from the folder, so it
// builds on a machine without a GPU and on another operating system.

import { comments, shell } from '../text/quote.ts';
import { type EnvPlan, printable, specOf, spell } from './plan.ts';

/** The uv whose pip and Python downloads the image uses. */
const UV_IMAGE = 'ghcr.io/astral-sh/uv:0.13.6';

export function writeDockerfile(plan: EnvPlan): string {
  const { container } = plan;
  const { choice } = container;
  const packages = [
    ...container.framework.map((row) => spell(row, row.spec)),
    ...container.selection.packages.map((use) => spell(use, specOf(use, true))),
  ];
  const indexes = [
    ...(plan.pypiIndex ? [`--default-index ${shell(plan.pypiIndex)}`] : []),
    // One index holds the build, the other everything else; the best version of both is wanted.
    ...(choice.index ? [`--index ${shell(choice.index.url)}`, '--index-strategy unsafe-best-match'] : []),
  ];
  const run = ['docker', 'run', '--rm', '-it', ...container.runFlags, plan.name].map(shell).join(' ');
  return [
    '# syntax=docker/dockerfile:1',
    comments([
      ...plan.madeFor,
      ...insideNotes(plan),
      ...(choice.backend === 'rocm' ? ['The ROCm runtime comes inside the wheels, so a plain image is enough.'] : []),
      `Image: docker build -t ${plan.name} .`,
      `Run:   ${run}`,
    ]),
    `FROM ${container.image}`,
    `COPY --from=${UV_IMAGE} /uv /uvx /bin/`,
    ...systemPackages(choice.backend),
    'ENV UV_PYTHON_INSTALL_DIR=/opt/python \\',
    '    UV_LINK_MODE=copy \\',
    '    VIRTUAL_ENV=/opt/venv \\',
    '    PATH=/opt/venv/bin:$PATH',
    ...(choice.backend === 'cuda'
      ? ['ENV NVIDIA_VISIBLE_DEVICES=all \\', '    NVIDIA_DRIVER_CAPABILITIES=compute,utility']
      : []),
    `RUN uv venv --python ${container.python} /opt/venv`,
    'RUN --mount=type=cache,target=/root/.cache/uv \\',
    `    uv pip install ${[...indexes, ...packages.map((entry) => `"${entry}"`)].join(' \\\n      ')}`,
    'WORKDIR /workspace',
    `COPY ${containerVerify(plan)} /opt/verify.py`,
    'CMD ["python", "/opt/verify.py"]',
    '',
  ].join('\n');
}

/** What an image holds where that is not what this machine installs. */
export function insideNotes(plan: EnvPlan): readonly string[] {
  const { choice, note } = plan.container;
  return [
    ...(note ? [printable(`Note: ${note}.`)] : []),
    ...(sameBuild(plan)
      ? []
      : [`Inside: ${choice.framework} ${choice.version} ${choice.variant}, resolved for Linux.`]),
  ];
}

/** The check of what the image installs: a file of its own where that is not what this machine installs. */
export function containerVerify(plan: EnvPlan): string {
  return sameBuild(plan) ? 'verify.py' : 'verify-container.py';
}

export function sameBuild({ choice, container }: EnvPlan): boolean {
  const own = container.choice;
  return own.framework === choice.framework && own.version === choice.version && own.variant === choice.variant;
}

function systemPackages(backend: string): readonly string[] {
  const apt = (packages: readonly string[], before: readonly string[] = []): readonly string[] => [
    ...before,
    'RUN apt-get update && apt-get install -y --no-install-recommends \\',
    ...packages.map((name) => `      ${name} \\`),
    '    && rm -rf /var/lib/apt/lists/*',
  ];
  if (backend !== 'xpu') return apt(['ca-certificates']);
  return [
    ...apt(['ca-certificates', 'software-properties-common']),
    'RUN add-apt-repository -y ppa:kobuk-team/intel-graphics',
    ...apt(['intel-opencl-icd', 'libze-intel-gpu1', 'libze1']),
  ];
}

export function writeDevcontainer(plan: EnvPlan): string {
  const { container } = plan;
  const { choice } = container;
  const notebooks = container.selection.packages.some((use) => use.name === 'jupyterlab');
  const gpu = choice.backend !== 'cpu' && choice.backend !== 'mps';
  return `${JSON.stringify(
    {
      name: `${plan.name} (${choice.framework} ${choice.version} ${choice.variant})`,
      build: { dockerfile: '../Dockerfile', context: '..' },
      runArgs: container.runFlags,
      ...(gpu ? { hostRequirements: { gpu: true } } : {}),
      containerEnv: { GPUFORGE_MADE_FOR: plan.madeFor[0] },
      customizations: {
        vscode: {
          extensions: ['ms-python.python', ...(notebooks ? ['ms-toolsai.jupyter'] : [])],
          settings: { 'python.defaultInterpreterPath': '/opt/venv/bin/python' },
        },
      },
      postCreateCommand: ['python', '/opt/verify.py'],
    },
    null,
    2,
  )}\n`;
}
