// Pictures of a field: slices, bars, a histogram of latencies. Also those of the example page, which brings its own colours.

export interface PictureColours {
  readonly ground: string;
  readonly line: string;
  readonly text: string;
  readonly bar: string;
  /** The deadline, and what came after it. */
  readonly deadline: string;
  readonly late: string;
}

/** From the lowest value of the slice, dark, to the highest, bright. Returns both. */
export function drawSlice(
  to: CanvasRenderingContext2D,
  values: Float32Array,
  height: number,
  width: number,
): { readonly low: number; readonly high: number } {
  const low = values.reduce((m, v) => Math.min(m, v), Number.POSITIVE_INFINITY);
  const high = values.reduce((m, v) => Math.max(m, v), Number.NEGATIVE_INFINITY);
  const span = Math.max(1e-9, high - low);
  const image = new ImageData(width, height);
  values.forEach((v, i) => {
    const t = (v - low) / span;
    image.data.set([16 + 224 * t * t, 21 + 220 * t, 40 + 170 * Math.sqrt(t), 255], 4 * i);
  });
  const small = new OffscreenCanvas(width, height);
  small.getContext('2d')!.putImageData(image, 0, 0);
  to.imageSmoothingEnabled = false;
  to.drawImage(small, 0, 0, to.canvas.width, to.canvas.height);
  return { low, high };
}

/** Bars around a middle line, for values from −`most` to `most`. */
export function drawBars(
  to: CanvasRenderingContext2D,
  values: ArrayLike<number>,
  colours: PictureColours,
  most = 1,
): void {
  const { width, height } = to.canvas;
  to.fillStyle = colours.ground;
  to.fillRect(0, 0, width, height);
  to.fillStyle = colours.line;
  to.fillRect(0, height / 2, width, 1);
  const step = width / values.length;
  const gap = Math.min(2, step / 5);
  for (let i = 0; i < values.length; i++) {
    const size = (Math.max(-1, Math.min(1, values[i]! / most)) * height) / 2;
    to.fillStyle = colours.bar;
    to.fillRect(i * step + gap, height / 2 - Math.max(0, size), step - 2 * gap, Math.max(1, Math.abs(size)));
  }
}

/** Counts per bin over twice the period; the deadline is the line in the middle. `scale`: pixels of the canvas per pixel of the page. */
export function drawHistogram(
  to: CanvasRenderingContext2D,
  bins: readonly number[],
  period: number,
  colours: PictureColours,
  scale = 1,
): void {
  const { width, height } = to.canvas;
  const foot = 16 * scale;
  to.fillStyle = colours.ground;
  to.fillRect(0, 0, width, height);
  const most = Math.max(1, ...bins);
  const step = width / bins.length;
  bins.forEach((n, i) => {
    to.fillStyle = i < bins.length / 2 ? colours.bar : colours.late;
    const size = n === 0 ? 0 : Math.max(2 * scale, Math.sqrt(n / most) * (height - 30 * scale));
    to.fillRect(i * step + scale, height - size - foot, step - 2 * scale, size);
  });
  to.fillStyle = colours.deadline;
  to.fillRect(width / 2 - scale, 0, 2 * scale, height - foot);
  to.font = `${12 * scale}px system-ui`;
  to.fillStyle = colours.text;
  to.textAlign = 'left';
  to.fillText('0', 2 * scale, height - 3 * scale);
  to.fillText(`deadline ${milliseconds(period)}`, width / 2 + 6 * scale, 12 * scale);
  to.textAlign = 'right';
  to.fillText(milliseconds(2 * period), width - 2 * scale, height - 3 * scale);
  to.textAlign = 'left';
}

const milliseconds = (ms: number): string => `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
