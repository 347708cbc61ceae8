// The page: one loop that advances the field, reads it and draws it. Losing the GPU is the runtime's affair; the page only
// tells what its events say.
//
// Whatever the controls ask for is noted and done between two frames, so that nothing changes under a frame's feet.

import { Meter } from './meter.ts';
import { seed } from './model.ts';
import { byId, Panel } from './panel.ts';
import { type Kind, kindOf, kinds, Simulation } from './simulation.ts';
import { onDraw, View } from './view.ts';

declare global {
  /** For tests: the simulation that runs, its last state, and a way to lose the GPU. */
  var __example: { simulation(): Simulation; state(): Float32Array; loseDevice(): void };
}

const canvas = byId('field') as HTMLCanvasElement;
const view = new View(canvas);
const meter = new Meter();
const strokes: [number, number][] = [];
const asked: { device: Kind | null; state: Float32Array | null; parameters: boolean } = {
  device: null,
  state: null,
  parameters: false,
};
let paused = false;

const panel = new Panel({
  change: () => {
    asked.parameters = true;
  },
  pause: (p) => {
    paused = p;
    meter.clear();
  },
  reset: () => {
    asked.state = seed();
  },
  device: (kind) => {
    asked.device = kind;
  },
});
onDraw(canvas, (x, y) => strokes.push([x, y]));

let last = seed();
/** The device that the panel shows. */
let told = '';
let simulation = await start(kinds.find((k) => k === new URLSearchParams(location.search).get('device')) ?? null);
const refused = simulation.reports.find((r) => !r.open && kindOf(r.id) === 'webgpu');
if (refused) panel.notice(`No WebGPU here: ${refused.reason}. The field runs on the CPU.`);

globalThis.__example = {
  simulation: () => simulation,
  state: () => last,
  loseDevice: () => (simulation.device as unknown as { gpu: GPUDevice }).gpu.destroy(),
};

let shown = 0;
for (;;) {
  const now = await new Promise<number>(requestAnimationFrame);
  try {
    await frame();
  } catch (error) {
    panel.notice(`The field has stopped: ${error instanceof Error ? error.message : error}`);
    throw error;
  }
  if (now - shown > 250) {
    panel.figures(meter.figures(), simulation);
    shown = now;
  }
}

async function start(wish: Kind | null): Promise<Simulation> {
  const opened = await Simulation.open(wish, panel.controls);
  panel.offer(opened.reports);
  opened.rt.on('lost', ({ reason }) => panel.notice(`WebGPU was lost (${reason}). The field goes on with the CPU.`));
  opened.rt.on('reborn', ({ ms }) =>
    panel.notice(`WebGPU was lost and opened again after ${ms.toFixed(0)} ms. The field went on from its last frame.`),
  );
  opened.rt.on('abandoned', ({ reason }) =>
    panel.notice(`WebGPU was lost and does not come back (${reason}). The field goes on with the CPU.`),
  );
  told = '';
  return opened;
}

async function frame(): Promise<void> {
  if (asked.device !== null) {
    const kind = asked.device;
    asked.device = null;
    if (kind !== simulation.kind) {
      panel.notice('');
      const old = simulation;
      simulation = await start(kind);
      await old.close();
    }
  }
  if (asked.parameters) {
    asked.parameters = false;
    simulation.parameters = panel.controls;
  }
  if (asked.state) {
    last = asked.state;
    asked.state = null;
    view.draw(last);
  }
  if (paused) return;
  const started = performance.now();
  const result = await simulation.advance(last, panel.controls.steps, strokes.splice(0));
  last = result.state;
  view.draw(last);
  if (simulation.at === told) {
    meter.add(result, performance.now(), performance.now() - started);
    return;
  }
  // The first frame on a device compiles; its time says nothing about the steps. A device that was lost meanwhile is not told of.
  const { device } = simulation;
  if (!device) return;
  told = device.id;
  meter.clear();
  panel.computed(simulation, device);
}
