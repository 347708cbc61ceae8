// What escapes a scope, where a tensor is, and points in the work that can be waited for.

import { describe, expect, it } from 'vitest';
import { createRuntime, type Tensor, withFaults } from '../../src/index.ts';

const cpu = { devices: ['cpu'], cpu: { threads: 1 } } as const;

class Model {
  readonly weights: Tensor;
  readonly #bias: Tensor;
  constructor(weights: Tensor, bias: Tensor) {
    this.weights = weights;
    this.#bias = bias;
  }
  get bias(): Tensor {
    return this.#bias;
  }
}

describe('a scope', () => {
  it('keeps what it returns in Maps, Sets, objects, arrays and instances of classes, however deep', async () => {
    await using rt = await createRuntime(cpu);
    const t = () => rt.tensor([1]);
    const map = rt.scope(() => new Map([[{ key: t() }, { value: [t()] }]]));
    const [[key, value]] = [...map] as [[{ key: Tensor }, { value: Tensor[] }]];
    expect([key.key.disposed, value.value[0]!.disposed]).toEqual([false, false]);
    const set = rt.scope(() => new Set([t()]));
    expect([...set][0]!.disposed).toBe(false);
    let deep: unknown = null;
    const nested = rt.scope(() => {
      let list: unknown[] = [(deep = t())];
      for (let i = 0; i < 50; i++) list = [list];
      return list;
    });
    expect(nested.length).toBe(1);
    expect((deep as Tensor).disposed).toBe(false);
    const model = rt.scope(() => new Model(t(), t().keep()));
    expect([model.weights.disposed, model.bias.disposed]).toEqual([false, false]);
  });

  it('cannot see private fields: what is there only is disposed unless it was kept', async () => {
    await using rt = await createRuntime(cpu);
    const model = rt.scope(() => new Model(rt.tensor([1]), rt.tensor([2])));
    expect([model.weights.disposed, model.bias.disposed]).toEqual([false, true]);
  });

  it('looks into rings, and not into runtimes', async () => {
    await using rt = await createRuntime(cpu);
    let inside: Tensor | null = null;
    const ring = rt.scope(() => {
      inside = rt.tensor([1]);
      const a: { rt: unknown; next?: unknown; tensor: Tensor } = { rt, tensor: rt.tensor([2]) };
      a.next = { next: a };
      return a;
    });
    expect(ring.tensor.disposed).toBe(false);
    expect(inside!.disposed).toBe(true);
  });
});

describe('tensor.keep()', () => {
  it('escapes all scopes around it, also asynchronous ones', async () => {
    await using rt = await createRuntime(cpu);
    const kept: Tensor[] = [];
    await rt.scope(async () => {
      await rt.scope(async () => {
        kept.push(rt.tensor([1]).keep());
        await Promise.resolve();
        kept.push(rt.tensor([2]).keep());
      });
    });
    expect(kept.map((t) => t.disposed)).toEqual([false, false]);
    expect(kept.map((t) => t.item())).toEqual([1, 2]);
  });

  it('does nothing outside of scopes, and refuses a disposed tensor', async () => {
    await using rt = await createRuntime(cpu);
    const t = rt.tensor([1]);
    expect(t.keep()).toBe(t);
    t.dispose();
    expect(() => t.keep()).toThrow(/after it was disposed/);
  });
});

describe('tensor.device', () => {
  it('is where its bytes are: nowhere before it is computed, nor in host memory alone', async () => {
    await using rt = await createRuntime({ ...cpu, memory: { budget: 4 << 20 } });
    const x = rt.ones([1 << 19]).add(1);
    expect(x.device).toBe(null);
    x.compute();
    expect(x.device).toBe('cpu');
    const others = [1, 2].map((i) => rt.full([1 << 19], i).compute());
    expect(x.device).toBe(null);
    expect(x.add(0).sum().item()).toBe(2 ** 20);
    expect(others.length).toBe(2);
    x.dispose();
    expect(() => x.device).toThrow(/after it was disposed/);
  });
});

describe('rt.mark()', () => {
  it('waits for what was enqueued before it', async () => {
    await using rt = await createRuntime({ devices: ['webgpu'] });
    const x = rt.ones([1 << 20]).compute();
    x.cumsum(0).compute();
    const mark = rt.mark();
    expect(await mark).toBe(undefined);
    expect(mark.done()).toBe(true);
    await mark.whenDone({ signal: AbortSignal.timeout(5000) });
  });

  it('ends with an error when its device is lost, and can be given up', async () => {
    let faulty: ReturnType<typeof withFaults> | null = null;
    const plan = { faults: [{ at: 'mark', nth: 1, as: 'hang' }] } as const;
    await using rt = await createRuntime({ ...cpu, wrap: (d) => (faulty = withFaults(d, plan)) });
    const mark = rt.mark();
    expect(mark.done()).toBe(false);
    await expect(mark.whenDone({ signal: AbortSignal.timeout(5) })).rejects.toThrow(/abort|timeout/i);
    const waiting = mark.whenDone();
    faulty!.lose();
    await expect(waiting).rejects.toThrow(/lost/);
  });
});
