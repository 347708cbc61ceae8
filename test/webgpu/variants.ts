// Variants of the same shader side by side on one adapter: what hiding arithmetic costs, and which tiles a product wants.
//
// Talks to WebGPU itself, so that nothing but the shader differs; time is the clock around many dispatches, after the GPU has
// been kept busy long enough to leave its idle clocks.

import type { WebGpuDevice } from '../../src/devices/webgpu/device.ts';
import { renderAttention } from '../../src/devices/webgpu/on-chip/attention.ts';
import {
  attentionChoices,
  attentionTiles,
  fitsChip,
  keysOf,
  queriesOf,
} from '../../src/devices/webgpu/on-chip/attention-tiles.ts';
import type { Pass, Traits } from '../../src/devices/webgpu/plan.ts';
import { render } from '../../src/devices/webgpu/render.ts';
import { type Tiles, tilesFor } from '../../src/devices/webgpu/routines/matmul-config.ts';
import { renderTiles } from '../../src/devices/webgpu/routines/matmul-tiles.ts';
import { decompose } from '../../src/kernel/decompose/index.ts';
import type { Attention } from '../../src/kernel/kernel.ts';
import { attention } from '../gpu/attention.ts';
import { matmulOf } from './checks/products.ts';
import { chainKernel, fieldKernel } from './figures.ts';

const [storage, uniform, copies] = [0x80, 0x40, 0x4 | 0x8];

class Runner {
  readonly #gpu: GPUDevice;
  readonly #buffers: GPUBuffer[];
  readonly #scalars: GPUBuffer;
  readonly #veil: GPUBuffer;

  constructor(gpu: GPUDevice, sizes: readonly number[]) {
    this.#gpu = gpu;
    this.#buffers = sizes.map((size) => gpu.createBuffer({ size, usage: storage | copies }));
    this.#scalars = gpu.createBuffer({ size: 256, usage: uniform });
    this.#veil = gpu.createBuffer({ size: 16, usage: uniform });
    for (const b of this.#buffers) {
      const f = new Float32Array(Math.min(b.size, 1 << 22) / 4).map((_, i) => Math.sin(i));
      for (let at = 0; at < b.size; at += f.byteLength)
        gpu.queue.writeBuffer(b, at, f, 0, Math.min(f.length, (b.size - at) / 4));
    }
  }

  /** Microseconds of one dispatch: the median and the best of several batches. */
  async time(pass: Pass, count: number, batches: number, warmMs: number): Promise<{ median: number; best: number }> {
    const module = this.#gpu.createShaderModule({ code: pass.source });
    const pipeline = this.#gpu.createComputePipeline({ layout: 'auto', compute: { module, entryPoint: pass.entry } });
    const resources = [
      ...pass.bindings.map((b) => this.#buffers[b.index]!),
      ...(pass.usesScalars ? [this.#scalars] : []),
      ...(pass.usesVeil ? [this.#veil] : []),
    ];
    const group = this.#gpu.createBindGroup({
      layout: pipeline.getBindGroupLayout(0),
      entries: resources.map((buffer, binding) => ({ binding, resource: { buffer } })),
    });
    const batch = async (): Promise<number> => {
      const encoder = this.#gpu.createCommandEncoder();
      const p = encoder.beginComputePass();
      p.setPipeline(pipeline);
      p.setBindGroup(0, group);
      for (let i = 0; i < count; i++) p.dispatchWorkgroups(...pass.workgroups);
      p.end();
      const start = performance.now();
      this.#gpu.queue.submit([encoder.finish()]);
      await this.#gpu.queue.onSubmittedWorkDone();
      return ((performance.now() - start) * 1000) / count;
    };
    const warm = performance.now();
    do await batch();
    while (performance.now() - warm < warmMs);
    const times: number[] = [];
    for (let i = 0; i < batches; i++) times.push(await batch());
    times.sort((a, b) => a - b);
    return { median: times[times.length >> 1]!, best: times[0]! };
  }

  /** What lies in a buffer. */
  async floats(index: number): Promise<Float32Array> {
    const from = this.#buffers[index]!;
    const [mapRead, copyTo] = [0x1, 0x8];
    const staging = this.#gpu.createBuffer({ size: from.size, usage: mapRead | copyTo });
    const encoder = this.#gpu.createCommandEncoder();
    encoder.copyBufferToBuffer(from, 0, staging, 0, from.size);
    this.#gpu.queue.submit([encoder.finish()]);
    await staging.mapAsync(1);
    const made = new Float32Array(staging.getMappedRange().slice(0));
    staging.destroy();
    return made;
  }

  close(): void {
    for (const b of [...this.#buffers, this.#scalars, this.#veil]) b.destroy();
  }
}

/** The same shader as a compiler sees it that knows the veil to be 0. */
const unveiled = (p: Pass): Pass => ({
  ...p,
  source: p.source
    .replaceAll(/bitcast<((?:vec4<)?f32>?)>\(bitcast<(?:vec4<)?u32>?>\((.*)\) \^ (?:vec4<u32>\(veil\)|veil)\)/g, '$2')
    .replaceAll(' ^ veil)', ')')
    .replace(/^.*var<uniform> veil: u32;\n/m, ''),
  usesVeil: false,
});

const tileList: readonly Tiles[] = [
  { rows: 128, columns: 128, depth: 16, threadRows: 8, threadColumns: 8, shared: true },
  { rows: 128, columns: 128, depth: 8, threadRows: 8, threadColumns: 8, shared: true },
  { rows: 128, columns: 64, depth: 16, threadRows: 8, threadColumns: 4, shared: true },
  { rows: 64, columns: 128, depth: 16, threadRows: 4, threadColumns: 8, shared: true },
  { rows: 64, columns: 64, depth: 16, threadRows: 4, threadColumns: 4, shared: true },
  { rows: 64, columns: 64, depth: 32, threadRows: 4, threadColumns: 4, shared: true },
  { rows: 64, columns: 64, depth: 16, threadRows: 8, threadColumns: 4, shared: true },
  { rows: 64, columns: 64, depth: 16, threadRows: 8, threadColumns: 8, shared: true },
  { rows: 32, columns: 64, depth: 16, threadRows: 4, threadColumns: 4, shared: true },
  { rows: 32, columns: 32, depth: 16, threadRows: 4, threadColumns: 4, shared: true },
  { rows: 32, columns: 32, depth: 4, threadRows: 4, threadColumns: 4, shared: false },
];

export async function variants(
  device: WebGpuDevice,
  traits: Traits,
  scale: 'full' | 'small',
  report: (name: string, us: { median: number; best: number }) => void,
): Promise<void> {
  const full = scale === 'full';
  const [batches, warm] = full ? [15, 400] : [2, 0];
  const elements = full ? 4 << 20 : 1 << 14;
  const works = [
    ['field step 32³×64', fieldKernel(), 32 ** 3 * 64],
    [`tanh chain of ${elements}`, chainKernel(elements), elements],
  ] as const;
  for (const [name, kernel, n] of works) {
    const pass = render(decompose(kernel, device.caps.native), traits).passes[0]!;
    const runner = new Runner(device.gpu, [n * 4, n * 4]);
    const count = full ? 100 : 1;
    report(`${name}, cold`, await runner.time(pass, count, batches, 0));
    report(`${name}, warm`, await runner.time(pass, count, batches, warm));
    report(`${name}, warm, unveiled (results may be wrong)`, await runner.time(unveiled(pass), count, batches, warm));
    const flipped = render(decompose(kernel, device.caps.native), { ...traits, exactDivision: !traits.exactDivision });
    const division = traits.exactDivision ? 'refined' : 'plain';
    report(`${name}, warm, ${division} division`, await runner.time(flipped.passes[0]!, count, batches, warm));
    runner.close();
  }
  await attentionVariants(device, traits, full, report);
  for (const n of full ? [256, 512, 1024, 2048, 4096] : [64]) {
    const work = matmulOf('f32', n, n, n);
    const { tiles: chosen } = tilesFor(work, traits);
    const runner = new Runner(device.gpu, [n * n * 4, n * n * 4, n * n * 4]);
    for (const t of tileList) {
      const threads = (t.rows / t.threadRows) * (t.columns / t.threadColumns);
      if (threads > traits.maxInvocations || (t.rows + t.columns) * t.depth * 4 > traits.workgroupBytes) continue;
      if (!full && t.rows > n) continue;
      const own = Object.entries(t).every(([k, v]) => chosen[k as keyof Tiles] === v);
      const name = `${t.rows}×${t.columns}×${t.depth}, ${t.threadRows}×${t.threadColumns} a thread${t.shared ? '' : ', no shared memory'}`;
      const count = full ? (n >= 4096 ? 3 : n >= 2048 ? 10 : 40) : 1;
      const us = await runner.time(renderTiles(work, t, traits, 'outputs'), count, full ? 7 : 2, full ? 150 : 0);
      report(`matmul ${n}², ${name}${own ? '  <- chosen' : ''}`, us);
    }
    runner.close();
  }
}

/** Attention of 128 heads of 1024 × 64, with every cut that the adapter has room for; all have to agree. */
export async function attentionVariants(
  device: WebGpuDevice,
  traits: Traits,
  full: boolean,
  report: (name: string, us: { median: number; best: number }) => void,
): Promise<void> {
  const [batch, length, depth] = full ? [128, 1024, 64] : [2, 64, 32];
  const elements = batch * length * depth;
  const { routine } = attention('f32', [batch, length, length, depth, depth], 'plain');
  const chosen = attentionTiles(routine as Attention, traits);
  const runner = new Runner(device.gpu, [elements * 4, elements * 4, elements * 4, elements * 4]);
  let wanted: Float32Array | undefined;
  for (const t of attentionChoices.filter((c) => fitsChip({ depth, width: depth }, c, traits))) {
    const [pass] = renderAttention(routine as Attention, traits, t).passes;
    const name = `${t.threads} threads, ${queriesOf(t)} queries, ${keysOf(t)} keys`;
    const us = await runner.time(pass!, full ? 5 : 1, full ? 5 : 1, full ? 60 : 0);
    const got = await runner.floats(3);
    wanted ??= got;
    const far = got.findIndex((v, i) => !(Math.abs(v - wanted![i]!) <= 2e-5));
    if (far >= 0) throw new Error(`${name}: element ${far} is ${got[far]} instead of ${wanted[far]}`);
    report(`attention ${batch}x${length}x${depth}, ${name}${t === chosen ? '  <- chosen' : ''}`, us);
  }
  runner.close();
}
