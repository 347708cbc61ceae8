// What was routed: per operation type and device, how often, predicted, measured, and how far apart.

import type { DeviceId } from '../../devices/device.ts';
import type { Operation } from './types.ts';

export interface RouteStats {
  readonly op: Operation;
  readonly device: DeviceId;
  /** Measured runs. */
  readonly count: number;
  readonly totalMs: number;
  readonly meanMs: number;
  readonly predictedMs: number;
  /** The typical factor between prediction and measurement, less one: 0.2 is off by 20 % either way. */
  readonly error: number;
  /** Times this device was chosen, and of those to learn about it. */
  readonly decisions: number;
  readonly explored: number;
}

class Row {
  count = 0;
  measuredUs = 0;
  predictedUs = 0;
  logError = 0;
  decisions = 0;
  explored = 0;
}

export class StatsTable {
  readonly #rows = new Map<Operation, Map<DeviceId, Row>>();

  measured(op: Operation, device: DeviceId, predictedUs: number, measuredUs: number): void {
    const row = this.#row(op, device);
    row.count++;
    row.measuredUs += measuredUs;
    row.predictedUs += predictedUs;
    if (predictedUs > 0 && measuredUs > 0) row.logError += Math.abs(Math.log(measuredUs / predictedUs));
  }

  decided(op: Operation, device: DeviceId, explored: boolean): void {
    const row = this.#row(op, device);
    row.decisions++;
    if (explored) row.explored++;
  }

  list(): RouteStats[] {
    return [...this.#rows].flatMap(([op, devices]) =>
      [...devices].map(([device, r]) => ({
        op,
        device,
        count: r.count,
        totalMs: r.measuredUs / 1000,
        meanMs: r.count > 0 ? r.measuredUs / r.count / 1000 : 0,
        predictedMs: r.predictedUs / 1000,
        error: r.count > 0 ? Math.exp(r.logError / r.count) - 1 : 0,
        decisions: r.decisions,
        explored: r.explored,
      })),
    );
  }

  #row(op: Operation, device: DeviceId): Row {
    let devices = this.#rows.get(op);
    if (!devices) {
      devices = new Map();
      this.#rows.set(op, devices);
    }
    let row = devices.get(device);
    if (!row) {
      row = new Row();
      devices.set(device, row);
    }
    return row;
  }
}
