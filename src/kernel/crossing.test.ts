// Which kernels read an operand across the output's lines, and how large their squares are.

import { expect, it } from 'vitest';
import { KernelBuilder } from '../../test/gpu/build.ts';
import { dtypeInfo } from '../base/dtype.ts';
import { crossingOf, lineOf, squareBytes } from './crossing.ts';
import type { Kernel } from './kernel.ts';

const room = { bytes: 36 * 1024, enough: 16, held: (type: keyof typeof dtypeInfo) => dtypeInfo[type].bytes };

function transpose(rows: number, columns: number): Kernel {
  const k = new KernelBuilder([rows, columns]);
  k.output(k.at(k.input('f32', rows * columns), k.flat([columns, rows], [k.axis(1), k.axis(0)])));
  return k.done('transpose');
}

it('are transposes that are large enough to matter', () => {
  expect(crossingOf(transpose(1024, 1024), room)).toMatchObject({ across: 0, along: 1, edge: 64 });
  expect(crossingOf(transpose(128, 128), room)).toBeNull();
  expect(crossingOf(transpose(8, 65536), room)).toBeNull();
});

it('take small squares where large ones are few, or have no room', () => {
  expect(crossingOf(transpose(256, 256), { ...room, enough: 17 })).toMatchObject({ edge: 32 });
  expect(crossingOf(transpose(1024, 1024), { ...room, bytes: 16 * 1024 })).toMatchObject({ edge: 32 });
  expect(crossingOf(transpose(1024, 1024), { ...room, bytes: 4 * 1024 })).toBeNull();
});

it('are none that only read along the lines', () => {
  const k = new KernelBuilder([1024, 1024]);
  k.output(k.whole('f32'));
  expect(crossingOf(k.done('copy'), room)).toBeNull();
});

it('have lines of an odd number of words, so that no bank is met twice', () => {
  expect(lineOf(64, 4) % 2).toBe(1);
  expect((lineOf(64, 2) / 2) % 2).toBe(1);
  expect(squareBytes(64, 4)).toBe(64 * 65 * 4);
});
