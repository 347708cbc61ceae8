// The cart, and the colours of the page. Slices, bars and histograms are drawn as the studio draws them.

import type { PictureColours } from '../../../src/studio/page/field-pictures.ts';

const colours = {
  ground: '#10151c',
  line: '#2a3542',
  dim: '#8fa1b3',
  teal: '#5fd0c0',
  amber: '#f0b35f',
  red: '#ef6f6c',
};

/** Colours of a picture whose bars have this one. */
export const pictureColours = (bar: 'teal' | 'amber'): PictureColours => ({
  ground: colours.ground,
  line: colours.line,
  text: colours.dim,
  bar: colours[bar],
  deadline: colours.amber,
  late: colours.red,
});

export function canvas(id: string): CanvasRenderingContext2D {
  return (document.getElementById(id) as HTMLCanvasElement).getContext('2d')!;
}

/** The cart where it is now, and its way there: x over the last seconds, the newest just above it. */
export function drawCart(to: CanvasRenderingContext2D, trace: readonly number[], x: number, motor: number): void {
  const { width, height } = to.canvas;
  const at = (v: number): number => width / 2 + (Math.max(-1.6, Math.min(1.6, v)) * width) / 3.4;
  to.fillStyle = colours.ground;
  to.fillRect(0, 0, width, height);
  to.strokeStyle = colours.line;
  to.beginPath();
  to.moveTo(width / 2, 0);
  to.lineTo(width / 2, height - 30);
  to.stroke();
  to.strokeStyle = colours.dim;
  to.beginPath();
  to.lineWidth = 2;
  const top = height - 58;
  trace.forEach((v, i) => {
    const y = top - (top * i) / Math.max(1, trace.length - 1);
    if (i === 0) to.moveTo(at(v), y);
    else to.lineTo(at(v), y);
  });
  to.stroke();
  to.lineWidth = 1;
  to.fillStyle = colours.line;
  to.fillRect(0, height - 22, width, 2);
  to.fillStyle = colours.teal;
  to.beginPath();
  to.roundRect(at(x) - 26, height - 48, 52, 20, 4);
  to.fill();
  to.beginPath();
  for (const side of [-14, 14]) {
    to.moveTo(at(x) + side + 6, height - 26);
    to.arc(at(x) + side, height - 26, 6, 0, 2 * Math.PI);
  }
  to.fill();
  to.fillStyle = colours.amber;
  to.fillRect(at(x), height - 56, motor * 120, 4);
}
