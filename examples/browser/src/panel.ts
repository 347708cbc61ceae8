// The panel: controls and figures. Shows what it is told and calls back; holds no state but what the controls hold.

import type { Device, DeviceReport } from 'gpuforge';
import type { Figures } from './meter.ts';
import { type Parameters, presets } from './model.ts';
import { type Kind, kindOf, kinds, type Simulation } from './simulation.ts';

export interface Controls extends Parameters {
  readonly steps: number;
}

interface Slider {
  readonly name: keyof Controls;
  readonly label: string;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly digits: number;
}

const sliders: readonly Slider[] = [
  { name: 'feed', label: 'Feed', min: 0.01, max: 0.08, step: 0.0005, digits: 4 },
  { name: 'kill', label: 'Kill', min: 0.045, max: 0.07, step: 0.0001, digits: 4 },
  { name: 'diffusion', label: 'Diffusion', min: 0.3, max: 1, step: 0.01, digits: 2 },
  { name: 'steps', label: 'Steps per frame', min: 1, max: 32, step: 1, digits: 0 },
];

const titles: Readonly<Record<Kind, string>> = { webgpu: 'WebGPU', cpu: 'CPU' };

export interface Reactions {
  readonly change: () => void;
  readonly pause: (paused: boolean) => void;
  readonly reset: () => void;
  readonly device: (kind: Kind) => void;
}

export class Panel {
  readonly #inputs = new Map<keyof Controls, HTMLInputElement>();
  readonly #radios = new Map<Kind, HTMLInputElement>();
  readonly #react: Reactions;

  constructor(react: Reactions) {
    this.#react = react;
    for (const s of sliders) byId('sliders').append(this.#slider(s));
    for (const [name, values] of Object.entries(presets)) byId('presets').append(this.#preset(name, values));
    for (const kind of kinds) byId('devices').append(this.#radio(kind));
    const pause = byId('pause');
    pause.addEventListener('click', () => {
      const paused = pause.getAttribute('aria-pressed') !== 'true';
      pause.setAttribute('aria-pressed', String(paused));
      pause.textContent = paused ? 'Go on' : 'Pause';
      react.pause(paused);
    });
    byId('reset').addEventListener('click', react.reset);
    this.#apply({ ...presets.Currents!, steps: 8 });
  }

  get controls(): Controls {
    const value = (name: keyof Controls): number => this.#inputs.get(name)!.valueAsNumber;
    return { feed: value('feed'), kill: value('kill'), diffusion: value('diffusion'), steps: value('steps') };
  }

  /** What can be chosen. */
  offer(reports: readonly DeviceReport[]): void {
    for (const [kind, radio] of this.#radios) radio.disabled = !reports.some((r) => r.open && kindOf(r.id) === kind);
  }

  /** Called after the first frame on a device: from then on the kernels are known. */
  computed(simulation: Simulation, { id, caps }: Device): void {
    this.#radios.get(simulation.kind)!.checked = true;
    const features = Object.entries(caps.details).filter(([, v]) => v !== '' && v !== 'none');
    const rows: [string, string][] = [
      [id, caps.name],
      ['details', features.map(([k, v]) => `${k}: ${v}`).join(' · ')],
      ['page', globalThis.crossOriginIsolated ? 'cross-origin isolated: threads' : 'not isolated: one CPU thread'],
      ...simulation.reports
        .filter((r) => r.id !== id)
        .map((r): [string, string] => [r.id, r.open ? `${r.name}, ready` : `not opened: ${r.reason}. ${r.fix ?? ''}`]),
    ];
    byId('report').replaceChildren(...rows.flatMap(([term, text]) => [element('dt', term), element('dd', text)]));
    byId('report').dataset.device = id;
    byId('kernels').replaceChildren(...simulation.kernels.map((k) => element('li', k)));
    byId('explain').textContent = simulation.explain();
  }

  figures(figures: Figures | null, simulation: Simulation): void {
    byId('step-time').textContent = figures ? duration(figures.stepMs) : '–';
    byId('step-how').textContent = figures ? simulation.clock : '–';
    byId('fps').textContent = figures ? figures.fps.toFixed(figures.fps < 10 ? 1 : 0) : '–';
    byId('frame-time').textContent = figures ? `${duration(figures.frameMs)} for steps, read-back and drawing` : '–';
  }

  notice(text: string): void {
    const place = byId('notice');
    place.textContent = text;
    place.hidden = text === '';
  }

  #slider({ name, label, min, max, step, digits }: Slider): HTMLElement {
    const input = element('input');
    Object.assign(input, { type: 'range', id: name, min: `${min}`, max: `${max}`, step: `${step}` });
    const output = element('output');
    input.addEventListener('input', () => {
      output.textContent = input.valueAsNumber.toFixed(digits);
      this.#react.change();
    });
    this.#inputs.set(name, input);
    const row = element('label');
    row.append(element('span', label), output, input);
    return row;
  }

  #preset(name: string, values: Parameters): HTMLElement {
    const button = element('button', name);
    button.type = 'button';
    button.addEventListener('click', () => this.#apply(values));
    return button;
  }

  #radio(kind: Kind): HTMLElement {
    const input = element('input');
    Object.assign(input, { type: 'radio', name: 'device', value: kind, disabled: true });
    input.addEventListener('change', () => this.#react.device(kind));
    this.#radios.set(kind, input);
    const label = element('label');
    label.append(input, element('span', titles[kind]));
    return label;
  }

  #apply(values: Partial<Controls>): void {
    for (const [name, value] of Object.entries(values)) {
      const input = this.#inputs.get(name as keyof Controls)!;
      input.valueAsNumber = value;
      input.dispatchEvent(new Event('input'));
    }
  }
}

function duration(ms: number): string {
  return ms < 1 ? `${(ms * 1000).toFixed(0)} µs` : `${ms.toFixed(ms < 10 ? 2 : 1)} ms`;
}

export function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element #${id}`);
  return found;
}

function element<K extends keyof HTMLElementTagNameMap>(tag: K, text = ''): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  made.textContent = text;
  return made;
}
