// The tables of chips and products: rows that agree with each other.

import { describe, expect, it } from 'vitest';
import { loadTables } from '../../data/tables.ts';
import { amdArchitecture, amdProducts, gfxOfVersion } from './amd-products.ts';
import { intelProduct, intelProducts } from './intel-products.ts';
import { architectureOf, coresPerUnit, cudaOfDriver, nvidiaChip } from './nvidia-chips.ts';
import { nvidiaProduct, nvidiaProducts } from './nvidia-products.ts';

describe('NVIDIA', () => {
  it.each([
    ['1380', 'GM107', 5, 0],
    ['17c8', 'GM200', 5, 2],
    ['15f8', 'GP100', 6, 0],
    ['1b06', 'GP102', 6, 1],
    ['1db6', 'GV100', 7, 0],
    ['1eb8', 'TU104', 7, 5],
    ['21c4', 'TU116', 7, 5],
    ['20b2', 'GA100', 8, 0],
    ['2204', 'GA102', 8, 6],
    ['2684', 'AD102', 8, 9],
    ['2335', 'GH100', 9, 0],
    ['2901', 'GB100', 10, 0],
    ['3182', 'GB110', 10, 3],
    ['2b85', 'GB202', 12, 0],
    ['2e12', 'GB20B', 12, 1],
    ['102d', 'GK210', 3, 7],
  ])('device %s is %s with compute capability %i.%i', (id, chip, major, minor) => {
    expect(nvidiaChip(id)).toMatchObject({ chip, cc: { major, minor } });
  });

  it('has a chip for every product, and each id once', () => {
    const products = nvidiaProducts();
    expect(new Set(products.map(({ deviceId }) => deviceId)).size).toBe(products.length);
    for (const { deviceId, name } of products) expect(nvidiaChip(deviceId), name).toBeDefined();
    for (const { deviceId } of products) expect(nvidiaProduct(deviceId)?.deviceId).toBe(deviceId);
  });

  it('leaves ids between the blocks unknown', () => {
    for (const id of ['2a00', '3f01', '0040', '22ba']) expect(nvidiaChip(id)).toBeUndefined();
  });

  it('knows the CUDA version of a driver by its branch', () => {
    expect(cudaOfDriver('580.159.04')).toBe('13.0');
    expect(cudaOfDriver('572.83')).toBe('12.8');
    expect(cudaOfDriver('390.157')).toBeUndefined();
  });

  it('counts the cores of a multiprocessor', () => {
    expect(coresPerUnit({ major: 9, minor: 0 }) * 132).toBe(16_896);
    expect(coresPerUnit({ major: 8, minor: 0 }) * 108).toBe(6912);
    expect(coresPerUnit({ major: 6, minor: 1 }) * 20).toBe(2560);
    expect(architectureOf({ major: 8, minor: 7 })).toBe('Ampere');
  });
});

describe('AMD', () => {
  it.each([
    [90_010, 'gfx90a'],
    [90_402, 'gfx942'],
    [100_306, 'gfx1036'],
    [110_501, 'gfx1151'],
    [120_001, 'gfx1201'],
  ])('%i is %s', (version, gfx) => {
    expect(gfxOfVersion(version)).toBe(gfx);
  });

  it('takes a CPU node for no GPU', () => {
    for (const version of [0, -1, Number.NaN]) expect(gfxOfVersion(version)).toBeUndefined();
  });

  it('knows the architecture of every product', () => {
    for (const { gfx, name } of amdProducts()) expect(amdArchitecture(gfx), name).toBeDefined();
  });
});

describe('Intel', () => {
  it('tells families apart, and an unknown display device is an older one', () => {
    expect(intelProduct('e20b')).toMatchObject({ family: 'battlemage', integrated: false, memoryGiB: 12 });
    expect(intelProduct('b082')).toMatchObject({ family: 'panther-lake', integrated: true });
    expect(intelProduct('1912')).toMatchObject({ family: 'gen', integrated: true });
    const ids = intelProducts().map(({ deviceId }) => deviceId);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe("the resolver's data", () => {
  const { tables } = loadTables();

  it('names the same CUDA version for every driver branch', () => {
    for (const { branch, cuda } of tables.cuda.branches)
      expect(cudaOfDriver(`${branch}.10`), String(branch)).toBe(cuda);
  });

  it('names the same architecture for every compute capability detection can yield', () => {
    const known = new Map(tables.compute.capabilities.map(({ cc, architecture }) => [cc, architecture]));
    for (const { deviceId, name } of nvidiaProducts()) {
      const chip = nvidiaChip(deviceId)!;
      const cc = `${chip.cc.major}.${chip.cc.minor}`;
      expect(known.get(cc), `${name} ${cc}`).toBe(chip.architecture);
    }
  });
});
