// The least time that MobileNetV1 can take on a device: layer by layer, its arithmetic at the device's peak or its bytes at the device's
// bandwidth, whichever takes longer. Each layer reads its input and its weights once and writes its output once; bias and relu6 are free.

import { blocks } from '../../test/tfjs/models.ts';

interface Layer {
  readonly kind: 'first' | 'depthwise' | 'pointwise' | 'dense';
  readonly flops: number;
  readonly bytes: number;
}

function layersOf(batch: number): Layer[] {
  const f32 = 4;
  let [size, channels] = [112, 32];
  const pixels = (s: number): number => batch * s * s;
  const list: Layer[] = [
    {
      kind: 'first',
      flops: 2 * pixels(size) * channels * 27,
      bytes: f32 * (pixels(224) * 3 + 27 * channels + pixels(size) * channels),
    },
  ];
  for (const [stride, out] of blocks) {
    const to = size / stride;
    list.push(
      {
        kind: 'depthwise',
        flops: 2 * 9 * pixels(to) * channels,
        bytes: f32 * channels * (pixels(size) + 9 + pixels(to)),
      },
      {
        kind: 'pointwise',
        flops: 2 * pixels(to) * channels * out,
        bytes: f32 * (pixels(to) * (channels + out) + channels * out),
      },
    );
    [size, channels] = [to, out];
  }
  const classes = 1000;
  list.push({
    kind: 'dense',
    flops: 2 * batch * channels * classes,
    bytes: f32 * (pixels(size) * channels + channels * classes + batch * classes),
  });
  return list;
}

/** The bound in ms, and its parts, as a line. `peak`: in TFLOPS; `bandwidth`: in TB/s. */
export function bound(batch: number, peak: number, bandwidth: number): string {
  const parts = new Map<string, number>();
  for (const { kind, flops, bytes } of layersOf(batch)) {
    const ms = 1e3 * Math.max(flops / (peak * 1e12), bytes / (bandwidth * 1e12));
    parts.set(kind, (parts.get(kind) ?? 0) + ms);
  }
  const total = [...parts.values()].reduce((a, b) => a + b, 0);
  const shown = [...parts].map(([kind, ms]) => `${kind} ${ms.toFixed(3)}`).join(', ');
  return `MobileNetV1, batch ${batch}, at ${peak} TFLOPS and ${bandwidth} TB/s: at least ${total.toFixed(3)} ms (${shown})`;
}
