// The detection as a person reads it: a block a GPU with its facts and where each came from, then driver and system.

import { type Fact, factValue, formatCc, type Gpu, isGiven, type Machine } from '../machine.ts';
import { columns, formatBytes, type Style } from '../style.ts';
import { sourceNames } from '../text/sources.ts';
import type { Detection } from './detect.ts';
import { rankGpus, type Score } from './score.ts';

export function renderDetection(detection: Detection, style: Style, verbose: boolean): string {
  const { machine } = detection;
  const scores = new Map(rankGpus(machine.gpus).map((score) => [score.id, score]));
  const blocks = machine.gpus.map((gpu, index) => gpuBlock(gpu, index, scores.get(gpu.id)!, style, verbose));
  const parts = [headline(machine, style), ...blocks, summary(machine, style)];
  if (verbose) parts.push(probeTable(machine, style));
  parts.push(style.dim(footer(detection)));
  return `${parts.filter((part) => part !== '').join('\n')}\n`;
}

function headline(machine: Machine, style: Style): string {
  const real = machine.gpus.filter((gpu) => gpu.vendor !== 'other');
  const usable = real.filter((gpu) => gpu.usable).length;
  if (real.length === 0) return `${style.bold('No GPU found')}\n`;
  const count = `${real.length} GPU${real.length === 1 ? '' : 's'}`;
  return `${style.bold(usable === real.length ? count : `${count}, ${usable} usable`)}\n`;
}

/** Cards of one kind are told apart by their number, so every block carries it. */
function gpuBlock(gpu: Gpu, index: number, score: Score, style: Style, verbose: boolean): string {
  const name = 'source' in gpu.name ? gpu.name.value : `unknown ${gpu.vendor === 'other' ? 'adapter' : gpu.vendor}`;
  const state = gpu.usable ? style.green('usable') : style.red('not usable');
  const lines = [`${style.bold(`[${index}] ${name}`)}  ${state}\n`];
  const rows = factRows(gpu, score, verbose).map(([label, value, source]) => [label, value, style.dim(source)]);
  lines.push(columns(rows, 2, 4));
  for (const blocker of gpu.blockers) lines.push(`    ${style.yellow('why')}  ${blocker}\n`);
  return lines.join('');
}

type Row = readonly [label: string, value: string, source: string];

function factRows(gpu: Gpu, score: Score, verbose: boolean): readonly Row[] {
  const rows: Row[] = [];
  const add = <T>(label: string, fact: Fact<T>, format: (value: T) => string, relevant = true) => {
    if ('source' in fact) {
      const note = fact.note ? `  (${fact.note})` : '';
      rows.push([label, `${format(fact.value)}${note}`, sourceNames[fact.source]]);
    } else if (relevant && (verbose || label === 'memory')) rows.push([label, 'unknown', fact.reason]);
  };
  const text = (value: string) => value;
  add(
    'target',
    gpu.computeCapability,
    (cc) => `sm_${formatCc(cc).replace('.', '')} (compute capability ${formatCc(cc)})`,
    false,
  );
  add('target', gpu.gfx, text, false);
  add('family', gpu.intelFamily, text, false);
  const chip = 'source' in gpu.chip ? `, ${gpu.chip.value}` : '';
  add('architecture', gpu.architecture, (value) => `${value}${chip}`, gpu.vendor !== 'other');
  add('units', gpu.units, String, gpu.vendor !== 'other');
  add('memory', gpu.memoryBytes, formatBytes, gpu.vendor !== 'other');
  if ('source' in gpu.memoryFreeBytes) add('free memory', gpu.memoryFreeBytes, formatBytes);
  if ('source' in gpu.mig && (gpu.mig.value.enabled || verbose)) add('MIG', gpu.mig, describeMig);
  add('kernel driver', gpu.boundDriver, text, gpu.pci !== null);
  if (gpu.pci && gpu.pci.address !== '') {
    rows.push(['PCI', `${gpu.pci.address}  ${gpu.pci.vendorId}:${gpu.pci.deviceId}${pciState(gpu)}`, 'sysfs']);
  }
  if (verbose) {
    add('UUID', gpu.uuid, text, gpu.vendor !== 'other');
    add('access', gpu.access, (access) => access.detail, gpu.vendor !== 'other');
  }
  if (gpu.vendor !== 'other') rows.push(['score', scoreText(score), score.complete ? '' : 'incomplete']);
  return rows;
}

function pciState(gpu: Gpu): string {
  const link = gpu.pci?.linkSpeed && gpu.pci.linkWidth ? `  x${gpu.pci.linkWidth} ${gpu.pci.linkSpeed}` : '';
  return `${link}${gpu.pci?.power === 'suspended' ? '  asleep' : ''}`;
}

function describeMig(mig: {
  enabled: boolean;
  instances: Gpu['mig'] extends Fact<infer M> ? (M extends { instances: infer I } ? I : never) : never;
}): string {
  if (!mig.enabled) return 'off';
  const sizes = mig.instances.map(({ memoryBytes }) => (memoryBytes === null ? 'unknown' : formatBytes(memoryBytes)));
  return sizes.length === 0 ? 'on, no instances' : `on, ${sizes.length} instances: ${sizes.join(', ')}`;
}

function scoreText(score: Score): string {
  if (score.total === null)
    return `none  (${score.parts.find((part) => part.points === null)?.because ?? 'nothing is known'})`;
  const parts = score.parts.map((part) => `${part.name} ${part.points === null ? '-' : `${part.points}/${part.most}`}`);
  return `${score.total.toFixed(1)} of 100  (${parts.join(', ')})`;
}

function summary(machine: Machine, style: Style): string {
  const { host, drivers } = machine;
  const rows: string[][] = [];
  if (drivers.nvidia) rows.push(['NVIDIA driver', nvidiaText(machine)]);
  if (drivers.amd) rows.push(['AMD driver', amdText(machine)]);
  if (drivers.intel) rows.push(['Intel driver', factValue(drivers.intel.module) ?? notBound(machine)]);
  const name = 'source' in host.name ? host.name.value : host.platform;
  rows.push(['system', `${name}, ${host.arch}, kernel ${host.kernel}${placeText(machine)}`]);
  const cpu = 'source' in host.cpu ? `${host.cpu.value}, ` : '';
  const memory = 'source' in host.memoryBytes ? `, ${formatBytes(host.memoryBytes.value)}` : '';
  rows.push(['processor', `${cpu}${host.cores} cores${memory}`]);
  for (const { name: variable, value } of machine.visibility) rows.push(['variable', `${variable}=${value}`]);
  for (const text of machine.overrides) rows.push(['given', text]);
  for (const text of machine.warnings) rows.push([style.yellow('warning'), text]);
  return columns(rows);
}

function nvidiaText(machine: Machine): string {
  const driver = machine.drivers.nvidia!;
  if (!('source' in driver.version)) return driver.version.reason;
  const flavour = 'source' in driver.module ? ` (${driver.module.value} module)` : '';
  const cuda = 'source' in driver.cuda ? `, CUDA up to ${driver.cuda.value}` : '';
  const mismatch = driver.mismatch ? `; library mismatch: ${driver.mismatch}` : '';
  return `${driver.version.value}${flavour}${cuda}${mismatch}`;
}

/** What was given by the user has no driver to look at. */
const notBound = (machine: Machine, otherwise = 'none bound'): string =>
  isGiven(machine) ? 'not detected: the GPU was given by the user' : otherwise;

function amdText(machine: Machine): string {
  const driver = machine.drivers.amd!;
  if (!driver.loaded) return notBound(machine, 'amdgpu is not loaded');
  const version = 'source' in driver.version ? ` ${driver.version.value}` : '';
  const rocm = 'source' in driver.rocm ? `, ROCm ${driver.rocm.value}` : ', no ROCm installed';
  return `amdgpu${version}${rocm}`;
}

function placeText({ host }: Machine): string {
  const places = [
    host.wsl > 0 ? `WSL${host.wsl}` : '',
    'source' in host.container ? `${host.container.value} container` : '',
    'source' in host.board ? host.board.value.model : '',
    'source' in host.cloud ? host.cloud.value : 'source' in host.hypervisor ? host.hypervisor.value : '',
    host.rosetta ? 'Rosetta' : '',
  ].filter((place) => place !== '');
  return places.length === 0 ? '' : ` (${places.join(', ')})`;
}

function probeTable(machine: Machine, style: Style): string {
  const rows = machine.probes.map((probe) => [
    `tier ${probe.tier}`,
    probe.name,
    probe.outcome === 'ok' || probe.outcome === 'skipped' ? probe.outcome : style.red(probe.outcome),
    `${probe.ms.toFixed(2)} ms`,
    probe.detail,
  ]);
  return rows.length === 0 ? '' : columns([['probes'], ...rows.map((row) => [`  ${row[0]}`, ...row.slice(1)])]);
}

function footer(detection: Detection): string {
  const started =
    detection.spawned === 0
      ? 'no process started'
      : `${detection.spawned} process${detection.spawned === 1 ? '' : 'es'} started`;
  const partial = detection.machine.partial ? '; some probes failed (-v shows them)' : '';
  return `${detection.cached ? 'from the cache' : 'detected'} in ${detection.ms.toFixed(1)} ms, ${started}${partial}`;
}
