import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { largePages } from './large-pages.ts';
import { CpuMemory } from './memory.ts';

/** A `koffi` whose call notes what it is asked for, and answers with these codes. */
function noting(...codes: readonly number[]) {
  const calls: unknown[][] = [];
  let loads = 0;
  const require = (): unknown => {
    loads++;
    return {
      load: () => ({
        func:
          () =>
          (...args: unknown[]) =>
            codes[calls.push(args) - 1] ?? 0,
      }),
    };
  };
  return { require, calls, loads: () => loads };
}

describe('large pages', () => {
  it('are asked for under all of a memory, and what was in use before is put together once', () => {
    const { require, calls, loads } = noting();
    const ask = largePages(require);
    const [small, large] = [new Uint8Array(1 << 16), new Uint8Array(1 << 17)];
    ask(small, 4096);
    ask(large, 1 << 16);
    expect(calls).toEqual([
      [small, 1 << 16, 14],
      [small, 4096, 25],
      [large, 1 << 17, 14],
    ]);
    expect(loads()).toBe(1);
  });

  it('are left alone where the system refuses them, and without koffi', () => {
    const { require, calls } = noting(-1);
    largePages(require)(new Uint8Array(1 << 16), 4096);
    expect(calls).toHaveLength(1);
    let asked = 0;
    const without = largePages(() => {
      asked++;
      throw new Error('not installed');
    });
    for (let i = 0; i < 3; i++) without(new Uint8Array(1), 1);
    expect(asked).toBe(1);
  });

  it('change nothing that is in the memory, and small memories do not ask', () => {
    const sizes: (readonly [number, number])[] = [];
    const real = largePages(createRequire(import.meta.url));
    const memory = new CpuMemory(256 << 20, true, (bytes, used) => {
      sizes.push([bytes.byteLength, used]);
      real(bytes, used);
    });
    const first = memory.take(12 << 20, 'test');
    memory.views.u8.fill(7, first.address, first.address + (12 << 20));
    expect(sizes).toEqual([]);
    const second = memory.take(64 << 20, 'test');
    expect(sizes).toHaveLength(1);
    expect(sizes[0]![0]).toBeGreaterThan(76 << 20);
    memory.views.u8.fill(9, second.address, second.address + (64 << 20));
    const kept = memory.views.u8.subarray(first.address, first.address + (12 << 20));
    expect(kept.every((v) => v === 7)).toBe(true);
  });
});
