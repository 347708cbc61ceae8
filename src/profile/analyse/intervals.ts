// Stretches of time as flat lists: start, end, start, end. After `union` they are sorted and apart from each other.

export type Intervals = readonly number[];

/** What any of them covers. */
export function union(list: Intervals): number[] {
  const n = list.length / 2;
  if (n === 0) return [];
  const order = inOrder(list)
    ? null
    : Array.from({ length: n }, (_, i) => i).sort((a, b) => list[2 * a]! - list[2 * b]!);
  const merged: number[] = [];
  for (let k = 0; k < n; k++) {
    const i = order ? order[k]! : k;
    const [start, end] = [list[2 * i]!, list[2 * i + 1]!];
    if (!(end > start)) continue;
    const last = merged.length - 1;
    if (last > 0 && start <= merged[last]!) merged[last] = Math.max(merged[last]!, end);
    else merged.push(start, end);
  }
  return merged;
}

function inOrder(list: Intervals): boolean {
  for (let i = 2; i < list.length; i += 2) if (list[i]! < list[i - 2]!) return false;
  return true;
}

export function lengthOf(list: Intervals): number {
  let sum = 0;
  for (let i = 0; i < list.length; i += 2) sum += list[i + 1]! - list[i]!;
  return sum;
}

/** The part inside [from, to]. Takes and gives separate intervals. */
export function clip(list: Intervals, from: number, to: number): number[] {
  const inside: number[] = [];
  for (let i = 0; i < list.length; i += 2) {
    const start = Math.max(from, list[i]!);
    const end = Math.min(to, list[i + 1]!);
    if (end > start) inside.push(start, end);
  }
  return inside;
}

/** What is covered by `list` and not by `without`; both separate. */
export function subtract(list: Intervals, without: Intervals): number[] {
  const left: number[] = [];
  let j = 0;
  for (let i = 0; i < list.length; i += 2) {
    let start = list[i]!;
    const end = list[i + 1]!;
    while (j < without.length && without[j + 1]! <= start) j += 2;
    for (let k = j; k < without.length && without[k]! < end; k += 2) {
      if (without[k]! > start) left.push(start, without[k]!);
      start = Math.max(start, without[k + 1]!);
    }
    if (end > start) left.push(start, end);
  }
  return left;
}
