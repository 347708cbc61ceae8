// The flame graph: paths of operations, as wide as their time. Scopes at the same time share it, so nothing is wider than what is
// below it.

import { type FlameNode, finish, shareOut } from '../analyse/tree.ts';
import type { ProfileFile } from '../file/types.ts';
import { drawing } from './canvas.ts';
import { h, token } from './dom.ts';
import { colour, cut, ms, percent, whole } from './words.ts';

const rowHeight = 20;

interface Box {
  readonly node: FlameNode;
  readonly from: number;
  readonly to: number;
  readonly depth: number;
}

/** A lane of its own for each device: its kernels below their device. */
function deviceNode(p: ProfileFile, device: string): FlameNode {
  const node: FlameNode = { name: device, total: 0, self: 0, calls: 0, children: new Map() };
  for (const k of p.kernels) {
    const took = k.ms ?? (k.pass === k.id ? k.passMs : null);
    if (k.device !== device || took === null) continue;
    const child = node.children.get(k.name) ?? { name: k.name, total: 0, self: 0, calls: 0, children: new Map() };
    child.total += took;
    child.self += took;
    child.calls++;
    node.children.set(k.name, child);
    node.total += took;
    node.calls++;
  }
  return node;
}

function boxesOf(root: FlameNode): Box[] {
  const boxes: Box[] = [];
  const visit = (node: FlameNode, from: number, depth: number): void => {
    let at = from;
    for (const child of [...node.children.values()].sort((a, b) => b.total - a.total)) {
      if (child.total <= 0) continue;
      boxes.push({ node: child, from: at, to: at + child.total, depth });
      visit(child, at, depth + 1);
      at += child.total;
    }
  };
  visit(root, 0, 0);
  return boxes;
}

function graph(title: string, root: FlameNode): HTMLElement {
  const boxes = boxesOf(root);
  const deepest = boxes.reduce((most, b) => Math.max(most, b.depth), 0);
  const view = { from: 0, to: Math.max(root.total, 1e-6) };
  const clamp = (): void => {
    const span = Math.min(view.to - view.from, root.total);
    view.from = Math.max(0, Math.min(view.from, root.total - span));
    view.to = view.from + span;
  };
  const find = (x: number, y: number, width: number): Box | undefined => {
    const time = view.from + (x / width) * (view.to - view.from);
    const depth = Math.floor(y / rowHeight);
    return boxes.find((b) => b.depth === depth && b.from <= time && b.to > time);
  };
  const names = [...new Set(boxes.map((b) => b.node.name))];
  const made = drawing({
    label: `${title}: flame graph of ${names.length} operations`,
    height: () => Math.min(420, (deepest + 1) * rowHeight + 2),
    draw: (g, width) => {
      const k = width / (view.to - view.from);
      const colours = Array.from({ length: 8 }, (_, i) => token(colour(i)));
      g.font = '11.5px system-ui, sans-serif';
      g.textBaseline = 'middle';
      for (const { node, from, to, depth } of boxes) {
        const [x0, x1] = [Math.max(0, (from - view.from) * k), Math.min(width, (to - view.from) * k)];
        if (x1 - x0 < 0.4) continue;
        g.fillStyle = colours[names.indexOf(node.name) % 8]!;
        g.fillRect(x0, depth * rowHeight + 1, Math.max(1, x1 - x0 - 1), rowHeight - 2);
        if (x1 - x0 < 30) continue;
        g.fillStyle = '#fff';
        g.fillText(cut(node.name, Math.floor((x1 - x0) / 6.6)), x0 + 4, depth * rowHeight + rowHeight / 2, x1 - x0 - 6);
      }
    },
    at: (x, y, width) => {
      const box = find(x, y, width);
      if (!box) return null;
      const { name, total, self, calls } = box.node;
      return `${name}\n${ms(total)} (${percent(total / root.total)}), own ${ms(self)}\n${whole(calls)} call${calls === 1 ? '' : 's'}`;
    },
    click: (x, y, width) => {
      const box = find(x, y, width);
      [view.from, view.to] = box ? [box.from, box.to] : [0, root.total];
    },
    pan: (dx, _dy, width) => {
      const moved = (dx / width) * (view.to - view.from);
      view.from += moved;
      view.to += moved;
      clamp();
    },
    zoom: (factor, x, width) => {
      const at = view.from + (x / width) * (view.to - view.from);
      const span = Math.max(1e-6, (view.to - view.from) * factor);
      view.from = at - (x / width) * span;
      view.to = view.from + span;
      clamp();
    },
  });
  document.addEventListener('theme', made.redraw);
  const all = (): void => {
    [view.from, view.to] = [0, root.total];
    made.redraw();
  };
  return h(
    'div',
    {},
    h(
      'div',
      { class: 'bar' },
      h('h3', {}, title),
      h('span', { class: 'grow' }),
      h('button', { click: all }, 'Everything'),
    ),
    made.element,
  );
}

export function flames(p: ProfileFile): HTMLElement[] {
  const host = finish(shareOut(p.entries)).root;
  const devices = [...new Set(p.kernels.map((k) => k.device))].map((d) => deviceNode(p, d)).filter((n) => n.total > 0);
  return [
    ...(host.total > 0 ? [graph('Host: scopes', host)] : []),
    ...devices.map((n) =>
      graph(`${n.name}: kernels`, { name: '', total: n.total, self: 0, calls: 0, children: n.children }),
    ),
  ];
}
