import { describe, expect, it } from 'vitest';
import { FieldClient } from '../field/wire/index.ts';
import type { Output } from '../forge/style.ts';
import { runField } from './field-show.ts';
import { pictureLines, signedBar, sliceLines, sparkline } from './field-view.ts';

function capture(isTTY = false): Output & { text: string; errors: string } {
  const made = {
    text: '',
    errors: '',
    isTTY,
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

describe('pictures of a field', () => {
  it('have bars for values, with their signs, and nothing that steers a terminal', () => {
    expect(sparkline([0, 1, 4, 8], 8)).toBe(' ▁▄█');
    expect(sparkline([-1, 0])).toBe('  ');
    expect(signedBar(0.5, 9)).toBe('    │██  ');
    expect(signedBar(-1, 9)).toBe('████│    ');
    expect(signedBar(Number.POSITIVE_INFINITY, 9)).toBe('    │████');
    const nothing = { state: null, sensors: null, motors: null, slice: null, loop: null, bytes: null };
    expect(pictureLines({ title: 'a\u001b[2Jb\u0007', ...nothing }, { columns: 80, colour: false })[0]).toBe('ab');
  });

  it('have slices of any size within the width of the terminal', () => {
    for (const [height, width] of [
      [1, 1],
      [5, 7],
      [96, 96],
      [4, 300],
    ] as const) {
      const values = Float32Array.from({ length: height * width }, (_, i) => i);
      const lines = sliceLines({ values, height, width }, { columns: 80, colour: false });
      expect(Math.max(...lines.slice(0, -1).map((l) => l.length))).toBeLessThanOrEqual(80);
      expect(lines.length).toBeLessThanOrEqual(33);
      const coloured = sliceLines({ values, height, width }, { columns: 80, colour: true });
      expect(coloured.length).toBe(Math.ceil((lines.length - 1) / 2) + 1);
    }
  });
});

describe('gpuforge field', () => {
  it('shows a run with motors and times', async () => {
    const output = capture();
    expect(await runField('demo', small, output)).toBe(0);
    expect(output.text).toMatch(/^field on cpu: it was asked for\n/);
    expect(output.text).toMatch(/cycle {2}50 {2}motors/);
    // Something moves, and nothing is a zero with a sign.
    const motors = [...output.text.matchAll(/motors ((?: +-?\d\.\d{4})+)/g)].flatMap((m) => m[1]!.trim().split(/ +/));
    expect(motors).toHaveLength(25);
    expect(Math.max(...motors.map((m) => Math.abs(Number(m))))).toBeGreaterThan(0.01);
    expect(motors).not.toContain('-0.0000');
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

  it('draws a control loop while it runs: on a terminal in place, elsewhere as text', async () => {
    const [terminal, file] = [capture(true), capture()];
    const live = { ...small, live: true, hz: '50', seconds: '0.5', channel: '3', axis: '2' };
    expect(await runField('demo', live, terminal)).toBe(0);
    expect(terminal.text.startsWith('\u001b[?1049h\u001b[?25l')).toBe(true);
    const [drawn, left] = terminal.text.split('\u001b[?25h\u001b[?1049l');
    expect(drawn!.split('\u001b[H').length).toBeGreaterThan(2);
    expect(drawn).toMatch(/38;5;2[345]\d/);
    expect(await runField('demo', live, file)).toBe(0);
    for (const text of [left!, file.text]) {
      expect(text).toMatch(/slice across axis 2, channel 3/);
      expect(text).toMatch(/sensor values are made up: a demo/);
      expect(text).toMatch(/motor {2}4 .*│.* -?0\.\d{3}/);
      expect(text).toMatch(/25 ticks at 50 Hz, \d+ missed/);
      expect(text).toMatch(/confidence unknown, skill unknown, memory/);
    }
    expect(file.text).not.toContain('\u001b');
    // A slice that is not there is refused before anything is drawn.
    const wrong = capture(true);
    expect(await runField('demo', { ...live, channel: '99' }, wrong)).toBe(2);
    expect([wrong.text, wrong.errors]).toEqual(['', expect.stringMatching(/channel 99/)]);
    expect(await runField('demo', { ...live, hz: '0' }, wrong)).toBe(2);
    expect(await runField('demo', { ...live, seconds: 'x' }, wrong)).toBe(2);
    expect(wrong.text.endsWith('\u001b[?25h') || wrong.text.includes('\u001b[?1049l')).toBe(true);
  });

  it('draws what a server does', async () => {
    const [output, end] = [capture(), new AbortController()];
    const running = runField('serve', { ...small, port: '0', live: true }, output, end.signal);
    while (!output.text.includes('fields at')) await new Promise((r) => setTimeout(r, 10));
    expect(output.text).toMatch(/end with Ctrl\+C/);
    const port = Number(/fields at [^:]+:(\d+)/.exec(output.text)![1]);
    await using client = await FieldClient.connect({ port, sensors: 4, motors: 2 });
    await client.getAction([0.1, 0, 0, 0]);
    end.abort();
    expect(await running).toBe(0);
    expect(output.text).toMatch(/1 of 64 connections, 1 so far, 0 refused, 0 errors/);
    expect(output.text).toMatch(/client-1 +cpu +1 /);
    expect(output.text).toMatch(/client-1 +127\.0\.0\.1 +client-1 +4 +2 +1/);
  });

  it('says what is wrong with its options', async () => {
    const output = capture();
    expect(await runField('bench', { ...small, resolution: '2' }, output)).toBe(2);
    expect(output.errors).toMatch(/resolution is 2/);
    expect(await runField('serve', { ...small, host: '0.0.0.0', port: '0' }, output)).toBe(2);
    expect(output.errors).toMatch(/no token/);
  });
});
