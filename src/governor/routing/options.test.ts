import { describe, expect, it } from 'vitest';
import { ArgumentError } from '../../errors.ts';
import { covers, type RoutingOptions, resolveRouting, routingVariables } from './options.ts';

const none = {};

describe('values that cannot be used', () => {
  it.each<[RoutingOptions, string]>([
    [{ mode: 'fast' as 'rules' }, 'routing.mode'],
    [{ enabled: 'yes' as unknown as boolean }, 'routing.enabled'],
    [{ device: '' }, 'routing.device'],
    [{ forbid: 'cuda' as unknown as string[] }, 'routing.forbid'],
    [{ allowFallback: 1 as unknown as boolean }, 'routing.allowFallback'],
    [{ gpuThresholdElements: 9 }, 'routing.gpuThresholdElements'],
    [{ gpuThresholdElements: 10.5 }, 'routing.gpuThresholdElements'],
    [{ gpuOptimalThreshold: 99 }, 'routing.gpuOptimalThreshold'],
    [{ overheadToleranceMs: -1 }, 'routing.overheadToleranceMs'],
    [{ overheadToleranceMs: Number.NaN }, 'routing.overheadToleranceMs'],
    [{ explore: 3 as unknown as boolean }, 'routing.explore'],
    [{ explore: { maxShare: 0.6 } }, 'routing.explore.maxShare'],
    [{ explore: { maxRatio: 0.5 } }, 'routing.explore.maxRatio'],
    [{ explore: { minSamples: 0 } }, 'routing.explore.minSamples'],
    [{ explore: { maxMs: 0 } }, 'routing.explore.maxMs'],
    [{ explore: { often: true } as object }, 'routing.explore.often'],
    [{ cache: true as unknown as string }, 'routing.cache'],
    [{ treshold: 5 } as RoutingOptions, 'routing.treshold'],
  ])('%j is an error that names %s', (options, key) => {
    const attempt = () => resolveRouting(options, none);
    expect(attempt).toThrow(ArgumentError);
    expect(attempt).toThrow(`${key}: `);
  });

  it('accepts the least values', () => {
    const options = { gpuThresholdElements: 10, gpuOptimalThreshold: 100, overheadToleranceMs: 0 };
    expect(resolveRouting(options, none)).toMatchObject(options);
  });
});

it('has documented defaults', () => {
  expect(resolveRouting({}, none)).toEqual({
    mode: 'measured',
    device: null,
    forbid: [],
    allowFallback: false,
    gpuThresholdElements: 1000,
    gpuOptimalThreshold: 10_000,
    overheadToleranceMs: 10,
    given: { threshold: false, optimal: false, overhead: false },
    explore: { maxShare: 0.02, maxRatio: 1.4, minSamples: 4, maxMs: 20 },
    cache: null,
  });
});

describe('the environment', () => {
  it('supplies defaults under the documented names', () => {
    expect(routingVariables).toEqual({
      mode: 'GPUFORGE_ROUTING_MODE',
      enabled: 'GPUFORGE_ROUTING_ENABLED',
      device: 'GPUFORGE_ROUTING_DEVICE',
      forbid: 'GPUFORGE_ROUTING_FORBID',
      allowFallback: 'GPUFORGE_ROUTING_ALLOW_FALLBACK',
      gpuThresholdElements: 'GPUFORGE_GPU_THRESHOLD_ELEMENTS',
      gpuOptimalThreshold: 'GPUFORGE_GPU_OPTIMAL_THRESHOLD',
      overheadToleranceMs: 'GPUFORGE_OVERHEAD_TOLERANCE_MS',
      explore: 'GPUFORGE_ROUTING_EXPLORE',
      cache: 'GPUFORGE_ROUTING_CACHE',
    });
    const env = {
      GPUFORGE_ROUTING_MODE: 'rules',
      GPUFORGE_ROUTING_DEVICE: 'cuda:1',
      GPUFORGE_ROUTING_FORBID: 'webgpu, cuda:0',
      GPUFORGE_ROUTING_ALLOW_FALLBACK: '1',
      GPUFORGE_GPU_THRESHOLD_ELEMENTS: '500',
      GPUFORGE_GPU_OPTIMAL_THRESHOLD: '2000',
      GPUFORGE_OVERHEAD_TOLERANCE_MS: '2.5',
      GPUFORGE_ROUTING_EXPLORE: 'false',
      GPUFORGE_ROUTING_CACHE: '/tmp/somewhere',
    };
    expect(resolveRouting({}, env)).toEqual({
      mode: 'rules',
      device: 'cuda:1',
      forbid: ['webgpu', 'cuda:0'],
      allowFallback: true,
      gpuThresholdElements: 500,
      gpuOptimalThreshold: 2000,
      overheadToleranceMs: 2.5,
      given: { threshold: true, optimal: true, overhead: true },
      explore: false,
      cache: '/tmp/somewhere',
    });
    expect(resolveRouting({}, { GPUFORGE_ROUTING_ENABLED: '0' }).mode).toBe('off');
    expect(resolveRouting({}, { GPUFORGE_ROUTING_CACHE: '0' }).cache).toBe(false);
  });

  it('gives way to options', () => {
    expect(resolveRouting({ mode: 'measured' }, { GPUFORGE_ROUTING_MODE: 'rules' }).mode).toBe('measured');
  });

  it('is refused by the name of the variable', () => {
    expect(() => resolveRouting({}, { GPUFORGE_GPU_THRESHOLD_ELEMENTS: 'many' })).toThrow(
      "GPUFORGE_GPU_THRESHOLD_ELEMENTS: 'many' is not a whole number, 10 or more",
    );
    expect(() => resolveRouting({}, { GPUFORGE_ROUTING_ENABLED: 'maybe' })).toThrow('GPUFORGE_ROUTING_ENABLED');
  });
});

it('takes a kind for all its devices', () => {
  expect(covers(['webgpu'], 'webgpu:0')).toBe(true);
  expect(covers(['cuda:1'], 'cuda:0')).toBe(false);
  expect(covers(['cpu'], 'cpu')).toBe(true);
});
