// What `gpuforge field` runs and prints.

import {
  type BenchmarkReport,
  createField,
  Field,
  type FieldOptions,
  type Model,
  runBenchmark,
} from '../field/index.ts';
import { serveField, serveTelemetry } from '../field/wire/index.ts';
import { columns, describeError, type Output } from '../forge/style.ts';
import { ForgeError, formatBytes } from '../index.ts';

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
}

const number = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : text.trim() === '' ? Number.NaN : Number(text);

const optionsOf = ({ model, resolution, channels, device, seed }: FieldFlags): FieldOptions => ({
  model: model as Model | undefined,
  resolution: number(resolution),
  channels: number(channels),
  device,
  seed: number(seed),
});

/** Exit status: 0, 1 if a cycle failed, 2 for input that makes no sense. */
export async function runField(what: string, flags: FieldFlags, output: Output, signal?: AbortSignal): Promise<number> {
  try {
    await commands[what]!(flags, output, signal);
    return 0;
  } catch (error) {
    if (!(error instanceof ForgeError)) throw error;
    output.warn(`${describeError(error)}\n`);
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

const commands: Readonly<Record<string, (flags: FieldFlags, output: Output, signal?: AbortSignal) => Promise<void>>> = {
  demo: async (flags, output) => {
    await using field = await createField(optionsOf(flags));
    const base = [0.1, 0.2, -0.1, 0.3, 0, 0.1, 0.2, -0.1, 0.3, 0, 0.1, 0.2, -0.1, 0.3, 0, 0.1, 0];
    const shown: { cycle: number; motors: number[]; mode: string; ms: number }[] = [];
    if (!flags.json) output.write(`field on ${field.device}: ${field.choice.reason}\n`);
    for (let i = 0; i < 50; i++) {
      const { motors, state } = await field.step(base.map((v) => v + 0.1 * Math.sin(0.1 * i)));
      shown.push({ cycle: state.cycle, motors: [...motors], mode: state.mode, ms: state.cycleTimeMs });
      if (!flags.json && i % 10 === 9)
        output.write(
          `cycle ${String(state.cycle).padStart(3)}  motors ${[...motors].map((m) => m.toFixed(4).padStart(8)).join(' ')}  ${state.mode}\n`,
        );
    }
    const report = await runBenchmark(field, 50);
    if (flags.json)
      json(output, 'demo', { device: field.device, reason: field.choice.reason, cycles: shown, benchmark: report });
    else output.write(`\n${table(report, field.report().memory.state)}\n`);
  },
  bench: async (flags, output) => {
    await using field = await createField(optionsOf(flags));
    const report = await runBenchmark(field, number(flags.cycles) ?? 100);
    if (flags.json) json(output, 'bench', { ...report, memory: field.report().memory });
    else output.write(`${table(report, field.report().memory.state)}\n`);
  },
  serve: async (flags, output, signal) => {
    const { resolution, channels, model, device, seed } = optionsOf(flags);
    const loaded = flags.load ? await Field.load(flags.load, { device }) : null;
    if (flags.save) loaded?.autosave({ folder: flags.save, onError: (e) => output.warn(`${e.message}\n`) });
    const server = await serveField({
      port: number(flags.port),
      host: flags.host,
      token: flags.token,
      hz: number(flags.hz),
      field: { resolution, channels, model, device, seed },
      shared: loaded ? { main: loaded } : undefined,
    });
    const telemetry = flags.telemetry ? await serveTelemetry(server, { port: number(flags.telemetry) }) : null;
    if (telemetry) output.write(`telemetry at http://127.0.0.1:${telemetry.port}/field/active\n`);
    output.write(`fields at ${server.host}:${server.port}${flags.token ? ', with a token' : ''}; end with Ctrl+C\n`);
    await new Promise<void>((resolve) => {
      signal?.addEventListener('abort', () => resolve());
      process.once('SIGINT', () => resolve());
      process.once('SIGTERM', () => resolve());
    });
    await telemetry?.close();
    await server.close();
    await loaded?.dispose();
    output.write(`${server.cycles} cycles served\n`);
  },
};
