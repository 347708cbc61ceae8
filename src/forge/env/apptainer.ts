// An Apptainer (Singularity) definition from the same plan as the Dockerfile: for clusters, where no daemon runs as root.

import { comments, shell } from '../text/quote.ts';
import { containerVerify, insideNotes } from './docker.ts';
import { type EnvPlan, specOf, spell } from './plan.ts';

const FLAGS: Readonly<Record<string, string>> = { cuda: '--nv', rocm: '--rocm' };

export function writeApptainer(plan: EnvPlan): string {
  const { container } = plan;
  const { choice } = container;
  const flag = FLAGS[choice.backend];
  const packages = [
    ...container.framework.map((row) => spell(row, row.spec)),
    ...container.selection.packages.map((use) => spell(use, specOf(use, true))),
  ];
  const indexes = [
    ...(plan.pypiIndex ? ['--default-index', plan.pypiIndex] : []),
    ...(choice.index ? ['--index', choice.index.url, '--index-strategy', 'unsafe-best-match'] : []),
  ];
  const image = `${plan.name}.sif`;
  return [
    'Bootstrap: docker',
    `From: ${container.image}`,
    '',
    comments([
      ...plan.madeFor,
      ...insideNotes(plan),
      `Image: apptainer build ${image} ${plan.name}.def`,
      `Run:   apptainer run ${flag ? `${flag} ` : ''}${image}`,
    ]),
    '',
    '%files',
    `    ${containerVerify(plan)} /opt/verify.py`,
    '',
    '%post',
    '    set -e',
    '    apt-get update && apt-get install -y --no-install-recommends ca-certificates curl',
    '    rm -rf /var/lib/apt/lists/*',
    '    curl -LsSf https://astral.sh/uv/0.13.6/install.sh | env UV_INSTALL_DIR=/usr/local/bin sh',
    '    export UV_PYTHON_INSTALL_DIR=/opt/python UV_LINK_MODE=copy VIRTUAL_ENV=/opt/venv',
    `    uv venv --python ${container.python} /opt/venv`,
    `    uv pip install ${[...indexes, ...packages].map(shell).join(' ')}`,
    '',
    '%environment',
    '    export VIRTUAL_ENV=/opt/venv PATH=/opt/venv/bin:$PATH',
    '',
    '%runscript',
    '    if [ $# -gt 0 ]; then exec "$@"; fi',
    '    exec python /opt/verify.py',
    '',
  ].join('\n');
}
