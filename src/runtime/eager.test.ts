import { expect, it } from 'vitest';
import type { Place } from '../devices/place.ts';
import { aluRows } from '../graph/args.ts';
import { aluNode, aluNumberNode, makeNode, type Node, noNodes, partsOf } from '../graph/node.ts';
import { fits, gatheredNumbers, outlineOf } from '../graph/outline.ts';
import type { Storage } from '../graph/storage.ts';
import { EagerPrograms } from './eager.ts';
import type { Executable } from './executable.ts';
import { anywhere } from './want.ts';

const place = { generation: 0 } as Place;

function computed(): Node {
  const node = makeNode('leaf', 'f32', [4], noNodes);
  const buffer = { bytes: 16 };
  node.storage = { mask: 1, pin: null, place, buffer, plain: true, use: () => {} } as unknown as Storage;
  return node;
}

const ran = (explored: boolean): Executable =>
  ({
    place,
    generation: 0,
    plan: { kept: [], outputs: [1], leaves: 1 },
    decision: { explored },
  }) as unknown as Executable;

it('what was traced twice is remembered, unless its place was a try or a way out', () => {
  const node = aluNumberNode(aluRows.add, computed(), 5);
  const second = (executable: Executable, want = anywhere): unknown => {
    const programs = new EagerPrograms();
    programs.traced(node, want, executable, 0);
    return programs.traced(node, want, executable, 0);
  };
  expect(second(ran(false))).toMatchObject({ epoch: 0 });
  expect(second(ran(true))).toBeNull();
  expect(second(ran(false), { ...anywhere, excluded: 2 })).toBeNull();
});

it('a constant that is used twice is found twice, and told once', () => {
  const twice = (value: number): Node => {
    const x = computed();
    const [number] = partsOf(aluNumberNode(aluRows.add, x, value));
    return aluNode(aluRows.mul, [aluNode(aluRows.add, [x, number]), number]);
  };
  const outline = outlineOf(twice(5), 1)!;
  expect(fits(outline, twice(7), place, [], 1)).toBe(true);
  expect(gatheredNumbers()).toEqual([7]);
});
