// What `gpuforge field` runs and prints.

import { quantilesOf } from '../base/quantiles.ts';
import {
  type BenchmarkReport,
  createField,
  Field,
  FieldConfigError,
  type FieldEvents,
  type FieldOptions,
  latencyHistogram,
  type Model,
  runBenchmark,
} from '../field/index.ts';
import { type ServerView, serveField, serveTelemetry, type WatchedField } from '../field/wire/index.ts';
import { columns, type Output } from '../forge/style.ts';
import { plainLine } from '../forge/text/plain.ts';
import { ForgeError, formatBytes } from '../index.ts';
import { tellFailure } from './failure.ts';
import { LiveView } from './field-live.ts';
import { fixed, pictureLines } from './field-view.ts';
import { numberOf } from './number.ts';

export interface FieldFlags {
  readonly model?: string;
  readonly resolution?: string;
  readonly channels?: string;
  readonly device?: string;
  readonly seed?: string;
  readonly cycles?: string;
  readonly json?: boolean;
  readonly port?: string;
  readonly host?: string;
  readonly token?: string;
  readonly hz?: string;
  readonly load?: string;
  readonly telemetry?: string;
  readonly save?: string;
  readonly live?: boolean;
  readonly seconds?: string;
  readonly axis?: string;
  readonly channel?: string;
}

/** The number of an option, if it was given. */
function number(flags: FieldFlags, name: keyof FieldFlags): number | undefined {
  const text = flags[name];
  return typeof text === 'string' ? numberOf(`--${name}`, text) : undefined;
}

const optionsOf = (flags: FieldFlags): FieldOptions => ({
  model: flags.model as Model | undefined,
  resolution: number(flags, 'resolution'),
  channels: number(flags, 'channels'),
  device: flags.device,
  seed: number(flags, 'seed'),
});

/** Exit status: 0, 1 if a cycle failed, 2 for input that makes no sense. */
export async function runField(what: string, flags: FieldFlags, output: Output, signal?: AbortSignal): Promise<number> {
  try {
    await commands[what]!(flags, output, signal);
    return 0;
  } catch (error) {
    if (!(error instanceof ForgeError)) throw error;
    tellFailure(error, output, flags.json);
    return error.code === 'FIELD_NOT_FINITE' ? 1 : 2;
  }
}

const json = (output: Output, command: string, data: object): void =>
  output.write(`${JSON.stringify({ schema: 'gpuforge.field-cli/1', command, ...data }, null, 2)}\n`);

const ms = (v: number): string => (v < 1 ? `${(1000 * v).toFixed(1)} µs` : `${v.toFixed(2)} ms`);

const table = (r: BenchmarkReport, bytes: number): string =>
  columns([
    ['device', r.device],
    ['model', r.model],
    ['cycles', String(r.cycles)],
    ['median', ms(r.median)],
    ['mean ± std', `${ms(r.mean)} ± ${ms(r.std)}`],
    ['p95, p99', `${ms(r.p95)}, ${ms(r.p99)}`],
    ['min, max', `${ms(r.min)}, ${ms(r.max)}`],
    ['cycles per second', r.cyclesPerSecond.toFixed(1)],
    ['launches per cycle', String(r.launches)],
    ['uploads, downloads', `${r.transfers.up}, ${r.transfers.down}`],
    ['memory of the field', formatBytes(bytes)],
  ]);

/** The input of the demo: fixed values and a slow sine. */
const base = [0.1, 0.2, -0.1, 0.3, 0, 0.1, 0.2, -0.1, 0.3, 0, 0.1, 0.2, -0.1, 0.3, 0, 0.1, 0];
const demoInput = (i: number): number[] => base.map((v) => v + 0.1 * Math.sin(0.1 * i));

/** A signal for when the program is told to end, by Ctrl+C or by its caller; `forget` lets Ctrl+C be what it was. */
function endOf(signal?: AbortSignal): { readonly signal: AbortSignal; forget(): void } {
  const end = new AbortController();
  const stop = (): void => end.abort();
  if (signal?.aborted) stop();
  signal?.addEventListener('abort', stop);
  const kinds = ['SIGINT', 'SIGTERM'] as const;
  for (const kind of kinds) process.once(kind, stop);
  return {
    signal: end.signal,
    forget: () => {
      signal?.removeEventListener('abort', stop);
      for (const kind of kinds) process.off(kind, stop);
    },
  };
}

/** The demo as a control loop, drawn while it runs. */
async function watchDemo(field: Field, flags: FieldFlags, output: Output, signal?: AbortSignal): Promise<void> {
  const [hz, seconds] = [number(flags, 'hz') ?? 20, number(flags, 'seconds') ?? 10];
  if (!(seconds > 0))
    throw new FieldConfigError({
      where: 'field demo',
      problem: `--seconds is ${flags.seconds}`,
      fix: 'Give a number above 0.',
    });
  const { edges, model } = field.options.shape;
  const [axis, channel] = [(number(flags, 'axis') ?? 0) as 0 | 1 | 2, number(flags, 'channel') ?? 0];
  // Refuses what is not there before anything is drawn.
  await field.slice(axis, (edges[axis] ?? 0) >> 1, channel);
  let last: FieldEvents['cycle'] | null = null;
  const latencies: number[] = [];
  let [ticks, missed] = [0, 0];
  field.on('cycle', (cycle) => {
    last = cycle;
  });
  field.on('tick', (tick) => {
    if (latencies.push(tick.latencyMs) > 1000) latencies.shift();
    ticks++;
    missed += tick.missed;
  });
  const view = new LiveView(output, async (canvas) => {
    const [height, width] = edges.filter((_, a) => a !== axis) as [number, number];
    const values = await field.slice(axis, edges[axis] >> 1, channel);
    const quantiles = quantilesOf(latencies);
    return pictureLines(
      {
        title: `field on ${field.device}, model ${model}, ${edges.join(' × ')} cells; slice across axis ${axis}, channel ${channel}`,
        madeBy: 'a demo',
        state: last?.state ?? null,
        sensors: last?.sensors ?? null,
        motors: last?.motors ?? null,
        slice: { values, height, width },
        loop: quantiles
          ? {
              hz,
              histogram: latencyHistogram(latencies, 1000 / hz),
              p50: quantiles.p50,
              p99: quantiles.p99,
              missed,
              ticks,
            }
          : null,
        bytes: field.report().memory.state,
      },
      canvas,
    );
  });
  const end = endOf(signal);
  let i = 0;
  try {
    const count = Math.max(1, Math.round(hz * seconds));
    await field.loop({
      hz,
      ticks: count,
      signal: end.signal,
      source: () => Float32Array.from(demoInput(i++)),
      sink: () => {},
    });
  } finally {
    end.forget();
    await view.end();
  }
}

/** What a server does, as lines: its fields, then who is connected. */
function serverLines({ fields, clients, connections: c }: ServerView): string[] {
  const row = (w: WatchedField): string[] => {
    const { cycles, p50, p99, cyclesPerSecond } = w.performance();
    const motors = w.last ? Array.from(w.last.motors.subarray(0, 4), (m) => fixed(m, 2)).join(' ') : '';
    return [plainLine(w.name), w.field.device, String(cycles), ms(p50), ms(p99), cyclesPerSecond.toFixed(1), motors];
  };
  const errors = Object.values(c.errors).reduce((a, b) => a + b, 0);
  return [
    `${c.open} of ${c.most} connections, ${c.accepted} so far, ${c.refused} refused, ${errors} errors told; ${formatBytes(c.bytesIn)} in, ${formatBytes(c.bytesOut)} out`,
    '',
    ...(fields.length === 0
      ? ['no field yet: clients bring theirs']
      : columns([['field', 'device', 'cycles', 'p50', 'p99', 'per second', 'motors'], ...fields.map(row)])
          .trimEnd()
          .split('\n')),
    '',
    ...(clients.length === 0
      ? ['nobody is connected']
      : columns([
          ['client', 'address', 'field', 'sensors', 'motors', 'cycles'],
          ...clients.map((k) => [k.id, k.address, plainLine(k.field), k.sensors, k.motors, k.cycles].map(String)),
        ])
          .trimEnd()
          .split('\n')),
  ];
}

const commands: Readonly<Record<string, (flags: FieldFlags, output: Output, signal?: AbortSignal) => Promise<void>>> = {
  demo: async (flags, output, signal) => {
    // What is shown should move: a readout and a gain that show small differences.
    const settings = { readout: 'slab', gain: 100 } as const;
    await using field = await createField({ ...optionsOf(flags), settings });
    if (flags.live) return await watchDemo(field, flags, output, signal);
    const shown: { cycle: number; motors: number[]; mode: string; ms: number }[] = [];
    if (!flags.json)
      output.write(`field on ${field.device}: ${field.choice.reason}\nsensor values are made up: a demo\n\n`);
    for (let i = 0; i < 50; i++) {
      const { motors, state } = await field.step(demoInput(i));
      shown.push({ cycle: state.cycle, motors: [...motors], mode: state.mode, ms: state.cycleTimeMs });
      if (!flags.json && i % 10 === 9)
        output.write(
          `cycle ${String(state.cycle).padStart(3)}  motors ${[...motors].map((m) => fixed(m, 4).padStart(8)).join(' ')}  ${state.mode}\n`,
        );
    }
    const report = await runBenchmark(field, 50);
    if (flags.json)
      json(output, 'demo', { device: field.device, reason: field.choice.reason, cycles: shown, benchmark: report });
    else output.write(`\n${table(report, field.report().memory.state)}\n`);
  },
  bench: async (flags, output) => {
    const cycles = number(flags, 'cycles') ?? 100;
    await using field = await createField(optionsOf(flags));
    const report = await runBenchmark(field, cycles);
    if (flags.json) json(output, 'bench', { ...report, memory: field.report().memory });
    else output.write(`${table(report, field.report().memory.state)}\n`);
  },
  serve: async (flags, output, signal) => {
    const { resolution, channels, model, device, seed } = optionsOf(flags);
    const loaded = flags.load ? await Field.load(flags.load, { device }) : null;
    if (flags.save) loaded?.autosave({ folder: flags.save, onError: (e) => output.warn(`${e.message}\n`) });
    const server = await serveField({
      port: number(flags, 'port'),
      host: flags.host,
      token: flags.token,
      hz: number(flags, 'hz'),
      field: { resolution, channels, model, device, seed },
      shared: loaded ? { main: loaded } : undefined,
    });
    const telemetry = flags.telemetry ? await serveTelemetry(server, { port: number(flags, 'telemetry') }) : null;
    if (telemetry) output.write(`telemetry at http://127.0.0.1:${telemetry.port}/field/active\n`);
    output.write(`fields at ${server.host}:${server.port}${flags.token ? ', with a token' : ''}; end with Ctrl+C\n`);
    const view = flags.live ? new LiveView(output, async () => serverLines(server.view())) : null;
    const end = endOf(signal);
    if (!end.signal.aborted) await new Promise((resolve) => end.signal.addEventListener('abort', resolve));
    end.forget();
    await view?.end();
    await telemetry?.close();
    await server.close();
    await loaded?.dispose();
    output.write(`${server.cycles} cycles served\n`);
  },
};
