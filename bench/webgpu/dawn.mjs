// Dawn in the place of a browser's WebGPU, for libraries that only look at `navigator.gpu` and the WebGPU globals.

import { create, globals } from 'webgpu';

export async function installDawn() {
  Object.assign(globalThis, globals);
  const gpu = create([]);
  const requestAdapter = gpu.requestAdapter.bind(gpu);
  // TF.js 4.22 asks for a list inside the list of features, which browsers read as a name and Dawn refuses.
  gpu.requestAdapter = async (options) => {
    const adapter = await requestAdapter(options);
    if (!adapter) return adapter;
    const requestDevice = adapter.requestDevice.bind(adapter);
    adapter.requestDevice = (wanted = {}) =>
      requestDevice({ ...wanted, requiredFeatures: [...(wanted.requiredFeatures ?? [])].flat() });
    return adapter;
  };
  Object.defineProperty(globalThis, 'navigator', {
    value: { gpu, userAgent: 'node', hardwareConcurrency: 2 },
    configurable: true,
  });
  const adapter = await requestAdapter();
  if (!adapter) throw new Error('Dawn found no adapter');
  return adapter.info.description || adapter.info.device;
}
