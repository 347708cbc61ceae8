// GPUs that many users share: Slurm hands them out, MIG cuts them into parts.

import { capture, code, phrase, symptom } from '../patterns.ts';
import { asRoot, run, say } from '../steps.ts';
import type { ErrorClass } from '../types.ts';

export const clusterClasses: readonly ErrorClass[] = [
  {
    code: 'slurm-gpu',
    severity: 'error',
    title: 'Slurm has no such GPU for the job',
    patterns: [
      phrase(/Invalid generic resource \(gres\) specification|Invalid Trackable RESource \(TRES\) specification/i),
      phrase(/configured to autodetect (?<library>\w+) functionality, but/i),
      phrase(/config-only GPU due to lack of File|autodetected GPUs are being ignored/i),
      capture(/gres\/(?<resource>\w+) count (?:reported lower|too low|repor\b)[^\n]*/i),
      capture(/\bgres\.conf\b[^\n]*(?:duplicate|\/dev\/|can't stat|No such file|invalid|fatal|error)[^\n]*/i),
      capture(/can't stat gres\.conf file (?<device>\S+)/i),
      symptom(/\b(?:slurm\w*|srun|sbatch|salloc): (?:error|fatal): [^\n]*\b(?:gres|gpus?|nvml|rsmi|tres)\b[^\n]*/i),
      phrase(/Requested node configuration is not available/, /\bgres\b|\bgpus?\b/i),
      phrase(/\b(?:QOS(?:Max|Grp|Min)|Assoc(?:Max|Grp))\w*(?:GRES|Gres|GPU)\w*/),
    ],
    explains: ['nvml-failed', 'driver-missing', 'no-devices'],
    cause: ({ got }) =>
      got.device
        ? `gres.conf names ${got.device}, which does not exist on the node: the driver is not loaded there, or fewer GPUs are.`
        : got.library
          ? `AutoDetect asks for ${got.library}, which this build of Slurm was made without.`
          : 'The GPUs that slurm.conf and gres.conf name and those that the node shows are not the same, or no node has what the job asks for.',
    fix: () => [
      run('See which GPUs the nodes offer, and by which type name.', 'sinfo', '-N', '-o', '%N %G %T'),
      run('On the node: what slurmd itself finds.', 'slurmd', '-G'),
      say('Ask for what is there: --gres=gpu:1, or --gres=gpu:TYPE:1 with the type as the list spells it.'),
      say(
        'For administrators: Gres= in slurm.conf and gres.conf must agree in type and number; each device needs File= or AutoDetect.',
      ),
      asRoot(
        'A node that was drained for it comes back by hand.',
        'scontrol',
        'update',
        'NodeName=NODE',
        'State=RESUME',
      ),
    ],
    links: ['https://slurm.schedmd.com/gres.html'],
  },
  {
    code: 'mig',
    severity: 'error',
    title: 'The GPU cannot be cut into parts (MIG) as asked',
    patterns: [
      capture(
        /(?:Unable|Failed) to (?:create|destroy|get|enable|disable|display)[^\n]{0,40}(?:GPU instances?|compute instances?|MIG)[^\n]*/i,
      ),
      phrase(
        /\bMIG mode (?:is in pending|cannot be|change)[^\n]*|pending (?:enable|disable)[^\n]*\bMIG\b|Failed to (?:set|enable|disable) MIG/i,
      ),
      phrase(
        /No MIG-(?:enabled|supported|capable) (?:devices|GPUs) (?:were )?found|MIG (?:is )?not supported|does not support MIG/i,
      ),
      symptom(
        /\bnvidia-mig-(?:parted|manager)\b[^\n]*(?:error|fail\w*|fatal)|Error (?:setting|applying|asserting) MIG\w*[^\n]*/i,
      ),
      code(/NVML_ERROR_INSUFFICIENT_RESOURCES/),
      phrase(/\bmig\b[^\n]{0,60}\bInsufficient Resources\b/i),
    ],
    explains: ['nvml-access', 'nvml-failed'],
    cause: () =>
      'Parts are made only while MIG is on and nobody uses the GPU; sizes and places are fixed, and some GPUs have no MIG.',
    fix: () => [
      run('See whether MIG is on, and which parts exist.', 'nvidia-smi', '-L'),
      run('See which sizes are still free.', 'nvidia-smi', 'mig', '-lgip'),
      say(
        'Stop what holds the GPU first: dcgm, the device plugin, persistence daemons, users. Older GPUs then need a reset.',
      ),
    ],
    links: ['https://docs.nvidia.com/datacenter/tesla/mig-user-guide/latest/index.html'],
  },
];
