// The doctor: detection, then every check, then one verdict. Read-only, and quick: no install, no framework import, no wake-up.

import type { Detection } from '../detect/detect.ts';
import { checkDrivers } from './checks-driver.ts';
import { checkAccess, checkGpus } from './checks-gpu.ts';
import { checkNode, checkVulkan } from './checks-node.ts';
import { checkLibraries, checkPlace } from './checks-place.ts';
import { checkPython } from './checks-python.ts';
import { checkCompute, checkData, checkDisk, checkNetwork, checkTools } from './checks-system.ts';
import {
  type Area,
  areas,
  type Context,
  type DeviceVerdict,
  DOCTOR_SCHEMA,
  type DoctorOptions,
  type DoctorReport,
  type Finding,
  finding,
  type Status,
  type World,
} from './types.ts';

type Check = (context: Context) => readonly Finding[] | Promise<readonly Finding[]>;

const checks: Readonly<Record<Exclude<Area, 'compute'>, Check>> = {
  gpu: checkGpus,
  driver: checkDrivers,
  access: checkAccess,
  place: checkPlace,
  libraries: checkLibraries,
  node: checkNode,
  vulkan: checkVulkan,
  python: checkPython,
  tools: checkTools,
  disk: checkDisk,
  network: checkNetwork,
  data: checkData,
};

/** The highest place decides. A note beside something good leaves it good. */
const order: readonly Status[] = ['skipped', 'info', 'ok', 'unverified', 'warning', 'error'];

export async function examine(world: World, detection: Detection, options: DoctorOptions = {}): Promise<DoctorReport> {
  const context: Context = { world, ports: world.ports, machine: detection.machine, options };
  const named = Object.entries(checks) as [Exclude<Area, 'compute'>, Check][];
  const [compute, ...results] = await Promise.all([
    checkCompute(context),
    ...named.map(([area, check]) => guarded(area, check, context)),
  ]);
  const findings = [...results.flat().map((f) => proven(f, compute.devices)), ...compute.findings];
  const grouped = areas.map((area) => {
    const own = findings.filter((entry) => entry.area === area);
    return { area, status: worst(own), findings: own };
  });
  const overall = worst(findings);
  return {
    schema: DOCTOR_SCHEMA,
    exitStatus: overall === 'error' ? 2 : overall === 'warning' ? 1 : 0,
    verdict: { compute: compute.verdict, devices: compute.devices },
    areas: grouped,
    supportedFixes: [...new Set(findings.flatMap((entry) => entry.fix?.action ?? []))],
    machine: detection.machine,
  };
}

/** A WebGPU device that computed has found its driver, wherever that lies: what was not found in the usual places is no trouble then. */
function proven(entry: Finding, devices: readonly DeviceVerdict[]): Finding {
  const computed = devices.find(({ device, ok }) => ok && device.startsWith('webgpu'));
  if (!computed || !['VK-LOADER', 'VK-NO-ICD'].includes(entry.code)) return entry;
  return finding('VK-OK', 'vulkan', 'ok', `${computed.device} computed: a driver was found outside the usual folders`, {
    evidence: entry.evidence,
  });
}

/** A check that throws is a fault of ours; it is shown, and the others go on. */
async function guarded(area: Area, check: Check, context: Context): Promise<readonly Finding[]> {
  try {
    return await check(context);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return [finding('DOCTOR-CHECK', area, 'warning', `this check itself failed: ${detail}`)];
  }
}

function worst(findings: readonly Finding[]): Status {
  return findings.reduce<Status>(
    (most, { status }) => (order.indexOf(status) > order.indexOf(most) ? status : most),
    'skipped',
  );
}
