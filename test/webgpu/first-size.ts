// A GPU with the habit of wgpu: within a pass, pipelines that share a layout are held to the buffer sizes of the first of them.
//
// Everything else is the GPU underneath. What it refuses becomes a real validation error, in the scope that is open then.

interface Shader {
  readonly layout: unknown;
  /** Bytes that each storage buffer must have. */
  readonly sizes: readonly number[];
}

const elementBytes = (element: string): number => (element.startsWith('vec4') ? 16 : element === 'f16' ? 2 : 4);

const sizesOf = (source: string): number[] =>
  [...source.matchAll(/var<storage[^>]*>\s*\w+: array<(\w+(?:<\w+>)?)(?:, (\d+)u?)?>/g)].map(
    ([, element, count]) => elementBytes(element!) * Number(count ?? 1),
  );

type Overrides = Readonly<Record<string, (...args: never[]) => unknown>>;

/** An object with some methods replaced; the rest goes to the object itself. */
function over<T extends object>(target: T, overrides: Overrides): T {
  return new Proxy(target, {
    get: (_, name) => {
      const own = overrides[name as string];
      if (own) return own;
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

export function withFirstSize(gpu: GPU): GPU {
  return over(gpu, {
    requestAdapter: async (options: GPURequestAdapterOptions) => {
      const adapter = await gpu.requestAdapter(options);
      return (
        adapter &&
        over(adapter, {
          requestDevice: async (wanted: GPUDeviceDescriptor) => device(await adapter.requestDevice(wanted)),
        })
      );
    },
  });
}

function device(real: GPUDevice): GPUDevice {
  const sources = new WeakMap<object, string>();
  const shaders = new WeakMap<object, Shader>();
  const bound = new WeakMap<object, readonly number[]>();
  return over(real, {
    createShaderModule: (d: GPUShaderModuleDescriptor) => {
      const made = real.createShaderModule(d);
      sources.set(made, d.code);
      return made;
    },
    createComputePipeline: (d: GPUComputePipelineDescriptor) => {
      const made = real.createComputePipeline(d);
      shaders.set(made, { layout: d.layout, sizes: sizesOf(sources.get(d.compute.module)!) });
      return made;
    },
    createBindGroup: (d: GPUBindGroupDescriptor) => {
      const made = real.createBindGroup(d);
      bound.set(
        made,
        [...d.entries].map((e) => (e.resource as GPUBufferBinding).buffer.size),
      );
      return made;
    },
    createCommandEncoder: (d?: GPUCommandEncoderDescriptor) => {
      const encoder = real.createCommandEncoder(d);
      let refused = false;
      const pass = (p: GPUComputePassEncoder): GPUComputePassEncoder => {
        let held: Shader | null = null;
        let group: readonly number[] = [];
        return over(p, {
          setPipeline: (pipeline: GPUComputePipeline) => {
            p.setPipeline(pipeline);
            const shader = shaders.get(pipeline)!;
            if (held?.layout !== shader.layout) held = shader;
          },
          setBindGroup: (index: number, g: GPUBindGroup, offsets?: Iterable<number>) => {
            p.setBindGroup(index, g, offsets ?? []);
            group = bound.get(g)!;
          },
          dispatchWorkgroups: (x: number, y: number, z: number) => {
            if (held!.sizes.some((size, i) => size > group[i]!)) refused = true;
            p.dispatchWorkgroups(x, y, z);
          },
        });
      };
      return over(encoder, {
        beginComputePass: (x?: GPUComputePassDescriptor) => pass(encoder.beginComputePass(x)),
        finish: () => {
          // No buffer may have no usage at all: the error of this encoder.
          if (refused) real.createBuffer({ size: 4, usage: 0 });
          return encoder.finish();
        },
      });
    },
  });
}
