import { describe, expect, it } from 'vitest';
import { TestClock } from '../../test/support/facade.ts';
import { PerformanceLogger } from './logger.ts';

describe('the performance logger', () => {
  it('keeps the newest 1000 records', () => {
    const logger = PerformanceLogger.create();
    for (let i = 1; i <= 1500; i++) logger.logMetrics({ computeTime: i });
    expect(logger.size).toBe(1000);
    expect(logger.toJSON()[0]!.fields.computeTime).toBe(501);
    expect(logger.toJSON().at(-1)!.fields.computeTime).toBe(1500);
    const { fields, means, records } = logger.getAverages()!;
    expect(means.computeTime).toBe(1000.5);
    expect(records).toBe(1000);
    expect(fields.computeTime).toEqual({
      count: 1000,
      mean: 1000.5,
      median: 1000.5,
      p95: 1450,
      p99: 1490,
      min: 501,
      max: 1500,
    });
  });

  it('has no averages without records', () => {
    const logger = PerformanceLogger.create();
    expect(logger.getAverages()).toBeNull();
    logger.logMetrics({ a: 1 });
    logger.clear();
    expect(logger.getAverages()).toBeNull();
    expect(logger.size).toBe(0);
  });

  it('averages each field over the records that have it, and takes both shapes', () => {
    const clock = new TestClock();
    const logger = PerformanceLogger.create({ clock });
    logger.logMetrics({ computeTime: 1, other: 5, missing: null });
    clock.time = 250;
    logger.logMetrics({
      memoryUsage: { numTensors: 2, numBytes: 10, unreliable: true, reasons: ['because'] },
      computeTime: 3,
      transferTime: 4,
      gpuUtilization: null,
    });
    const averages = logger.getAverages()!;
    expect(averages.means).toEqual({
      computeTime: 2,
      other: 5,
      transferTime: 4,
      'memoryUsage.numTensors': 2,
      'memoryUsage.numBytes': 10,
    });
    expect(averages.fields.other!.count).toBe(1);
    expect(averages.unreliable).toBe(true);
    expect(logger.toJSON().map((r) => [r.at, r.wall])).toEqual([
      [0, 1_700_000_000_000],
      [250, 1_700_000_000_250],
    ]);
  });
});
