// WebGPU by hand on the same Dawn: how little the work could cost. Not a library, and no peer.
//
// `copy4m`, the floor, reads and writes the bytes of the tanh chain and computes nothing. `builtin4m` computes the chain with WGSL's own tanh, whose error the
// standard does not bound usefully. Both move four elements an invocation in workgroups of 256, the fastest of all
// forms tried on SwiftShader (scalars, 1 to 16 vectors an invocation, workgroups of 64 to 256). `updown` brings 10 MB up, adds
// zero and brings them down, with buffers that are there already.

import { floats } from '../lib/data.mjs';
import { serve } from '../lib/side.mjs';
import { installDawn } from './dawn.mjs';

const adapter = await installDawn();
const device = await (await navigator.gpu.requestAdapter()).requestDevice();
const [fourMillion, tenMegabytes] = [2 ** 22, 2621440];
const cell = new Int32Array(new SharedArrayBuffer(4));

/** Dawn polls without pause while something is awaited, on cores that a software adapter needs: rest between its questions. */
async function rested(work) {
  const start = performance.now();
  let waiting = /swiftshader|llvmpipe/i.test(adapter);
  const rest = () => {
    if (!waiting) return;
    Atomics.wait(cell, 0, 0, Math.min((performance.now() - start) / 20, 1));
    setImmediate(rest);
  };
  setImmediate(rest);
  await work;
  waiting = false;
}

/** Buffers of n elements and the encoding of one kernel from the first to the second. */
function kernel(n, value) {
  const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const [from, to] = [0, 1].map(() => device.createBuffer({ size: n * 4, usage: STORAGE | COPY_SRC | COPY_DST }));
  const landing = device.createBuffer({ size: n * 4, usage: MAP_READ | COPY_DST });
  const code = `@group(0) @binding(0) var<storage, read> x: array<vec4<f32>, ${n / 4}>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<f32>, ${n / 4}>;
@compute @workgroup_size(256) fn main(@builtin(workgroup_id) w: vec3<u32>, @builtin(local_invocation_index) l: u32) {
  let i = w.x * 256u + l;
  let v = x[i];
  y[i] = ${value};
}`;
  const module = device.createShaderModule({ code });
  const pipeline = device.createComputePipeline({ layout: 'auto', compute: { module, entryPoint: 'main' } });
  const group = device.createBindGroup({
    layout: pipeline.getBindGroupLayout(0),
    entries: [from, to].map((buffer, binding) => ({ binding, resource: { buffer } })),
  });
  const encode = (encoder) => {
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(n / 1024);
    pass.end();
  };
  /** Submits what is encoded and brings the second buffer down. */
  const fetch = async (...encoders) => {
    const encoder = device.createCommandEncoder();
    for (const e of encoders) e(encoder);
    encoder.copyBufferToBuffer(to, 0, landing, 0, n * 4);
    device.queue.submit([encoder.finish()]);
    await rested(landing.mapAsync(GPUMapMode.READ));
    const values = new Float32Array(landing.getMappedRange().slice(0));
    landing.unmap();
    return values;
  };
  const drop = () => {
    for (const b of [from, to, landing]) b.destroy();
  };
  return { from, encode, fetch, drop };
}

function elementwise(value) {
  const { from, encode, fetch, drop } = kernel(fourMillion, value);
  device.queue.writeBuffer(from, 0, floats(fourMillion));
  const run = async () => {
    const encoder = device.createCommandEncoder();
    encode(encoder);
    device.queue.submit([encoder.finish()]);
    await rested(device.queue.onSubmittedWorkDone());
  };
  return { run, result: () => fetch(), drop };
}

function updown() {
  const { from, encode, fetch, drop } = kernel(tenMegabytes, 'v + 0.0');
  const data = floats(tenMegabytes);
  const run = () => {
    device.queue.writeBuffer(from, 0, data);
    return fetch(encode);
  };
  return { run, result: run, drop };
}

await serve(
  {
    copy4m: () => elementwise('v'),
    updown,
    builtin4m: () => elementwise('tanh((v * 0.99f + 0.5f) * v - 0.1f)'),
  },
  { version: 'none', backend: 'webgpu', adapter },
);
