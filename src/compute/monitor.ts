// PerformanceMonitor: the monitor of the devices of the facade.

import { notMade } from '../base/arguments.ts';
import { checkMethods } from '../base/signatures.ts';
import { PerformanceLogger } from '../profile/logger.ts';
import { Monitor, type MonitorOptions } from '../profile/monitor.ts';
import { Shared } from '../profile/shared.ts';
import { DeviceManager } from './device-manager.ts';
import { computeKinds, monitorMakers, monitorSignatures } from './signatures.ts';

export interface MonitorDeps extends MonitorOptions {
  readonly devices?: DeviceManager | undefined;
  readonly logger?: PerformanceLogger | undefined;
}

const shared = new Shared<PerformanceMonitor, MonitorOptions>('PerformanceMonitor', (options) =>
  PerformanceMonitor.create({
    ...options,
    devices: DeviceManager.getInstance(),
    logger: PerformanceLogger.getInstance(),
  }),
);

export class PerformanceMonitor extends Monitor {
  static getInstance(options?: MonitorOptions): PerformanceMonitor {
    return shared.get(options);
  }

  /** All monitors of one DeviceManager see the same work; each has its own times "since the previous call". */
  static create(deps: MonitorDeps = {}): PerformanceMonitor {
    return new PerformanceMonitor(deps);
  }

  private constructor(deps: MonitorDeps = notMade('PerformanceMonitor', 'PerformanceMonitor.create()')) {
    const devices = deps.devices ?? DeviceManager.getInstance();
    super(devices, deps.logger ?? PerformanceLogger.create({ clock: devices.clock }), deps);
  }
}

checkMethods(PerformanceMonitor.prototype, monitorSignatures, computeKinds);
checkMethods(PerformanceMonitor, monitorMakers, computeKinds);
