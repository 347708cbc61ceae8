// Draws substance v on a canvas, through a table of 256 colours, and tells where somebody draws.

import { size } from './model.ts';

/** From the ground to the crest, as red, green and blue. */
const stops: readonly (readonly [number, number, number])[] = [
  [12, 17, 27],
  [18, 44, 66],
  [28, 96, 112],
  [95, 178, 160],
  [222, 214, 170],
  [247, 240, 222],
];

/** v at which the last colour is reached. */
const crest = 0.42;

const colours = Uint32Array.from({ length: 256 }, (_, i) => {
  const at = (i / 255) * (stops.length - 1);
  const k = Math.min(Math.floor(at), stops.length - 2);
  const [r, g, b] = [0, 1, 2].map((c) => {
    const [from, to] = [stops[k]![c]!, stops[k + 1]![c]!];
    return Math.round(from + (to - from) * (at - k));
  });
  return 0xff000000 | (b! << 16) | (g! << 8) | r!;
});

export class View {
  readonly #context: CanvasRenderingContext2D;
  readonly #image: ImageData;
  readonly #pixels: Uint32Array;

  constructor(canvas: HTMLCanvasElement) {
    this.#context = canvas.getContext('2d', { alpha: false })!;
    this.#image = this.#context.createImageData(size, size);
    this.#pixels = new Uint32Array(this.#image.data.buffer);
  }

  draw(state: Float32Array): void {
    const scale = 255 / crest;
    for (let i = 0; i < size * size; i++) {
      const level = state[size * size + i]! * scale;
      this.#pixels[i] = colours[level > 255 ? 255 : level > 0 ? level | 0 : 0]!;
    }
    this.#context.putImageData(this.#image, 0, 0);
  }
}

/** Calls back with the cell under the pointer while it is down. */
export function onDraw(canvas: HTMLCanvasElement, draw: (x: number, y: number) => void): void {
  const at = (event: PointerEvent): void => {
    const box = canvas.getBoundingClientRect();
    draw(((event.clientX - box.left) / box.width) * size, ((event.clientY - box.top) / box.height) * size);
  };
  canvas.addEventListener('pointerdown', (event) => {
    canvas.setPointerCapture(event.pointerId);
    at(event);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (canvas.hasPointerCapture(event.pointerId)) at(event);
  });
}
