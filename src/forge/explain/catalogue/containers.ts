// Faults of containers, WSL and other places between a program and its GPU.

import { capture, phrase, symptom } from '../patterns.ts';
import { asRoot, run, say } from '../steps.ts';
import type { ErrorClass } from '../types.ts';
import { TOOLKIT, WSL } from './links.ts';

export const containerClasses: readonly ErrorClass[] = [
  {
    code: 'docker-daemon',
    severity: 'error',
    title: 'Docker itself cannot be reached',
    patterns: [
      phrase(/Cannot connect to the Docker daemon|Is the docker daemon running\?|error during connect: [^\n]*docker/i),
      phrase(/permission denied while trying to connect to the Docker daemon socket/i),
      phrase(
        /Job for docker\.service failed|Failed to start docker\.service|\bdocker\.service: (?:Failed with result|Main process exited|Start request repeated)|unable to configure the Docker daemon with file|\/dockerd\b[^\n]*\(code=exited, status=[1-9]/i,
      ),
    ],
    cause: () =>
      'The Docker service does not run, this user may not use its socket, or DOCKER_HOST names another place.',
    fix: ({ os }) =>
      os === 'windows' || os === 'macos'
        ? [say('Start Docker Desktop and wait until it says that the engine runs.')]
        : [
            asRoot('Start the service.', 'systemctl', 'start', 'docker'),
            run(
              'If it stops again, read why: a wrong /etc/docker/daemon.json is the usual reason.',
              'journalctl',
              '-u',
              'docker',
              '-n',
              '50',
            ),
            asRoot('Let yourself use it, then log in again.', 'usermod', '-aG', 'docker', 'YOUR_USER'),
            say('unset DOCKER_HOST if it names a machine that is gone.'),
          ],
    links: ['https://docs.docker.com/engine/daemon/troubleshoot/'],
  },
  {
    code: 'docker-gpu',
    severity: 'error',
    title: 'Docker has no GPU runtime',
    patterns: [
      phrase(
        /(?:fail\w*|error)[^\n]{0,40}\bCDI\b (?:spec\w*|devices?)|\bCDI spec\w*[^\n]{0,30}(?:fail\w*|not found|invalid)/i,
      ),
      phrase(
        /could not select device driver|failed to (?:generate|create) (?:device )?CDI spec|failed to locate nvidia-smi/i,
      ),
      capture(/unresolvable CDI devices? (?<device>(?:nvidia|amd)\.com\/gpu=\S+)/i),
      phrase(
        /(?:unknown or invalid runtime name|(?:Unknown|invalid|unsupported) runtime(?: (?:type|name|specified))?):? [\\"']*nvidia/i,
      ),
      phrase(
        /exec: "nvidia-container-runtime(?:-hook)?": executable file not found|nvidia-container-runtime: [^\n]{0,60}(?:no such file|not found)/i,
      ),
      phrase(/The NVIDIA Driver was not detected\. +GPU functionality will not be available/i),
      phrase(/NVIDIA Container Runtime Hook directly[^\n]*is not supported/i),
      phrase(/unknown flag: --gpus|runtime "?nvidia"? (?:is )?not found/i),
      capture(
        /(?:setting up CDI devices|CDI device injection|failed to inject (?:CDI )?devices?|CDI host device|failed to stat CDI)[^\n]*/i,
      ),
      capture(/(?:stat|unknown device|no such device)[^\n]{0,20}(?<device>(?:nvidia|amd)\.com\/gpu(?:=\S+)?)/i),
      phrase(/failed to discover GPU vendor from CDI|no known GPU vendor found/i),
      phrase(/adding custom device "\/dev\/nvidia/i),
      phrase(
        /\/dev\/nvidia\S* [^\n]{0,20}\b(?:missing|not (?:present|there|found|exist\w*|mounted))\b/i,
        /container|docker|podman|singularity|apptainer|lxc|--nv\b/i,
      ),
      // A Jetson's container without the runtime has none of its device files.
      phrase(/\bNvRmMem\w*\b[^\n]*(?:No such file|Memory Manager Not supported)|\d+: Memory Manager Not supported/i),
      phrase(
        /no runtime for \\*"nvidia\\*" is configured|RuntimeHandler "nvidia" not supported|runtime handler[^\n]*nvidia[^\n]*not/i,
      ),
      phrase(
        /nvidia-docker: command not found|'devices' was unexpected|Additional propert\w+ (?:are not allowed )?[^\n]*\b(?:devices|gpus)\b|Unsupported config option for \S*services\.\S+: '(?:runtime|gpus|device_requests)'/i,
      ),
      phrase(/\bnvidia-docker-plugin\b[^\n]*\bError: /),
    ],
    // The program that was to run in the container is not there: no matter of the GPU.
    unless: /\bexec: \\*"(?![^"\n]*nvidia)[^\n]*(?:executable file not found|no such file)/i,
    cause: () => 'The NVIDIA container toolkit is not installed or not configured.',
    fix: (context) =>
      context.os === 'windows' || context.facts?.wsl
        ? [
            say(
              'Docker Desktop brings it: turn the WSL2 engine on (Settings, General) and update Docker Desktop and the NVIDIA driver of Windows.',
            ),
            run('Then try it.', 'docker', 'run', '--rm', '--gpus=all', 'ubuntu', 'nvidia-smi'),
          ]
        : [
            asRoot('Install the toolkit.', 'apt-get', 'install', '-y', 'nvidia-container-toolkit'),
            asRoot('Tell Docker of it.', 'nvidia-ctk', 'runtime', 'configure', '--runtime=docker'),
            asRoot('Restart Docker.', 'systemctl', 'restart', 'docker'),
            asRoot(
              'For Podman and CDI write the device list instead.',
              'nvidia-ctk',
              'cdi',
              'generate',
              '--output=/etc/cdi/nvidia.yaml',
            ),
          ],
    links: [TOOLKIT],
  },
  {
    code: 'docker-nvidia-cli',
    severity: 'error',
    title: 'The container cannot get the GPU of the host',
    patterns: [
      capture(
        /nvidia-container-cli: requirement error: unsatisfied condition: (?:cuda|brand|driver)\s*[>=]+\s*(?<cuda>[\d.]+)/i,
      ),
      capture(/nvidia-container-cli: (?<kind>\w+) error: (?<what>[^\n]+)/i),
      phrase(
        /\b(?:OCI runtime create failed|failed to create (?:shim|task)|error mounting|error running hook)\b[^\n]*(?:\/lib(?:cu\w+|nv\w+)\.so|\/dev\/(?:nv|dri))[^\n]*/i,
      ),
      phrase(/\binitialization error: (?:cuda|nvml|driver|driver rpc|load library) (?:error|failed)/i),
      phrase(
        /\berror (?:executing|running)\b[^\n]*\bhook\b[^\n]*(?:nvidia|Auto-detected mode as)|Auto-detected mode as '?(?:legacy|cdi|csv)\b(?=[\s\S]{0,300}\berror\b)/i,
      ),
      phrase(/Could not find any (?:nv|NVIDIA|rocm|ROCm) (?:files|libraries) on this host/),
      phrase(
        /dxcore initialization failed|libdxcore\.so\b[^\n]{0,30}cannot open|WSL environment detected but no adapters were found/i,
      ),
      capture(
        /failed to (?:initialize|create) (?:NVML(?!: Unknown Error)|NVIDIA Container Runtime|nvidia container runtime)[^\n]*: (?<what>[^\n]+)/i,
        /container|docker|runc/i,
      ),
      symptom(/(?:OCI runtime create failed|failed to create (?:shim )?task)[^\n]*(?:nvidia|libcuda)[^\n]*/i),
    ],
    explains: ['driver-missing', 'cuda-lib-missing', 'cuda-unknown', 'cudnn-failed'],
    cause: ({ got, facts }) =>
      got.cuda
        ? `The image wants a driver for CUDA ${got.cuda}${facts?.driver ? `; here is driver ${facts.driver}` : ''}.`
        : `The container runtime found no working driver on the host: ${got.what ?? 'see the line'}.`,
    fix: ({ got, facts, os }) =>
      got.cuda
        ? [
            run('Write a Dockerfile whose image fits the driver.', 'gpuforge', 'env', 'NAME', '--format', 'docker'),
            asRoot('Or update the driver of the host.'),
          ]
        : [
            run('Check the driver on the host first.', 'nvidia-smi'),
            ...(facts?.wsl || os === 'windows' || /WSL|adapters|file exists/i.test(got.what ?? '')
              ? [
                  say(
                    'Inside WSL only the Windows driver counts: remove Linux drivers from the distribution and the image, then wsl --update and wsl --shutdown.',
                  ),
                ]
              : [asRoot('Configure the runtime anew.', 'nvidia-ctk', 'runtime', 'configure', '--runtime=docker')]),
          ],
    links: [TOOLKIT],
  },
  {
    code: 'nvml-unknown',
    severity: 'error',
    title: 'The container lost its GPU',
    patterns: [phrase(/Failed to initialize NVML: Unknown Error/i)],
    explains: ['no-devices'],
    cause: () => 'The container lost its device permissions (cgroup) after systemd was reloaded on the host.',
    fix: () => [
      say('Recreate the container; its processes cannot get the device back.'),
      asRoot(
        'To stop it from happening again, use CDI devices or the cgroupfs driver on the host.',
        'nvidia-ctk',
        'cdi',
        'generate',
        '--output=/etc/cdi/nvidia.yaml',
      ),
    ],
    links: ['https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html'],
  },
  {
    code: 'nvml-access',
    severity: 'error',
    title: 'The GPU is there, but access is refused',
    patterns: [
      phrase(/GPU access blocked by the operating system/i),
      phrase(
        /Failed to initialize NVML: (?:Insufficient Permissions|No permission|N\/A)|NVMLError_NoPermission|Insufficient Permissions/i,
      ),
      capture(
        /\/dev\/nvidia\S*[^\n]*(?:Permission denied|Operation not permitted)|(?:Permission denied|Operation not permitted)[^\n]*\/dev\/nvidia/i,
      ),
    ],
    explains: ['no-devices'],
    cause: (context) =>
      context.facts?.wsl || context.os === 'windows'
        ? 'Windows does not hand the GPU to WSL: the Windows driver is too old, or WSL1 is in use.'
        : 'This user or this container may not open /dev/nvidia*.',
    fix: (context) =>
      context.facts?.wsl || context.os === 'windows'
        ? [say('Update the NVIDIA driver of Windows and WSL: wsl --update, then wsl --shutdown.')]
        : [
            run('See who may open the nodes.', 'gpuforge', 'doctor', '-v'),
            asRoot('Let the driver make them anew.', 'nvidia-modprobe', '-u', '-c=0'),
          ],
    links: [WSL],
  },
  {
    code: 'wsl-lib',
    severity: 'warning',
    title: 'WSL set-up of the CUDA library',
    patterns: [phrase(/libcuda\.so\.1 is not a symbolic link/i)],
    holds: (facts) => (facts.machine.host.platform === 'linux' ? facts.wsl : undefined),
    cause: () => 'WSL puts a copy where ldconfig expects a link. It is a warning: CUDA works.',
    fix: () => [say('Nothing must be done. Only the Windows driver counts; never install a Linux driver inside WSL.')],
    links: [WSL],
  },
  {
    code: 'k8s-gpu',
    severity: 'error',
    title: 'Kubernetes has no GPU for the pod',
    patterns: [
      capture(/(?:Failed|Unable|Could not) [^\n]{0,40}(?<resource>(?:nvidia|amd|intel)\.com\/\w+)[^\n]*/i),
      symptom(
        /\bgpu_plugin\.go:\d+\] (?:failed|Not compatible|error|No )[^\n]*|\/var\/lib\/kubelet\/device-plugins\/[^\n]*(?:denied|refused|fail\w*)/i,
      ),
      phrase(/More than one MIG device type present on node|^No devices found\. Waiting indefinitely/im),
      phrase(/\bWaiting for GPU driver libraries to be available|GPU driver auto installation is disabled/i),
      phrase(
        /\bno (?<resource>(?:nvidia|amd)\.com\/gpu)\b|(?<other>(?:nvidia|amd)\.com\/gpu)\b[^\n]{0,40}\b(?:is |are )?(?:missing|not (?:listed|shown|showing|visible|available|allocatable|present|there))/i,
      ),
      phrase(/\bNAME\s+(?:NVIDIA-)?GPUs?\S*[^\n]*\n(?:[^\n]*\n)*?\S+\s+<none>\s*$/m),
      capture(/Insufficient (?<resource>(?:nvidia|amd|intel|habana|gpu\.intel)(?:\.(?:com|ai)\/\w+|\s*$))/im),
      capture(
        /(?<resource>(?:(?:nvidia|amd|intel)\.com\/gpu|gpu\.intel\.com\/\w+|nvidia\.com\/mig-\S+))[^\n]*(?:not found|unknown resource|is not supported|Unsupported value|Invalid value|must be specified|must be an integer|marked unhealthy|rpc error|fail\w*)/i,
      ),
      capture(
        /(?:number of devices unavailable for|unknown device[^\n]*|Allocate failed[^\n]*) (?<resource>(?:nvidia|amd|intel|gpu\.intel)\.com\/\S+?)[.,\s]/i,
      ),
      phrase(
        /UnexpectedAdmissionError|Allocate failed due to|toolkit validation failed|driver validation failed|error validating (?:driver|toolkit|plugin|cuda)/i,
      ),
      capture(
        /(?<pod>(?:nvidia|gpu|amd|rocm)-[\w-]*(?:toolkit|driver|plugin|operator|dcgm|exporter|validator|feature|manager)[\w-]*)\s+\d+\/\d+\s+(?<status>CrashLoopBackOff|Init:\S+|Error|\w*ImagePull\w*|Pending|Unknown|OOMKilled)/i,
      ),
      capture(/^\s*(?:[\w-]+\s+)?(?<pod>(?:nvidia|gpu|amd|rocm)-[\w-]+)\s+[1-9]\d*\s+\d+\s+(?<status>0)\s+\d+\s+0\s/m),
      phrase(
        /error (?:starting|getting) plugins: |failed to construct NVML resource managers|UnexpectedAdmissionError[^\n]*(?:nvidia|amd|intel|gpu)/i,
      ),
      phrase(/If this is a GPU node, did you/i),
      phrase(
        /nvidia-device-plugin[^\n]*(?:error|failed|Incompatible (?:strategy|platform))|Detected non-NVML platform|Failed to start nvml with error/i,
      ),
      capture(
        /(?:\/run\/nvidia\/driver|nvidia-driver-daemonset|gpu-operator)[^\n]*(?:no such file|failed|error|not found|CrashLoop)|error mounting \S*(?:nvidia|libcuda)\S*/i,
      ),
    ],
    explains: ['docker-nvidia-cli', 'driver-missing'],
    cause: ({ got }) =>
      `No node offers ${got.resource ?? 'the GPU'}: the device plugin does not run there, or all GPUs are taken.`,
    fix: () => [
      run('See what the nodes offer.', 'kubectl', 'describe', 'nodes'),
      say('Install the NVIDIA GPU operator or device plugin; a GPU is asked for under limits, in whole numbers.'),
    ],
    links: ['https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/troubleshooting.html'],
  },
];
