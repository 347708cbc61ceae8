// GPUs of virtual machines: handed over whole (VFIO), or as a share with a licence (vGPU).

import { capture, code, phrase, symptom } from '../patterns.ts';
import { run, say } from '../steps.ts';
import type { ErrorClass } from '../types.ts';

export const virtualClasses: readonly ErrorClass[] = [
  {
    code: 'passthrough',
    severity: 'error',
    title: 'The GPU cannot be handed to the virtual machine',
    patterns: [
      phrase(/\bgroup \d+ is not viable\b|devices within the iommu_group are bound to their vfio/i),
      capture(/BAR \d+: can't reserve[^\n]*vfio|vfio[^\n]*BAR \d+: can't reserve/i),
      capture(/(?<!vgpu-)\bvfio(?:-pci)?\b[^\n]*(?:fail\w*|error|cannot|can't|busy|not found|No such)[^\n]*/i),
      phrase(
        /host doesn't support passthrough of host PCI devices|\bvfio_(?:dma_map|container_\w+|listener_\w+|pci_\w+)\b[^\n]{0,100}= -\d+|\bVFIO_MAP_DMA\b/i,
      ),
      phrase(
        /Requested operation is not valid: PCI device \S+ is in use by|PCI device \S+ (?:is )?not assignable|Cannot bind \S+ to vfio|can't reset PCI device|no PCI device found for '|Failed to (?:assign|(?:de|at)tach) device[^\n]*(?:PCI|hostdev|vfio)|(?:error|failed)[^\n]*\/sys\/bus\/pci\/(?:devices|drivers)\/\S+\/(?:reset|unbind|bind|driver_override|new_id)/i,
      ),
      phrase(
        /Unable to power on device, stuck in D3\b|(?:Dismount|Add)-VM(?:HostAssignable|AssignableDevice|GpuPartitionAdapter)\w*[^\n]*(?:fail\w*|error|cannot)/i,
      ),
      phrase(
        /Unknown PCI header type '?127'?|no available reset mechanism|IOMMU (?:not detected|(?:is )?not (?:enabled|present|found))|No IOMMU detected/i,
      ),
      symptom(
        /\b(?:qemu|libvirt|virt-manager|kvm|hostpci)\S*[^\n]*\b(?:PCI|GPU|hostdev)\b[^\n]*(?:fail\w*|error|in use|cannot)/i,
      ),
      phrase(/\bvfio-pci\b[^\n]*Invalid PCI ROM header/i),
    ],
    cause: () =>
      'Another driver still holds the card, the machine separates it badly (IOMMU groups), or the card does not reset by itself.',
    fix: () => [
      run('See which driver holds the card; it must be vfio-pci.', 'lspci', '-nnk', '-d', '::0300'),
      say('Turn VT-d or AMD-Vi on in the firmware, and intel_iommu=on or amd_iommu=on on the kernel command line.'),
      say('Every device of the group goes along, the sound part of the card too; the host must not use the card.'),
      say('The host needs a restart where a card was left half reset.'),
    ],
    links: ['https://docs.kernel.org/driver-api/vfio.html'],
  },
  {
    code: 'vgpu',
    severity: 'error',
    title: 'The virtual GPU has no licence or does not fit the host',
    patterns: [
      capture(/\bnvidia-gridd\b[^\n]*(?:fail\w*|error|unable|invalid|expired|not (?:valid|found))[^\n]*/i),
      phrase(/\bUnlicensed \((?:Restricted|Unrestricted)\)|License Status\s*: (?:Unlicensed|Expired)[^\n]*/i),
      symptom(
        /\b(?:vgpu\w*|vGPU|vmiop\w*|nvidia-vgpu-\w+)\b[^\n]*(?:fail\w*|error|incompatible|unsupported|not (?:supported|licensed|found))/,
      ),
      code(/NVML_VGPU_\w+|vgpu_version_mismatch/i),
      phrase(/\bFailed to acquire(?:\/renew)? license|\bunlicensed\b/i, /\bvgpu\b|nvidia-gridd/i),
    ],
    cause: () =>
      'A share of a GPU needs a licence from a server that the guest can reach, and guest and host drivers of the same vGPU release.',
    fix: () => [
      run('In the guest: see the state of the licence.', 'nvidia-smi', '-q'),
      say(
        'Put the client token into /etc/nvidia/ClientConfigToken (Windows: the folder of the same name) and start nvidia-gridd again.',
      ),
      say(
        'Use the guest driver that came with the driver of the host; one of the same or the next lower main release.',
      ),
    ],
    links: ['https://docs.nvidia.com/vgpu/latest/grid-licensing-user-guide/index.html'],
  },
];
