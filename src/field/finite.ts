// Where a value stopped being a number: looked for only once a cycle has failed.

import type { Tensor } from '../index.ts';
import type { FieldBody } from './body.ts';
import { FieldStateError } from './errors.ts';

export function firstNotFinite(field: FieldBody, made: Tensor, where: string): FieldStateError {
  const { rt: runtime, device, row } = field;
  const cycle = field.carried.cycle + 1;
  let cell: number[] = [];
  if (runtime.device(device).caps.syncRead) {
    using position = runtime.scope({ device }, () =>
      made
        .slice([[row, row + 1]])
        .flatten()
        .cast('f32')
        .isfinite()
        .cast('i32')
        .argmin()
        .compute(),
    );
    cell = unravelled(Number(position.item()), made.shape.slice(1));
  }
  const place = cell.length > 0 ? `, first in cell [${cell.slice(0, 3).join(', ')}], channel ${cell[3]}` : '';
  return new FieldStateError({
    where,
    problem: `cycle ${cycle} gave values that are no numbers${place} (${device})`,
    fix: 'The field is as it was before the cycle. Use smaller settings, or reset it.',
    cycle,
    cell,
  });
}

function unravelled(index: number, shape: readonly number[]): number[] {
  const cell: number[] = [];
  let left = index;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    cell.unshift(left % shape[axis]!);
    left = Math.floor(left / shape[axis]!);
  }
  return cell;
}
