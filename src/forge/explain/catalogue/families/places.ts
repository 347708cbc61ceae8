// Where a program runs: kernel modules, driver packages, containers, Kubernetes, WSL.

import type { Family } from './types.ts';
import { FAULT, REFUSED } from './words.ts';

/** Kubernetes has words of its own for a pod that does not run. */
const K8S = new RegExp(
  `${REFUSED.source}|CrashLoopBackOff|ImagePullBackOff|\\bPending\\b|Init:Error|FailedScheduling`,
  'i',
);

export const places: readonly Family[] = [
  {
    code: 'dkms-build',
    subject:
      /^(?!.*(?:find a match|no match for|locate package|target not found)).*(?:\bdkms\b[^\n]*(?:nvidia|amdgpu)|(?:nvidia|amdgpu)[^\n]*\bdkms\b|\bakmods?\b|\bkmods?\b|nvidia-kmod|\bnvidia[\w-]*\.service|==> ERROR: module not found: '?nvidia|kernel[- ](?:headers|devel|source)|\/lib\/modules\/\S+\/(?:build|source)|nvidia-installer|linux-headers)/i,
    trouble: /fail|error|not (?:be )?found|bad exit|missing|no such file|unable|could not/i,
  },
  {
    code: 'secure-boot',
    subject: /^(?!.*\bnot enabled\b).*(?:secure ?boot|module verification|MOK\b)/i,
    trouble: /\b(?:fail\w*|reject\w*|denied|required|not|tainting)\b/i,
  },
  {
    code: 'nouveau',
    subject: /\bnouveau\b/i,
    trouble: /\b(?:in use|loaded|conflict\w*|error|failed|fault|timeout)\b/i,
  },
  {
    code: 'smi-no-comm',
    subject:
      /nvidia(?:-\w+)?\.ko\b|\b(?:kernel )?modules?\b[^\n]*\bnvidia|\bnvidia[\w-]*\b[^\n]*\b(?:(?:kernel )?modules?|kernel drivers?)/i,
    trouble: /\b(?:not (?:found|loaded)|failed|cannot|error|missing|unable)\b/i,
  },
  {
    code: 'driver-packages',
    subject:
      /\b(?:apt|dpkg|dnf|yum|rpm|pacman|zypper)\b[^\n]*\b(?:nvidia|cuda)|\b(?:lib|xorg-x11-drv-|akmod-|kmod-)?(?:nvidia|cuda)-?[\w.:-]*|\broc[mk]-\w+|\bamdgpu-\w+|\bintel-(?:opencl|level-zero|gpu|i915)[\w-]*/i,
    trouble:
      /\b(?:unmet|held broken|broken packages|no installation candidate|unable to (?:find a match|locate package|correct problems)|no match for argument|target not found|no package \S+ available|has no candidate|unsatisfied dependenc\w+|conflicting requests|file conflicts?)\b|dpkg[^\n]*error|sub-process[^\n]*error code/i,
  },
  {
    code: 'k8s-gpu',
    subject:
      /If this is a GPU node|\bk8s-driver-manager\b|\b(?:pod|kubelet|daemonset|gpu-operator|device[- ]plugins?)\b[^\n]*\b(?:nvidia|gpu)|\b(?:nvidia|gpu)[\w-]*(?:daemonset|operator|plugin|feature-discovery)/i,
    trouble: K8S,
  },
  {
    code: 'docker-nvidia-cli',
    subject: /\bnvc\.c\b|nvidia-container|libnvidia-container|nvidia-ctk|\bdriver\.c:\d+\] could not start driver/i,
    trouble: REFUSED,
  },
  {
    code: 'docker-nvidia-cli',
    subject: /\b(?:docker|podman|containerd|OCI|runc)\b[^\n]*\b(?:gpus?|nvidia|cdi)\b/i,
    trouble: FAULT,
  },
  {
    code: 'wsl-lib',
    subject: /\bdxgk\w*|\bdxcore\b|\/dev\/dxg\b|\/usr\/lib\/wsl\b|\bWSL\b[^\n]*\b(?:gpu|cuda|driver)/i,
    trouble: REFUSED,
  },
];
