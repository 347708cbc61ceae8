import { describe, expect, it } from 'vitest';
import { koffiFfi } from './koffi.ts';

const ffi = await koffiFfi();

describe('the koffi port', () => {
  const libc = ffi.open(['libnothing-of-this-name.so', 'libc.so.6']);

  it('opens the first library that loads', () => {
    expect(libc.path).toBe('libc.so.6');
  });

  it('lists every name it tried when none loads', () => {
    expect(() => ffi.open(['liba-missing.so', 'libb-missing.so'])).toThrow(/liba-missing(.|\n)*libb-missing/);
  });

  it('gives undefined for a symbol that does not exist', () => {
    expect(libc.bind('no_such_symbol_here', 'i32', [])).toBeUndefined();
  });

  it('passes addresses as numbers, in both directions', () => {
    const copy = libc.bind('memcpy', 'u64', ['u64', 'u64', 'u64'])!;
    const source = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]);
    const target = new Uint8Array(8);
    const at = ffi.address(target);
    expect(Number(copy(at, ffi.address(source), 8))).toBe(at);
    expect([...target]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('views foreign memory without a copy and reads text', () => {
    const allocate = libc.bind('calloc', 'u64', ['u64', 'u64'])!;
    const free = libc.bind('free', 'i32', ['u64'])!;
    const at = Number(allocate(1, 16));
    const bytes = new Uint8Array(ffi.view(at, 16));
    bytes.set([0x66, 0x6f, 0x72, 0x67, 0x65]);
    expect(ffi.text(at)).toBe('forge');
    const length = libc.bind('strlen', 'u64', ['u64'])!;
    expect(Number(length(at))).toBe(5);
    free(at);
  });

  it('runs a call on another thread', async () => {
    const length = libc.bind('strlen', 'u64', ['u64'])!;
    const text = new Uint8Array([0x68, 0x69, 0]);
    expect(await length.threaded(ffi.address(text))).toBe(2);
  });
});
