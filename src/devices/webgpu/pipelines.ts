// Layouts, pipelines and bind groups, each made once.
//
// A layout is known by what it binds ("rrw", the bytes of scalars, the veil), so pipelines that bind alike share layouts and
// bind groups, unless the adapter cannot have that (shared-layouts.ts). Creation runs inside error scopes; a rejected shader is remembered with its pipeline and reported by the
// batch that used it, or at once if it is already known.

import type { KernelError } from '../../errors.ts';
import { computeStage, usage } from './constants.ts';
import { shaderError } from './errors.ts';
import type { Block } from './memory.ts';
import type { Pass } from './plan.ts';

interface Layout {
  readonly group: GPUBindGroupLayout;
  readonly pipeline: GPUPipelineLayout;
  readonly bindGroups: Map<string, GPUBindGroup>;
  readonly scalarBytes: number;
  readonly veil: boolean;
}

/** An accepted (or rejected) shader; it may run over many grids and buffers. */
export interface Compiled {
  readonly pipeline: GPUComputePipeline;
  readonly layout: Layout;
  failure: KernelError | null;
  accepted: boolean;
  /** Resolves when it is known whether the shader was accepted. */
  readonly checked: Promise<void>;
}

const maxBindGroups = 2048;
const maxPipelines = 2048;

export class Pipelines {
  readonly #device: GPUDevice;
  readonly #id: string;
  readonly #scalars: GPUBuffer;
  readonly #share: boolean;
  /** Never written, so it holds zeros; no shader compiler can know. */
  readonly #veil: GPUBuffer;
  readonly #layouts = new Map<string, Layout>();
  readonly #compiled = new Map<string, Compiled>();

  constructor(device: GPUDevice, id: string, scalars: GPUBuffer, share: boolean) {
    this.#device = device;
    this.#share = share;
    this.#id = id;
    this.#scalars = scalars;
    this.#veil = device.createBuffer({ size: 16, usage: usage.uniform, label: 'veil' });
  }

  compile(pass: Pass, scalarCount: number): Compiled {
    const scalarBytes = pass.usesScalars ? Math.ceil(scalarCount / 64) * 256 : 0;
    const kinds = pass.bindings.map((b) => (b.access === 'read' ? 'r' : 'w')).join('');
    const key = `${kinds}:${scalarBytes}:${pass.usesVeil}:${pass.entry}:${pass.source}`;
    const made = this.#compiled.get(key) ?? this.#create(pass, this.#layout(kinds, scalarBytes, pass.usesVeil));
    // Last in the map is used last. What is dropped lives on in the programs that hold it.
    this.#compiled.delete(key);
    this.#compiled.set(key, made);
    if (this.#compiled.size > maxPipelines) this.#compiled.delete(this.#compiled.keys().next().value!);
    return made;
  }

  bindGroup(compiled: Compiled, blocks: readonly Block[]): GPUBindGroup {
    const { layout } = compiled;
    let key = '';
    for (const b of blocks) key += `${b.id},`;
    const known = layout.bindGroups.get(key);
    if (known) return known;
    if (layout.bindGroups.size >= maxBindGroups) layout.bindGroups.clear();
    const entries: GPUBindGroupEntry[] = blocks.map((b, binding) => ({ binding, resource: { buffer: b.gpu } }));
    if (layout.scalarBytes > 0) {
      entries.push({ binding: blocks.length, resource: { buffer: this.#scalars, size: layout.scalarBytes } });
    }
    if (layout.veil) entries.push({ binding: entries.length, resource: { buffer: this.#veil } });
    // A block the GPU refused makes this fail; the allocation's own scope reports why.
    this.#device.pushErrorScope('validation');
    const made = this.#device.createBindGroup({ layout: layout.group, entries });
    this.#device.popErrorScope().catch(() => {});
    layout.bindGroups.set(key, made);
    return made;
  }

  /** Forgets bind groups, which would keep destroyed buffers alive. */
  forgetBindGroups(): void {
    for (const layout of this.#layouts.values()) layout.bindGroups.clear();
  }

  get counts(): { pipelines: number; layouts: number; bindGroups: number } {
    let bindGroups = 0;
    for (const l of this.#layouts.values()) bindGroups += l.bindGroups.size;
    return { pipelines: this.#compiled.size, layouts: this.#layouts.size, bindGroups };
  }

  #layout(kinds: string, scalarBytes: number, veil: boolean): Layout {
    const own = this.#share ? '' : this.#compiled.size;
    const key = `${kinds}:${scalarBytes}:${veil}:${own}`;
    const known = this.#layouts.get(key);
    if (known) return known;
    const entries: GPUBindGroupLayoutEntry[] = [...kinds].map((k, binding) => ({
      binding,
      visibility: computeStage,
      buffer: { type: k === 'r' ? 'read-only-storage' : 'storage' },
    }));
    if (scalarBytes > 0) {
      entries.push({
        binding: kinds.length,
        visibility: computeStage,
        buffer: { type: 'uniform', hasDynamicOffset: true, minBindingSize: 0 },
      });
    }
    if (veil) entries.push({ binding: entries.length, visibility: computeStage, buffer: { type: 'uniform' } });
    const group = this.#device.createBindGroupLayout({ entries });
    const pipeline = this.#device.createPipelineLayout({ bindGroupLayouts: [group] });
    const made = { group, pipeline, bindGroups: new Map<string, GPUBindGroup>(), scalarBytes, veil };
    this.#layouts.set(key, made);
    return made;
  }

  #create(pass: Pass, layout: Layout): Compiled {
    this.#device.pushErrorScope('internal');
    this.#device.pushErrorScope('validation');
    const module = this.#device.createShaderModule({ code: pass.source, label: pass.name });
    const pipeline = this.#device.createComputePipeline({
      label: pass.name,
      layout: layout.pipeline,
      compute: { module, entryPoint: pass.entry },
    });
    const errors = [this.#device.popErrorScope(), this.#device.popErrorScope()];
    const made: Compiled = {
      pipeline,
      layout,
      failure: null,
      accepted: false,
      checked: Promise.all(errors).then(
        async ([validation, internal]) => {
          const error = validation ?? internal;
          made.accepted = !error;
          if (error) made.failure = shaderError(this.#id, pass.name, pass.source, error, await compilerLines(module));
        },
        () => {},
      ),
    };
    return made;
  }
}

async function compilerLines(module: GPUShaderModule): Promise<string> {
  try {
    const info = await module.getCompilationInfo();
    const errors = info.messages.filter((m) => m.type === 'error').slice(0, 4);
    return errors.map((m) => `line ${m.lineNum}:${m.linePos}: ${m.message}`).join('; ');
  } catch {
    return '';
  }
}
