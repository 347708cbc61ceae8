import { describe, expect, it } from 'vitest';
import { parseSmi } from './smi.ts';

const line = '0, GPU-1, 00000000:01:00.0, NVIDIA GeForce RTX 4090, 580.95.05, 8.9, 24564, 24000, [N/A]';

describe('the answer of nvidia-smi', () => {
  it('may have several lines, and unknown fields stay unknown', () => {
    const answer = parseSmi(
      `${line}\n1, GPU-2, 0000000F:01:00.0, NVIDIA GB10, 580.95.05, 12.1, [N/A], [Not Supported], Enabled\n`,
    );
    expect(answer).toMatchObject({
      outcome: 'ok',
      driver: '580.95.05',
      devices: [
        { memoryTotal: 24_564 * 1024 ** 2, migEnabled: null },
        { memoryTotal: null, memoryFree: null, migEnabled: true },
      ],
    });
  });

  it('that names no device is an empty answer', () => {
    expect(parseSmi('No devices were found\n')).toEqual({ outcome: 'ok', driver: null, devices: [] });
  });

  it.each(['', 'NVIDIA-SMI has failed', 'a,b,c', 'x, GPU-1, 1, n, 1, 8.9, 1, 1, [N/A]'])(
    'that is nonsense (%j) is a failure',
    (text) => {
      expect(parseSmi(text)).toMatchObject({ outcome: 'failed' });
    },
  );

  it('keeps the lines it can read between lines it cannot', () => {
    const answer = parseSmi(`WARNING: infoROM is corrupted at gpu 0000:01:00.0\n${line}\n`);
    expect(answer.outcome === 'ok' && answer.devices).toHaveLength(1);
  });
});
