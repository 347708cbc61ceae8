// Variables that hide devices. They are shown and warned about; a GPU is called unusable only where that is certain.

import type { Gpu, Vendor, Visibility } from '../machine.ts';
import type { Ports } from '../ports.ts';
import { block } from './draft.ts';

export const visibilityNames: readonly string[] = [
  'CUDA_VISIBLE_DEVICES',
  'CUDA_DEVICE_ORDER',
  'NVIDIA_VISIBLE_DEVICES',
  'HIP_VISIBLE_DEVICES',
  'ROCR_VISIBLE_DEVICES',
  'GPU_DEVICE_ORDINAL',
  'HSA_OVERRIDE_GFX_VERSION',
  'ONEAPI_DEVICE_SELECTOR',
  'ZE_AFFINITY_MASK',
];

/** The variables whose list of devices is understood, and for whom. */
const filters: readonly { readonly name: string; readonly vendor: Vendor }[] = [
  { name: 'CUDA_VISIBLE_DEVICES', vendor: 'nvidia' },
  { name: 'HIP_VISIBLE_DEVICES', vendor: 'amd' },
  { name: 'ROCR_VISIBLE_DEVICES', vendor: 'amd' },
];

export function readVisibility(ports: Ports): readonly Visibility[] {
  return visibilityNames.flatMap((name) => {
    const value = ports.env[name];
    return value === undefined ? [] : [{ name, value }];
  });
}

export interface Visible {
  readonly gpus: readonly Gpu[];
  readonly warnings: readonly string[];
}

export function applyVisibility(gpus: readonly Gpu[], visibility: readonly Visibility[]): Visible {
  const warnings: string[] = [];
  let result = gpus;
  const busOrder = visibility.some(({ name, value }) => name === 'CUDA_DEVICE_ORDER' && value === 'PCI_BUS_ID');
  for (const { name, vendor } of filters) {
    const value = visibility.find((entry) => entry.name === name)?.value;
    const concerned = result.filter((gpu) => gpu.vendor === vendor);
    if (value === undefined || concerned.length === 0) continue;
    const hidden = hiddenBy(value, concerned, vendor === 'amd' || busOrder);
    warnings.push(...hidden.warnings.map((text) => `${name}=${value}: ${text}`));
    result = result.map((gpu) => (hidden.ids.has(gpu.id) ? block(gpu, [`hidden by ${name}=${value}`]) : gpu));
  }
  return { gpus: result, warnings };
}

interface Hidden {
  readonly ids: ReadonlySet<string>;
  readonly warnings: readonly string[];
}

function hiddenBy(value: string, gpus: readonly Gpu[], orderKnown: boolean): Hidden {
  const all = new Set(gpus.map((gpu) => gpu.id));
  const shown = new Set<string>();
  const warnings: string[] = [];
  const sameOrder = orderKnown || gpus.length === 1 || isUniform(gpus);
  let uncertain = false;
  for (const entry of value.split(',').map((part) => part.trim())) {
    if (entry === '') break;
    if (/^-?\d+$/.test(entry)) {
      const index = Number(entry);
      // The CUDA runtime stops at the first entry that names no device.
      if (index < 0) break;
      if (index >= gpus.length) {
        warnings.push(`there is no device ${index}; what follows it is ignored too`);
        break;
      }
      if (sameOrder) shown.add(gpus[index]!.id);
      else uncertain = true;
    } else {
      const match = gpus.find((gpu) => uuidsOf(gpu).some((uuid) => uuid.startsWith(entry)));
      if (match) shown.add(match.id);
      else uncertain = true;
    }
  }
  if (uncertain) {
    warnings.push('which cards these are cannot be told; set CUDA_DEVICE_ORDER=PCI_BUS_ID to make the order certain');
    return { ids: new Set(), warnings };
  }
  const ids = new Set([...all].filter((id) => !shown.has(id)));
  if (ids.size > 0) warnings.push(`${ids.size} of ${all.size} devices are hidden`);
  return { ids, warnings };
}

function uuidsOf(gpu: Gpu): readonly string[] {
  const own = 'source' in gpu.uuid ? [gpu.uuid.value] : [];
  const instances = 'source' in gpu.mig ? gpu.mig.value.instances.flatMap(({ uuid }) => uuid ?? []) : [];
  return [...own, ...instances];
}

/** Cards of one kind keep their bus order under the default "fastest first" too. */
function isUniform(gpus: readonly Gpu[]): boolean {
  const chip = (gpu: Gpu) => gpu.pci?.deviceId ?? gpu.id;
  return gpus.every((gpu) => chip(gpu) === chip(gpus[0]!));
}
