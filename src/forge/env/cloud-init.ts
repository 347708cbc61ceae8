// A user-data file for a fresh Ubuntu instance: the driver, the environment, the check. No account, no price, no call.

import { comments, shell } from '../text/quote.ts';
import type { EnvPlan } from './plan.ts';
import { writeRequirements } from './requirements.ts';
import { writeVerify } from './verify.ts';

/** What an instance needs before the environment; AMD's driver is in the kernel, whose cloud builds leave it in a package apart. */
interface Driver {
  readonly said: string;
  readonly packages: readonly string[];
  readonly commands: readonly string[];
}

function driverOf({ choice: { backend }, driverPackage }: EnvPlan): Driver {
  if (backend === 'rocm')
    return {
      said: 'the driver is the one of the kernel, and its modules need one restart',
      packages: ['linux-firmware'],
      commands: ['apt-get install -y "linux-modules-extra-$(uname -r)"'],
    };
  if (backend !== 'cuda') return { said: 'the instance restarts once', packages: [], commands: [] };
  return driverPackage === null
    ? {
        said: 'Ubuntu has no driver for all of these cards, so the image must bring it; the instance restarts once',
        packages: [],
        commands: [],
      }
    : { said: 'the driver needs one restart', packages: [driverPackage], commands: [] };
}

export function writeCloudInit(plan: EnvPlan): string {
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
  const driver = driverOf(plan);
  return [
    '#cloud-config',
    comments([...plan.madeFor, `For Ubuntu 24.04; ${driver.said}, after which the check runs once.`]),
    'package_update: true',
    'packages:',
    '  - ca-certificates',
    '  - curl',
    ...driver.packages.map((name) => `  - ${name}`),
    'write_files:',
    ...file(`${folder}/requirements.txt`, writeRequirements(plan), '0644'),
    ...file(`${folder}/verify.py`, writeVerify(plan), '0755'),
    'runcmd:',
    ...driver.commands.map((command) => `  - ${command}`),
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
