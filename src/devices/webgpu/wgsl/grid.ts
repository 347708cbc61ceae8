// Workgroups in x and y for any count: one dimension of a dispatch holds at most 65,535.

import type { Traits } from '../plan.ts';

export interface Grid {
  readonly workgroups: readonly [number, number, number];
  /** The linear workgroup number, as u32. Beyond the count for the last row's spare workgroups. */
  readonly group: string;
}

export function gridOf(groups: number, traits: Traits): Grid {
  const limit = traits.maxWorkgroupsPerDimension;
  if (groups <= limit) return { workgroups: [groups, 1, 1], group: 'wid.x' };
  const y = Math.ceil(groups / limit);
  const x = Math.ceil(groups / y);
  return { workgroups: [x, y, 1], group: `(wid.y * ${x}u + wid.x)` };
}

/** Statements that split a linear position into one i32 per axis, sizes outermost first. */
export function unravel(linear: string, sizes: readonly number[], name: (axis: number) => string): string[] {
  const lines: string[] = [];
  let rest = linear;
  for (let d = sizes.length - 1; d >= 0; d--) {
    const size = sizes[d]!;
    if (size === 1) continue;
    const last = sizes.slice(0, d).every((s) => s === 1);
    if (last) {
      lines.push(`let ${name(d)} = i32(${rest});`);
      break;
    }
    lines.push(`let ${name(d)} = i32(${rest} % ${size}u);`);
    const next = `${name(d)}_rest`;
    lines.push(`let ${next} = ${rest} / ${size}u;`);
    rest = next;
  }
  return lines;
}
