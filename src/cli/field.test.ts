import { describe, expect, it } from 'vitest';
import { FieldClient } from '../field/wire/index.ts';
import type { Output } from '../forge/style.ts';
import { runField } from './field-show.ts';

function capture(): Output & { text: string; errors: string } {
  const made = {
    text: '',
    errors: '',
    isTTY: false,
    columns: 80,
    write: (t: string) => {
      made.text += t;
    },
    warn: (t: string) => {
      made.errors += t;
    },
  };
  return made;
}

const small = { resolution: '4', channels: '32', device: 'cpu' };

describe('gpuforge field', () => {
  it('shows a run with motors and times', async () => {
    const output = capture();
    expect(await runField('demo', small, output)).toBe(0);
    expect(output.text).toMatch(/cycle {2}50 {2}motors/);
    expect(output.text).toMatch(/launches per cycle +4/);
  });

  it('measures cycles as JSON', async () => {
    const output = capture();
    expect(await runField('bench', { ...small, cycles: '5', json: true }, output)).toBe(0);
    expect(JSON.parse(output.text)).toMatchObject({
      schema: 'gpuforge.field-cli/1',
      command: 'bench',
      cycles: 5,
      device: 'cpu',
      transfers: { up: 1, down: 1 },
    });
  });

  it('serves until it is told to end', async () => {
    const [output, end] = [capture(), new AbortController()];
    const running = runField('serve', { ...small, port: '0', token: 't' }, output, end.signal);
    while (!output.text.includes('fields at')) await new Promise((r) => setTimeout(r, 10));
    const port = Number(/:(\d+),/.exec(output.text)![1]);
    await using client = await FieldClient.connect({ port, sensors: 4, motors: 2, token: 't' });
    expect(await client.getAction([0.1, 0, 0, 0])).toHaveLength(2);
    end.abort();
    expect(await running).toBe(0);
    expect(output.text).toMatch(/1 cycles served/);
  });

  it('says what is wrong with its options', async () => {
    const output = capture();
    expect(await runField('bench', { ...small, resolution: '2' }, output)).toBe(2);
    expect(output.errors).toMatch(/resolution is 2/);
    expect(await runField('serve', { ...small, host: '0.0.0.0', port: '0' }, output)).toBe(2);
    expect(output.errors).toMatch(/no token/);
  });
});
