import { describe, expect, it } from 'vitest';
import { chunkIdOf } from '../chunk-id.ts';
import type { ChunkDescriptor } from '../transport.ts';
import { alone, chunksOf, idOf, isParcel, parcelsOf } from './parcel.ts';

const chunk = (index: number, params: ChunkDescriptor['params'] = index): ChunkDescriptor => {
  const inputs = [{ uri: 'file:///x', sha256: 'a'.repeat(64), dtype: 'f32', shape: [2] }] as const;
  return { jobId: 'j', index, op: 'o', codeVersion: '1', inputs, params, bytes: 8 };
};
const chunks = (count: number): ChunkDescriptor[] => Array.from({ length: count }, (_, i) => chunk(i));

describe('parcels', () => {
  it('carry all chunks as they were, in their order', () => {
    for (const count of [1, 2, 19, 20, 21, 40, 61]) {
      const loads = parcelsOf(chunks(count), 3);
      expect(loads).toHaveLength(Math.ceil(count / 20));
      const sent = JSON.parse(JSON.stringify(loads)) as typeof loads;
      expect(sent.flatMap((l) => chunksOf(l.data))).toEqual(chunks(count));
    }
    expect(parcelsOf([], 3)).toEqual([]);
  });

  it('are the same for the same chunks, and others for others', () => {
    const ids = (list: readonly ChunkDescriptor[]) => parcelsOf(list, 3).map((l) => l.opts.jobId);
    expect(ids(chunks(60))).toEqual(ids(chunks(60)));
    const other = chunks(60);
    other[30] = chunk(30, 'other');
    expect(ids(other).map((id, k) => id === ids(chunks(60))[k])).toEqual([true, false, true]);
  });

  it('are no longer than a few chunks where those are large', () => {
    const large = Array.from({ length: 30 }, (_, i) => chunk(i, 'x'.repeat(i % 2 === 0 ? 10_000 : 60_000)));
    const loads = parcelsOf(large, 3);
    expect(loads.flatMap((l) => chunksOf(l.data).map((c) => c.index))).toEqual(large.map((c) => c.index));
    for (const load of loads) expect(JSON.stringify(load.data).length).toBeLessThan(85_000);
  });

  it('a chunk that was tried goes on with the attempts it has left, and waits twice as long each time', async () => {
    expect(alone(chunk(4), 3)).toMatchObject({ data: chunk(4), opts: { attempts: 3, backoff: { delay: 100 } } });
    const again = alone(chunk(4), 3, { tried: 1 });
    expect(again.opts).toMatchObject({ attempts: 2, delay: 100, backoff: { delay: 200 } });
    expect(again.opts.jobId).toBe(await chunkIdOf(chunk(4)));
    expect(idOf(chunk(4))).toBe(again.opts.jobId);
    expect(isParcel(again.data)).toBe(false);
    expect(chunksOf(again.data)).toEqual([chunk(4)]);
  });
});
