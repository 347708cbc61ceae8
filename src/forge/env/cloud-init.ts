// A user-data file for a fresh Ubuntu instance: the driver, the environment, the check. No account, no price, no call.

import { comments, shell } from '../text/quote.ts';
import type { EnvPlan } from './plan.ts';
import { writeRequirements } from './requirements.ts';
import { writeVerify } from './verify.ts';

/** Builds of CUDA 13 serve Turing and newer, which run on the open module; those of CUDA 11 may be for Kepler, which ends with R470. */
const DRIVERS: Readonly<Record<string, string>> = {
  '13': 'nvidia-driver-580-server-open',
  '12': 'nvidia-driver-580-server',
  '11': 'nvidia-driver-470-server',
};

export function writeCloudInit(plan: EnvPlan): string {
  const { choice } = plan;
  const folder = `/opt/${plan.name}`;
  const venv = `${folder}/venv`;
  const file = (path: string, content: string, mode: string) => [
    `  - path: ${path}`,
    `    permissions: "${mode}"`,
    '    content: |',
    ...content
      .trimEnd()
      .split('\n')
      .map((line) => (line === '' ? '' : `      ${line}`)),
  ];
  const driver = choice.backend === 'cuda' ? DRIVERS[choice.cuda?.split('.')[0] ?? ''] : undefined;
  return [
    '#cloud-config',
    comments([...plan.madeFor, 'For Ubuntu 24.04; the driver needs one restart, after which the check runs once.']),
    'package_update: true',
    'packages:',
    '  - ca-certificates',
    '  - curl',
    ...(driver ? [`  - ${driver}`] : []),
    'write_files:',
    ...file(`${folder}/requirements.txt`, writeRequirements(plan), '0644'),
    ...file(`${folder}/verify.py`, writeVerify(plan), '0755'),
    'runcmd:',
    '  - curl -LsSf https://astral.sh/uv/0.13.6/install.sh | env UV_INSTALL_DIR=/usr/local/bin sh',
    `  - uv venv --python ${plan.python} ${shell(venv)}`,
    `  - VIRTUAL_ENV=${shell(venv)} uv pip install --index-strategy unsafe-best-match -r ${shell(`${folder}/requirements.txt`)}`,
    `  - echo '@reboot root ${venv}/bin/python ${folder}/verify.py > ${folder}/verify.log 2>&1; rm -f /etc/cron.d/${plan.name}-verify' > /etc/cron.d/${plan.name}-verify`,
    'power_state:',
    '  mode: reboot',
    '  condition: true',
    '',
  ].join('\n');
}
