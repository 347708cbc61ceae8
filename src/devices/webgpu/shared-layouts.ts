// Whether pipelines of one pass may share a layout on this adapter: tried once, when the device is opened.
//
// Shaders say how large a buffer they bind has to be, and the adapter compares that when work is encoded. Some (wgpu, which Deno and
// Firefox use) compare with the first pipeline that used the layout in a pass, and refuse smaller buffers of later ones. There,
// every pipeline gets a layout of its own.

import { computeStage, usage } from './constants.ts';

const shader = (elements: number): string => `@group(0) @binding(0) var<storage, read_write> x: array<u32, ${elements}>;
@compute @workgroup_size(1) fn main() { x[0] = ${elements}u; }`;

/** Runs two shaders in one pass, the one that wants more first. */
export async function mayShareLayouts(gpu: GPUDevice): Promise<boolean> {
  gpu.pushErrorScope('validation');
  const group = gpu.createBindGroupLayout({
    entries: [{ binding: 0, visibility: computeStage, buffer: { type: 'storage' } }],
  });
  const layout = gpu.createPipelineLayout({ bindGroupLayouts: [group] });
  const encoder = gpu.createCommandEncoder();
  const pass = encoder.beginComputePass();
  const buffers = [1024, 64].map((elements) => {
    const module = gpu.createShaderModule({ code: shader(elements) });
    const buffer = gpu.createBuffer({ size: 4 * elements, usage: usage.storage });
    pass.setPipeline(gpu.createComputePipeline({ layout, compute: { module, entryPoint: 'main' } }));
    pass.setBindGroup(0, gpu.createBindGroup({ layout: group, entries: [{ binding: 0, resource: { buffer } }] }));
    pass.dispatchWorkgroups(1);
    return buffer;
  });
  pass.end();
  gpu.queue.submit([encoder.finish()]);
  const refused = await gpu.popErrorScope();
  for (const b of buffers) b.destroy();
  return refused === null;
}
