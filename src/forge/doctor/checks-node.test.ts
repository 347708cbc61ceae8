import { describe, expect, it } from 'vitest';
import { machine as recorded } from '../../../test/forge/fixtures/machines.ts';
import { machine } from '../../../test/forge/fixtures/targets.ts';
import { worldOf } from '../../../test/forge/fixtures/world.ts';
import { checkNode } from './checks-node.ts';

describe('Node', () => {
  it.each([
    ['v20.18.3', true],
    ['v20.19.0', false],
    ['v21.7.3', true],
    ['v22.11.0', true],
    ['v22.12.0', false],
    ['v26.1.0', false],
  ])('%s is too old: %s, as package.json says', (node, old) => {
    const world = worldOf(recorded('noGpu'));
    const ports = { ...world.ports, node };
    const codes = checkNode({ world: { ...world, ports }, ports, machine: machine(), options: {} }).map(
      ({ code }) => code,
    );
    expect(codes.includes('NODE-OLD')).toBe(old);
  });
});
