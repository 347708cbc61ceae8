// The page: a field in a control loop with sensors by mouse, and a cart that another, trained field holds.

import { createRuntime, formatBytes } from 'gpuforge';
import { createField, type FieldState, latencyHistogram, type SettingName } from 'gpuforge/field';
import { drawBars, drawHistogram, drawSlice } from '../../../src/studio/page/field-pictures.ts';
import { type Cart, cartHz, cartRecords, cartSensors, controllers, moveCart, uniform } from './cart.ts';
import { canvas, drawCart, pictureColours } from './draw.ts';

const size = 16;
const channels = 32;
const element = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;
const value = (id: string): number => Number(element<HTMLInputElement>(id).value);
const say = (id: string, text: string): void => {
  element(id).textContent = text;
};

/** Of the newest cycle. */
let state: FieldState | null = null;
const rt = await createRuntime();
const field = await createField({
  runtime: rt,
  resolution: size,
  channels,
  seed: 1,
  settings: { readout: 'slab', gain: 100 },
});
field.on('cycle', (cycle) => {
  state = cycle.state;
});
say('device', `${size}³ × ${channels} on ${field.device} (${field.choice.reason})`);

// Sensors by mouse.
const sensors = new Float32Array(16);
const pad = canvas('sensors');
pad.canvas.addEventListener('pointermove', (e) => {
  if (e.buttons === 0) return;
  const box = pad.canvas.getBoundingClientRect();
  const at = ((e.clientX - box.left) / box.width) * 16;
  const height = 1 - (2 * (e.clientY - box.top)) / box.height;
  sensors.forEach((_, i) => {
    sensors[i] = Math.max(-1, Math.min(1, height * Math.exp(-((i + 0.5 - at) ** 2) / 4)));
  });
});
for (const id of ['index', 'channel'])
  element(id).addEventListener('input', () => say(`${id}-value`, String(value(id))));

// Settings while it runs: what a position of a slider means, from 0 to 100.
const dials: Readonly<Record<string, readonly [SettingName, (position: number) => number]>> = {
  keep: ['keep', (p) => Number((1 - (1 - p / 100) ** 3).toFixed(6))],
  spread: ['diffusion', (p) => p / 100],
  noise: ['spontaneous', (p) => p / 10_000],
  gain: ['gain', (p) => 5 * p],
};
for (const [id, [name, meaning]] of Object.entries(dials))
  element(id).addEventListener('input', () => {
    const next = meaning(value(id));
    say(`${id}-value`, String(next));
    void field.configure({ [name]: next });
  });

// The control loop: begun anew when the rate changes.
let rate: AbortController | null = null;
let latencies: number[] = [];
element('hz').addEventListener('input', () => {
  say('hz-value', `${value('hz')} Hz`);
  rate?.abort();
});

async function control(): Promise<void> {
  for (;;) {
    const hz = value('hz');
    rate = new AbortController();
    latencies = [];
    let start = 0;
    await field.loop({
      hz,
      signal: rate.signal,
      source: () => {
        start = performance.now();
        return sensors;
      },
      sink: async (motors) => {
        latencies.push(performance.now() - start);
        if (latencies.length > 500) latencies.shift();
        await show(motors, 1000 / hz);
      },
    });
  }
}

const pictures = { slice: canvas('slice'), motors: canvas('motors'), latency: canvas('latency') };
let drawn = 0;

/** A value below its bar. */
function figure(motor: number): HTMLElement {
  const made = document.createElement('span');
  made.textContent = motor.toFixed(3);
  return made;
}

/** At most 30 pictures a second, whatever the rate. */
async function show(motors: Float32Array, period: number): Promise<void> {
  const now = performance.now();
  if (now - drawn < 33) return;
  drawn = now;
  const axis = value('axis') as 0 | 1 | 2;
  const slice = await field.slice(axis, value('index'), value('channel'));
  drawSlice(pictures.slice, slice, size, size);
  say('range', `${Math.min(...slice).toPrecision(3)} (dark) to ${Math.max(...slice).toPrecision(3)} (bright)`);
  drawBars(pad, sensors, pictureColours('amber'));
  drawBars(pictures.motors, motors, pictureColours('teal'));
  element('motor-values').replaceChildren(...[...motors].map(figure));
  drawHistogram(pictures.latency, latencyHistogram(latencies, period), period, pictureColours('teal'));
  const sorted = [...latencies].sort((a, b) => a - b);
  const at = (q: number): string => `${sorted[Math.ceil(q * sorted.length) - 1]!.toFixed(1)} ms`;
  say('median', at(0.5));
  say('p99', at(0.99));
  say('missed', `${latencies.filter((l) => l > period).length} of ${latencies.length}`);
  say('cycles', String(field.cycle));
  if (!state) return;
  say('information', state.fieldInformation.toFixed(3));
  say('energy', state.energy.toFixed(2));
  say('mode', state.mode);
  say('memory', formatBytes(field.report().memory.state));
}

// The cart.
const cart: Cart = { x: 0.8, v: 0 };
const trace: number[] = [];
const track = canvas('cart');
track.canvas.addEventListener('pointerdown', (e) => {
  const box = track.canvas.getBoundingClientRect();
  const at = ((e.clientX - box.left) / box.width - 0.5) * 3.4;
  cart.v += at > cart.x ? -0.8 : 0.8;
});

async function driveCart(): Promise<void> {
  const driver = await createField({
    runtime: rt,
    // So small that a GPU would spend its time on being asked.
    device: 'cpu',
    resolution: 4,
    channels: 16,
    sensorDim: 2,
    motorDim: 1,
    settings: { readout: 'trained' },
  });
  const report = await driver.train(cartRecords(controllers.PD, 600, 1, 7), {
    method: 'ridge',
    what: 'motors',
    lambda: 1e-6,
  });
  say('training', `trained on ${report.samples} records in ${(report.ms / 1000).toFixed(1)} s`);
  const random = uniform(5);
  await driver.loop({
    hz: cartHz,
    source: () => cartSensors(cart),
    sink: (motors) => {
      const chosen = element<HTMLSelectElement>('controller').value as 'field' | keyof typeof controllers;
      const motor = chosen === 'field' ? motors[0]! : (controllers[chosen](cart) as number);
      moveCart(cart, motor, random);
      trace.unshift(cart.x);
      if (trace.length > 10 * cartHz) trace.pop();
      drawCart(track, trace, cart.x, motor);
      const rms = Math.sqrt(trace.reduce((s, x) => s + x * x, 0) / trace.length);
      say('rms', rms.toFixed(3));
    },
  });
}

void control();
void driveCart();
