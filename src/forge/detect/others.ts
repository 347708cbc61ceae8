// The remaining ones: Apple silicon, and display adapters that cannot compute (server management chips, emulated cards).

import { type Gpu, type HostSystem, known, missing, type PciFacts } from '../machine.ts';
import { block, newGpu } from './draft.ts';

/** On Apple silicon the processor's name and the memory are enough to advise; nothing is started. */
export function readApple(host: HostSystem): readonly Gpu[] {
  const cpu = 'source' in host.cpu ? host.cpu.value : '';
  if (host.platform !== 'macos' || (host.arch !== 'arm64' && !host.rosetta)) return [];
  const chip = /Apple (M\d+(?: (?:Pro|Max|Ultra))?)/.exec(cpu)?.[0];
  const gpu = newGpu({
    id: 'apple:0',
    vendor: 'apple',
    kind: known('integrated', 'os'),
    name: chip ? known(`${chip} GPU`, 'os') : missing(`the processor is named "${cpu}"`),
    chip: chip ? known(chip, 'os') : missing(`the processor is named "${cpu}"`),
    architecture: known('Apple silicon', 'os'),
    memoryBytes:
      'source' in host.memoryBytes
        ? known(host.memoryBytes.value, 'os', 'all of the unified memory; the system lets the GPU have a part of it')
        : host.memoryBytes,
    unified: true,
    boundDriver: known('AGX', 'os'),
  });
  return [host.rosetta ? block(gpu, ['this Node is an x64 build under Rosetta: the GPU needs an arm64 one']) : gpu];
}

const adapters: Readonly<Record<string, string>> = {
  '1a03': 'ASPEED server management adapter',
  '102b': 'Matrox display adapter',
  '1af4': 'virtio display adapter',
  '1234': 'QEMU display adapter',
  '1b36': 'QXL display adapter',
  '15ad': 'VMware display adapter',
  '80ee': 'VirtualBox display adapter',
  '1414': 'Hyper-V display adapter',
  '1013': 'Cirrus display adapter',
};

export function readOthers(pci: readonly PciFacts[]): readonly Gpu[] {
  const taken = ['10de', '1002', '8086'];
  return pci
    .filter((device) => !taken.includes(device.vendorId))
    .map((device) => {
      const adapter = adapters[device.vendorId];
      const gpu = newGpu({
        id: `pci:${device.address}`,
        vendor: 'other',
        kind: adapter ? known('virtual', 'pci-table') : missing('the vendor is not known'),
        name: adapter ? known(adapter, 'pci-table') : missing(`vendor ${device.vendorId} is not known`),
        pci: device,
      });
      return block(gpu, ['no compute on this device']);
    });
}
