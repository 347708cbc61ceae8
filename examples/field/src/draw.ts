// Pictures of a field: slices, bars, a histogram, the cart.

const colours = {
  ground: '#10151c',
  line: '#2a3542',
  dim: '#8fa1b3',
  teal: '#5fd0c0',
  amber: '#f0b35f',
  red: '#ef6f6c',
};

export function canvas(id: string): CanvasRenderingContext2D {
  return (document.getElementById(id) as HTMLCanvasElement).getContext('2d')!;
}

/** From the lowest value of the slice, dark, to the highest, bright. */
export function drawSlice(to: CanvasRenderingContext2D, values: Float32Array, height: number, width: number): void {
  const low = values.reduce((m, v) => Math.min(m, v), Number.POSITIVE_INFINITY);
  const span = Math.max(1e-9, values.reduce((m, v) => Math.max(m, v), Number.NEGATIVE_INFINITY) - low);
  const image = new ImageData(width, height);
  values.forEach((v, i) => {
    const t = (v - low) / span;
    image.data.set([16 + 224 * t * t, 21 + 220 * t, 40 + 170 * Math.sqrt(t), 255], 4 * i);
  });
  const small = new OffscreenCanvas(width, height);
  small.getContext('2d')!.putImageData(image, 0, 0);
  to.imageSmoothingEnabled = false;
  to.drawImage(small, 0, 0, to.canvas.width, to.canvas.height);
}

/** Bars around a middle line, for values from −1 to 1. */
export function drawBars(to: CanvasRenderingContext2D, values: ArrayLike<number>, colour: 'teal' | 'amber'): void {
  const { width, height } = to.canvas;
  to.fillStyle = colours.ground;
  to.fillRect(0, 0, width, height);
  to.fillStyle = colours.line;
  to.fillRect(0, height / 2, width, 1);
  const step = width / values.length;
  for (let i = 0; i < values.length; i++) {
    const size = (Math.max(-1, Math.min(1, values[i]!)) * height) / 2;
    to.fillStyle = colours[colour];
    to.fillRect(i * step + 2, height / 2 - Math.max(0, size), step - 4, Math.max(1, Math.abs(size)));
  }
}

/** Counts per bin over twice the period; the deadline is the line in the middle. */
export function drawHistogram(to: CanvasRenderingContext2D, bins: readonly number[], period: number): void {
  const { width, height } = to.canvas;
  to.fillStyle = colours.ground;
  to.fillRect(0, 0, width, height);
  const most = Math.max(1, ...bins);
  const step = width / bins.length;
  bins.forEach((n, i) => {
    to.fillStyle = i < bins.length / 2 ? colours.teal : colours.red;
    const size = n === 0 ? 0 : Math.max(2, Math.sqrt(n / most) * (height - 30));
    to.fillRect(i * step + 1, height - size - 16, step - 2, size);
  });
  to.fillStyle = colours.amber;
  to.fillRect(width / 2 - 1, 0, 2, height - 16);
  to.font = '12px system-ui';
  to.fillStyle = colours.dim;
  to.fillText('0', 2, height - 3);
  to.fillText(`deadline ${period.toFixed(0)} ms`, width / 2 + 6, 12);
}

/** Trace of x over the last seconds, and the cart where it is now. */
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
  trace.forEach((v, i) => {
    const y = ((height - 60) * i) / Math.max(1, trace.length - 1);
    if (i === 0) to.moveTo(at(v), y);
    else to.lineTo(at(v), y);
  });
  to.stroke();
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
