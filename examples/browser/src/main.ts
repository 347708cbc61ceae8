// The page: one loop that advances the field, reads it, draws it, and outlives its GPU: lost, it is opened again from the last
// frame; where it does not come back, or is lost again and again, the CPU goes on.
//
// Whatever the controls ask for is noted and done between two frames, so that nothing changes under a frame's feet.

import { ForgeError } from 'gpuforge';
import { Meter } from './meter.ts';
import { seed } from './model.ts';
import { byId, Panel } from './panel.ts';
import { type Kind, kindOf, kinds, Simulation, survey } from './simulation.ts';
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
/** When the GPU was lost, as long as that is recent. */
let losses: number[] = [];

const reports = await survey();
const panel = new Panel(reports, {
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
const wished = kinds.find((k) => k === new URLSearchParams(location.search).get('device'));
let simulation = await start(wished ?? kindOf(reports[0]!.id) ?? 'cpu');
const refused = reports.find((r) => !r.open && kindOf(r.id) === 'webgpu');
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
    if (!(error instanceof ForgeError) || simulation.kind === 'cpu') {
      panel.notice(`The field has stopped: ${error instanceof Error ? error.message : error}`);
      throw error;
    }
    simulation.loss ??= firstLine(error);
  }
  if (now - shown > 250) {
    panel.figures(meter.figures(), simulation);
    shown = now;
  }
}

/** Opens a device and goes on from the last state; on the CPU where that device cannot be had. */
async function start(kind: Kind): Promise<Simulation> {
  let opened: Simulation;
  try {
    opened = await Simulation.open(kind, last, panel.controls);
  } catch (error) {
    if (!(error instanceof ForgeError) || kind === 'cpu') throw error;
    panel.notice(`${firstLine(error)}. The field runs on the CPU.`);
    opened = await Simulation.open('cpu', last, panel.controls);
  }
  meter.clear();
  panel.started(opened, reports);
  panel.compiled(opened);
  return opened;
}

async function change(kind: Kind): Promise<void> {
  const old = simulation;
  simulation = await start(kind);
  await old.close();
}

/** A GPU is opened again twice a minute; after that it is not to be relied on. */
async function recover(reason: string): Promise<void> {
  const now = performance.now();
  losses = [...losses.filter((t) => now - t < 60_000), now];
  await change(losses.length <= 2 ? simulation.kind : 'cpu');
  const how =
    simulation.kind === 'cpu' ? 'The field went on with the CPU' : 'It was opened again, and the field went on';
  panel.notice(`WebGPU was lost (${reason}). ${how} from its last frame.`);
}

async function frame(): Promise<void> {
  if (simulation.loss !== null) await recover(simulation.loss);
  if (asked.device !== null) {
    const kind = asked.device;
    asked.device = null;
    if (kind !== simulation.kind) {
      panel.notice('');
      losses = [];
      await change(kind);
    }
  }
  if (asked.parameters) {
    asked.parameters = false;
    simulation.parameters = panel.controls;
  }
  if (asked.state) {
    simulation.state = last = asked.state;
    asked.state = null;
    view.draw(last);
  }
  for (const [x, y] of strokes.splice(0)) simulation.stir(x, y, 6);
  if (paused) return;
  const started = performance.now();
  const first = simulation.kernels.length === 0;
  const result = await simulation.advance(panel.controls.steps);
  last = result.state;
  view.draw(last);
  if (first) panel.compiled(simulation);
  // The first frame on a device compiles; its time says nothing about the steps.
  else meter.add(result, performance.now(), performance.now() - started);
}

/** What happened, without the advice on the lines below. */
function firstLine(error: Error): string {
  return error.message.split('\n', 1)[0]!;
}
