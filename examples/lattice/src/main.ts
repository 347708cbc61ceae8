// The page: one loop that searches when something changed, or spreads a field, and draws. What the controls ask for is done between
// two frames. Losing the GPU is the runtime's and the lattice's affair: the host goes on, and the page says so.

import { byId, type Mode, Panel } from './panel.ts';
import { onStroke, View } from './view.ts';
import { end, side, start, wallsOf } from './walls.ts';
import { type Found, type Kind, kindOf, kinds, World } from './world.ts';

declare global {
  /** For tests: what is shown, and a way to lose the GPU. */
  var __lattice: {
    found(): (Found & { readonly walls: Uint8Array }) | null;
    field(): Float32Array;
    searches(): number;
    device(): string;
    loseDevice(): void;
  };
}

/** Levels that the picture of a search advances in a frame, and steps of diffusion in one. */
const levelsPerFrame = 4;
const stepsPerFrame = 8;

const canvas = byId('lattice') as HTMLCanvasElement;
const view = new View(canvas);
const parameters = new URLSearchParams(location.search);
let walls = wallsOf('Rooms');
let mode: Mode = 'search';
/** What was found last, and around which walls. */
let found: (Found & { readonly walls: Uint8Array }) | null = null;
let shownLevel = 0;
let searches = 0;
let field = new Float32Array(side * side);
let changed = true;
let wish: Kind | null = kinds.find((k) => k === parameters.get('device')) ?? null;
let drawing = 1;

const panel = new Panel({
  device: (kind) => {
    wish = kind;
  },
  mode: (next) => {
    mode = next;
    panel.mode(next);
    changed = true;
  },
  walls: (name) => {
    walls = wallsOf(name);
    field = new Float32Array(side * side);
    changed = true;
  },
});
panel.mode(mode);
onStroke(canvas, (vertex, begins) => {
  if (vertex === start || vertex === end) return;
  if (begins) drawing = 1 - walls[vertex]!;
  if (walls[vertex] === drawing) return;
  walls[vertex] = drawing;
  if (drawing) field[vertex] = 0;
  changed = true;
});

let world = await open();
const refused = world.reports.find((r) => !r.open && kindOf(r.id) === 'webgpu');
if (refused) panel.notice(`No WebGPU here: ${refused.reason}. The lattice runs on the CPU.`);
globalThis.__lattice = {
  found: () => found,
  field: () => field,
  searches: () => searches,
  device: () => world.device,
  loseDevice: () => {
    const { id } = world.reports.find((r) => r.open && kindOf(r.id) === 'webgpu')!;
    (world.rt.device(id) as unknown as { gpu: GPUDevice }).gpu.destroy();
  },
};

for (;;) {
  await new Promise(requestAnimationFrame);
  try {
    await frame();
  } catch (error) {
    panel.notice(`It has stopped: ${error instanceof Error ? error.message : error}`);
    throw error;
  }
}

async function open(): Promise<World> {
  const opened = await World.open(wish);
  wish = null;
  panel.opened(opened.kind, opened.reports);
  opened.rt.on('lost', ({ reason }) => panel.notice(`WebGPU was lost (${reason}). The work goes on.`));
  changed = true;
  return opened;
}

async function frame(): Promise<void> {
  if (wish !== null && wish !== world.kind) {
    const old = world;
    world = await open();
    await old.close();
  }
  wish = null;
  if (changed) world.build(walls);
  await (mode === 'search' ? searchFrame() : diffusionFrame());
}

/** Searches if something changed; the picture follows the frontier. */
async function searchFrame(): Promise<void> {
  if (changed) {
    changed = false;
    const levels = world.levels;
    const around = walls.slice();
    found = { ...(await world.search()), walls: around };
    searches++;
    shownLevel = 0;
    const reached = found.distances.reduce((n, d) => n + (d >= 0 ? 1 : 0), 0);
    const farthest = found.distances.reduce((most, d) => Math.max(most, d), 0);
    panel.figures(
      `${found.ms.toFixed(1)} ms`,
      `${world.levels - levels} levels on ${world.device}`,
      found.path.length > 0 ? `${found.path.length - 1}` : 'no way',
      `${reached} vertices reached, the farthest after ${farthest} steps`,
    );
  }
  const { distances, path } = found!;
  const farthest = distances.reduce((most, d) => Math.max(most, d), 1);
  shownLevel = Math.min(farthest, shownLevel + levelsPerFrame);
  const value = (v: number): number | null =>
    distances[v]! < 0 || distances[v]! > shownLevel ? null : 1 - distances[v]! / farthest;
  view.draw(walls, value, shownLevel === farthest ? path : []);
}

async function diffusionFrame(): Promise<void> {
  changed = false;
  const { field: next, ms } = await world.spread(field, stepsPerFrame);
  // Walls drawn meanwhile hold nothing.
  field = next.map((x, v) => (walls[v] ? 0 : x));
  const warmth = field.reduce((sum, x) => sum + x, 0);
  panel.figures(
    `${ms.toFixed(1)} ms`,
    `${stepsPerFrame} steps on ${world.device}`,
    warmth.toFixed(1),
    'all values added up',
  );
  // Roots show how far little warmth has come.
  view.draw(walls, (v) => Math.sqrt(Math.sqrt(field[v]!)), []);
}
