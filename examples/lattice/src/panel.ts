// The controls and figures beside the lattice.

import type { DeviceReport } from 'gpuforge';
import { presets } from './walls.ts';
import { type Kind, kindOf, kinds } from './world.ts';

export const modes = ['search', 'diffusion'] as const;
export type Mode = (typeof modes)[number];

const titles: Readonly<Record<Kind | Mode, string>> = {
  webgpu: 'WebGPU',
  cpu: 'CPU',
  search: 'Search',
  diffusion: 'Diffusion',
};

const stories: Readonly<Record<Mode, string>> = {
  search:
    'Every level of the search is one kernel over all vertices: what was reached spreads to its neighbours, walls stay out. The host asks once in 16 levels whether anything was found. The colours are distances; the line is a shortest path.',
  diffusion:
    'The corner is kept hot. Every step is one kernel: each vertex exchanges with its neighbours, walls take and pass on nothing.',
};

export interface Reactions {
  readonly device: (kind: Kind) => void;
  readonly mode: (mode: Mode) => void;
  readonly walls: (name: string) => void;
}

export const byId = (id: string): HTMLElement => document.getElementById(id)!;

function radio(group: string, value: string, title: string, chosen: () => void): HTMLInputElement {
  const label = document.createElement('label');
  const input = Object.assign(document.createElement('input'), { type: 'radio', name: group, value });
  const name = document.createElement('span');
  name.textContent = title;
  label.append(input, name);
  input.addEventListener('change', chosen);
  byId(group).append(label);
  return input;
}

export class Panel {
  readonly #devices: ReadonlyMap<Kind, HTMLInputElement>;
  readonly #modes: ReadonlyMap<Mode, HTMLInputElement>;

  constructor(react: Reactions) {
    this.#devices = new Map(kinds.map((k) => [k, radio('devices', k, titles[k], () => react.device(k))]));
    this.#modes = new Map(modes.map((m) => [m, radio('modes', m, titles[m], () => react.mode(m))]));
    for (const name of Object.keys(presets)) {
      const button = Object.assign(document.createElement('button'), { type: 'button', textContent: name });
      button.addEventListener('click', () => react.walls(name));
      byId('walls').append(button);
    }
  }

  opened(kind: Kind, reports: readonly DeviceReport[]): void {
    for (const [k, input] of this.#devices) input.disabled = !reports.some((r) => r.open && kindOf(r.id) === k);
    this.#devices.get(kind)!.checked = true;
    byId('report').replaceChildren(
      ...reports.flatMap((r) => {
        const [name, what] = [document.createElement('dt'), document.createElement('dd')];
        name.textContent = r.id;
        what.textContent = r.open ? r.name : `not here: ${r.reason}`;
        return [name, what];
      }),
    );
  }

  mode(mode: Mode): void {
    this.#modes.get(mode)!.checked = true;
    byId('story').textContent = stories[mode];
    const [time, what] =
      mode === 'search' ? ['Time of a search', 'Steps from corner to corner'] : ['Time of a frame', 'Warmth'];
    byId('time-of').textContent = time!;
    byId('what-of').textContent = what!;
  }

  figures(time: string, timeNote: string, what: string, whatNote: string): void {
    for (const [id, text] of Object.entries({ time, 'time-note': timeNote, what, 'what-note': whatNote }))
      byId(id).textContent = text;
  }

  notice(text: string): void {
    byId('notice').textContent = text;
    byId('notice').hidden = text === '';
  }
}
