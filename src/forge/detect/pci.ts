// The PCI display and accelerator devices, from sysfs attributes alone.
//
// Reads attributes that the kernel answers from its own memory; never `config`, which can wake a sleeping card, and never a
// device node. An entry whose ids cannot be read is left out; unreadable optional attributes become null.

import type { PciFacts } from '../machine.ts';
import type { FilePort } from '../ports.ts';

export const PCI_ROOT = '/sys/bus/pci/devices';

/** Display controllers (03xx) and processing accelerators (1200). */
function isGpuClass(classCode: string): boolean {
  return classCode.startsWith('03') || classCode.startsWith('1200');
}

export function scanPci(files: FilePort): readonly PciFacts[] {
  const found: PciFacts[] = [];
  for (const address of files.list(PCI_ROOT) ?? []) {
    const classCode = hex(files.read(`${PCI_ROOT}/${address}/class`), 6);
    if (classCode === null || !isGpuClass(classCode)) continue;
    const facts = readDevice(files, address, classCode);
    if (facts) found.push(facts);
  }
  return found;
}

function readDevice(files: FilePort, address: string, classCode: string): PciFacts | undefined {
  const at = `${PCI_ROOT}/${address}`;
  const vendorId = hex(files.read(`${at}/vendor`), 4);
  const deviceId = hex(files.read(`${at}/device`), 4);
  if (vendorId === null || deviceId === null) return undefined;
  const subVendor = hex(files.read(`${at}/subsystem_vendor`), 4);
  const subDevice = hex(files.read(`${at}/subsystem_device`), 4);
  return {
    address: address.toLowerCase(),
    vendorId,
    deviceId,
    subsystem: subVendor && subDevice ? `${subVendor}:${subDevice}` : null,
    revision: hex(files.read(`${at}/revision`), 2),
    classCode,
    numaNode: wholeNumber(files.read(`${at}/numa_node`)),
    linkSpeed: text(files.read(`${at}/current_link_speed`)),
    linkWidth: wholeNumber(files.read(`${at}/current_link_width`)),
    power: text(files.read(`${at}/power/runtime_status`)),
    regions: parseRegions(files.read(`${at}/resource`)),
  };
}

/** Whether a device is powered down until it is used. */
export const isAsleep = (files: FilePort, address: string): boolean =>
  files.read(`${PCI_ROOT}/${address}/power/runtime_status`)?.trim() === 'suspended';

/** The name of the kernel driver bound to a device; undefined when none is. */
export function boundDriver(files: FilePort, address: string): string | undefined {
  return files.link(`${PCI_ROOT}/${address}/driver`)?.split('/').at(-1);
}

/** Memory regions in bytes. IO ports (flag bit 8) and unused lines count as 0. */
export function parseRegions(resource: string | undefined): readonly number[] {
  if (resource === undefined) return [];
  return resource
    .trim()
    .split('\n')
    .slice(0, 6)
    .map((line) => {
      const [start, end, flags] = line.trim().split(/\s+/).map(Number);
      if (start === undefined || end === undefined || flags === undefined) return 0;
      const isMemory = Math.floor(flags / 0x200) % 2 === 1;
      return isMemory && end > start ? end - start + 1 : 0;
    });
}

/** NVML and lspci write the domain with eight or no digits; sysfs with four. */
export function normalizeAddress(address: string): string {
  const found = /^(?:([0-9a-f]+):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])$/i.exec(address.trim());
  if (!found) return address.trim().toLowerCase();
  const domain = Number.parseInt(found[1] ?? '0', 16);
  return `${domain.toString(16).padStart(4, '0')}:${found[2]}:${found[3]}.${found[4]}`.toLowerCase();
}

function hex(raw: string | undefined, digits: number): string | null {
  const found = raw === undefined ? null : /^0x([0-9a-f]+)$/i.exec(raw.trim());
  return found ? found[1]!.toLowerCase().padStart(digits, '0').slice(-digits) : null;
}

function wholeNumber(raw: string | undefined): number | null {
  const trimmed = raw?.trim();
  return trimmed && /^-?\d+$/.test(trimmed) ? Number(trimmed) : null;
}

function text(raw: string | undefined): string | null {
  const trimmed = raw?.trim();
  return trimmed && trimmed !== 'Unknown' ? trimmed : null;
}
