// Draws the lattice: walls, a value per vertex through a table of colours, and a path.

import { side } from './walls.ts';

export type Colour = readonly [number, number, number];

const ramp: readonly Colour[] = [
  [18, 44, 66],
  [28, 96, 112],
  [95, 178, 160],
  [222, 214, 170],
  [247, 240, 222],
];
const ground: Colour = [12, 17, 27];
const wall: Colour = [84, 96, 116];

/** A colour for a value from 0 to 1. */
function colour(value: number): Colour {
  const at = Math.min(Math.max(value, 0), 1) * (ramp.length - 1);
  const k = Math.min(Math.floor(at), ramp.length - 2);
  const mix = (c: 0 | 1 | 2): number => ramp[k]![c] + (ramp[k + 1]![c] - ramp[k]![c]) * (at - k);
  return [mix(0), mix(1), mix(2)];
}

export class View {
  readonly #canvas: HTMLCanvasElement;
  readonly #context: CanvasRenderingContext2D;
  readonly #cells = new OffscreenCanvas(side, side).getContext('2d')!;

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas;
    this.#context = canvas.getContext('2d', { alpha: false })!;
  }

  /** `value` gives a number from 0 to 1 for a vertex, or null for nothing. */
  draw(walls: Uint8Array, value: (vertex: number) => number | null, path: readonly number[]): void {
    const image = this.#cells.createImageData(side, side);
    for (let v = 0; v < walls.length; v++) {
      const shown = value(v);
      image.data.set([...(walls[v] ? wall : shown === null ? ground : colour(shown)), 255], 4 * v);
    }
    this.#cells.putImageData(image, 0, 0);
    const context = this.#context;
    context.imageSmoothingEnabled = false;
    context.drawImage(this.#cells.canvas, 0, 0, this.#canvas.width, this.#canvas.height);
    this.#trace(path);
  }

  #trace(path: readonly number[]): void {
    if (path.length < 2) return;
    const context = this.#context;
    const scale = this.#canvas.width / side;
    context.beginPath();
    for (const v of path) context.lineTo(((v % side) + 0.5) * scale, (Math.floor(v / side) + 0.5) * scale);
    context.lineWidth = 0.5 * scale;
    context.lineJoin = 'round';
    context.strokeStyle = '#e9c46a';
    context.stroke();
  }
}

/** Calls back with the vertex under the pointer while it is down; `begins` with the first of a stroke. */
export function onStroke(canvas: HTMLCanvasElement, draw: (vertex: number, begins: boolean) => void): void {
  const at = (event: PointerEvent, begins: boolean): void => {
    const box = canvas.getBoundingClientRect();
    const cell = (offset: number, length: number): number => Math.floor((offset / length) * side);
    const [column, row] = [cell(event.clientX - box.left, box.width), cell(event.clientY - box.top, box.height)];
    if (column >= 0 && column < side && row >= 0 && row < side) draw(row * side + column, begins);
  };
  canvas.addEventListener('pointerdown', (event) => {
    canvas.setPointerCapture(event.pointerId);
    at(event, true);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (canvas.hasPointerCapture(event.pointerId)) at(event, false);
  });
}
