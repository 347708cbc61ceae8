import { describe, expect, it } from 'vitest';
import { addScalar, located, openMock, pattern } from '../../../test/support/cuda-device.ts';
import { DeviceLost } from '../../errors.ts';

describe('recordings', () => {
  it('replays one kernel directly, and many as a graph whose arguments change only where buffers do', async () => {
    const { ffi, device } = await openMock();
    const p = device.prepare(addScalar(1000));
    const [x, y, z] = [device.allocate(4000), device.allocate(4000), device.allocate(4000)];
    const one = device.record([{ program: p, buffers: [0, 0], scalars: [0] }]);
    ffi.calls.length = 0;
    one.replay([x], [1]);
    expect(ffi.names()).toEqual(['cuLaunchKernel']);

    const many = device.record(
      [
        { program: p, buffers: [0, 1], scalars: [0] },
        { program: p, buffers: [1, 1], scalars: [0] },
        { program: p, buffers: [2, 2], scalars: [] },
        { program: p, buffers: [2, 2], scalars: [1] },
      ].map((l) => ({ ...l, scalars: l.scalars.length > 0 ? l.scalars : [1] })),
    );
    ffi.calls.length = 0;
    many.replay([x, y, z], [1, 2]);
    expect(ffi.names().filter((n) => n === 'cuGraphAddKernelNode')).toHaveLength(4);
    expect(ffi.names().at(-1)).toBe('cuGraphLaunch');
    ffi.calls.length = 0;
    many.replay([x, y, z], [1, 2]);
    expect(ffi.names()).toEqual(['cuGraphLaunch']);
    ffi.calls.length = 0;
    many.replay([x, y, z], [5, 2]);
    expect(ffi.names(['cuGraphLaunch'])).toEqual(['cuGraphExecKernelNodeSetParams', 'cuGraphExecKernelNodeSetParams']);
    // Swapped buffers get a second graph once, and then cost one call each.
    many.replay([y, x, z], [5, 2]);
    ffi.calls.length = 0;
    many.replay([x, y, z], [5, 2]);
    many.replay([y, x, z], [5, 2]);
    expect(ffi.names()).toEqual(['cuGraphLaunch', 'cuGraphLaunch']);
    // So do four sets of buffers that take turns; a fifth takes the place of the one not used for longest.
    const turns = [
      [x, y, z],
      [y, x, z],
      [z, y, x],
      [x, z, y],
    ];
    for (const set of turns) many.replay(set, [5, 2]);
    ffi.calls.length = 0;
    for (const set of turns) many.replay(set, [5, 2]);
    expect(ffi.names()).toEqual(turns.map(() => 'cuGraphLaunch'));
    many.replay([y, z, x], [5, 2]);
    expect(ffi.names()).toContain('cuGraphExecKernelNodeSetParams');
    ffi.calls.length = 0;
    for (const set of turns.slice(1)) many.replay(set, [5, 2]);
    expect(ffi.names()).toEqual(turns.slice(1).map(() => 'cuGraphLaunch'));
    many.dispose();
    many.dispose();
    expect(ffi.names().filter((n) => n === 'cuGraphExecDestroy')).toHaveLength(4);
  });

  it('exchanges bytes with a recording by one launch of a graph and one wait', async () => {
    const { ffi, device } = await openMock();
    const p = device.prepare(addScalar(1000));
    const [x, y, z] = [device.allocate(4000), device.allocate(4000), device.allocate(4000)];
    const both = device.record([
      { program: p, buffers: [0, 1], scalars: [0] },
      { program: p, buffers: [1, 2], scalars: [0] },
    ]);
    const [first, other] = [
      [x, y, z],
      [x, z, y],
    ];
    const given = pattern(4000);
    ffi.calls.length = 0;
    both.exchange!(first!, [1], 0, given, 2);
    // Captured once: the upload, both kernels, the download.
    expect(ffi.names(['cuCtxSetCurrent'])).toEqual([
      'cuMemHostAlloc',
      'cuStreamBeginCapture_v2',
      'cuMemcpyHtoDAsync_v2',
      'cuLaunchKernel',
      'cuLaunchKernel',
      'cuMemcpyDtoHAsync_v2',
      'cuStreamEndCapture',
      'cuGraphInstantiateWithFlags',
      'cuGraphLaunch',
      'cuStreamSynchronize',
    ]);
    expect(ffi.calls.find((c) => c.name === 'cuMemcpyHtoDAsync_v2')!.args[0]).toBe(located(x));
    expect(ffi.calls.find((c) => c.name === 'cuMemcpyDtoHAsync_v2')!.args[1]).toBe(located(z));
    // Two states that take turns cost one call and one wait each.
    both.exchange!(other!, [1], 0, given, 2);
    ffi.calls.length = 0;
    for (const bindings of [first, other, first, other]) both.exchange!(bindings!, [1], 0, given, 2);
    expect(ffi.names()).toEqual(Array.from({ length: 4 }, () => ['cuGraphLaunch', 'cuStreamSynchronize']).flat());
    // Other numbers are another graph; the ones used longest ago go.
    for (let k = 0; k < 6; k++) both.exchange!(first!, [k + 2], 0, given, 2);
    expect(ffi.names().filter((n) => n === 'cuGraphExecDestroy')).toHaveLength(4);
    ffi.handlers.set('cuStreamSynchronize', () => 700);
    expect(() => both.exchange!(first!, [7], 0, given, 2)).toThrow(DeviceLost);
    both.dispose();
    expect(ffi.names().filter((n) => n === 'cuGraphExecDestroy')).toHaveLength(8);
  });
});
