import { describe, expect, it, vi } from 'vitest';
import { addScalar, openMock } from '../../../test/support/cuda-device.ts';
import { within } from '../../../test/support/time.ts';

describe('waits for the device', () => {
  it('waits for a short kernel without giving up its turn, and lets only one of many waits do so', async () => {
    const { ffi, device } = await openMock();
    const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
    try {
      const asked = new Map<number, number>();
      let slow = true;
      const first = device.mark();
      const second = device.mark();
      const events = ffi.calls.filter((c) => c.name === 'cuEventRecord').map((c) => c.args[0]!);
      ffi.handlers.set('cuEventQuery', (event) => {
        const times = (asked.get(event!) ?? 0) + 1;
        asked.set(event!, times);
        return event === events[0] ? (times < 100 ? 600 : 0) : slow ? 600 : 0;
      });
      let turned = false;
      setImmediate(() => {
        turned = true;
      });
      const waits = [first.whenDone(), second.whenDone()];
      // Nothing is asked before the caller has enqueued all it has.
      expect(asked.size).toBe(0);
      await waits[0];
      expect(turned).toBe(false);
      expect(asked.get(events[0]!)).toBe(100);
      expect(asked.get(events[1]!) ?? 0).toBeLessThan(4);
      slow = false;
      await waits[1];
    } finally {
      clock.mockRestore();
    }
  });

  describe('marks that are waited for at once', () => {
    /** A device that has done as many launches as it is told. */
    async function steered() {
      const { ffi, device } = await openMock();
      const b = device.allocate(1024);
      const program = device.prepare(addScalar(256));
      const recorded = new Map<number, number>();
      const state = { launched: 0, done: 0, asked: new Set<number>() };
      ffi.handlers.set('cuLaunchKernel', () => {
        state.launched++;
        return 0;
      });
      ffi.handlers.set('cuEventRecord', (event) => {
        recorded.set(event!, state.launched);
        return 0;
      });
      ffi.handlers.set('cuEventQuery', (event) => {
        state.asked.add(event!);
        return recorded.get(event!)! <= state.done ? 0 : 600;
      });
      const marks = (count: number) =>
        Array.from({ length: count }, () => {
          device.launch(program, [b, b], [1]);
          return device.mark(false);
        });
      return { state, marks };
    }

    it('are asked about one at a time, the earliest first', async () => {
      const { state, marks } = await steered();
      const ended: number[] = [];
      const waits = marks(20).map((m, i) => m.whenDone().then(() => ended.push(i)));
      for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve));
      expect(state.asked.size).toBe(1);
      state.done = 10;
      await waits[9];
      expect(ended).toEqual(Array.from({ length: 10 }, (_, i) => i));
      state.done = 20;
      await Promise.all(waits);
      expect(ended).toEqual(Array.from({ length: 20 }, (_, i) => i));
    });

    it('do not wait for later ones, whichever was asked for first', async () => {
      const { state, marks } = await steered();
      const [early, late] = marks(2);
      let over = false;
      const ends = late!.whenDone().then(() => {
        over = true;
      });
      const first = early!.whenDone();
      state.done = 1;
      await first;
      expect(over).toBe(false);
      state.done = 2;
      await ends;
    });
  });

  it('lets the event loop turn now and then, however soon everything is done', async () => {
    const { device } = await openMock();
    const b = device.allocate(64);
    let turned = false;
    setImmediate(() => {
      turned = true;
    });
    const start = performance.now();
    while (!turned && performance.now() - start < within(3000)) await device.read(b);
    expect(turned).toBe(true);
    turned = false;
    setImmediate(() => {
      turned = true;
    });
    while (!turned && performance.now() - start < within(6000)) await device.mark(false).whenDone();
    expect(turned).toBe(true);
  });
});
