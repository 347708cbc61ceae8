// `gpuforge detect` and `gpuforge cache`: options in, text or JSON out, exit status back.

import { ArgumentError } from '../../errors.ts';
import { guarded } from '../config/failure.ts';
import { loadConfig, settingOf } from '../config/file.ts';
import type { Ports } from '../ports.ts';
import { columns, type Output, styleFor } from '../style.ts';
import { clearCache, describeCache } from './cache.ts';
import { type Detection, type DetectOptions, detect } from './detect.ts';
import { driverVersion, namesIn } from './override.ts';
import { renderDetection } from './render.ts';
import { rankGpus } from './score.ts';

export const DETECT_SCHEMA = 'gpuforge.detect/1';
const CACHE_LIST_SCHEMA = 'gpuforge.cache/1';

export interface DetectFlags {
  readonly json?: boolean;
  readonly verbose?: boolean;
  readonly cache?: boolean;
  readonly wake?: boolean;
  readonly tier?: 0 | 1 | 2;
  readonly gpu?: readonly string[];
  readonly driver?: string;
  readonly color?: boolean;
  readonly watch?: boolean;
  readonly intervalMs?: number;
  /** Stop watching after so many readings. */
  readonly count?: number;
  readonly cacheLifeMs?: number;
}

export function runDetect(ports: Ports, flags: DetectFlags, output: Output): Promise<number> {
  return guarded(DETECT_SCHEMA, flags.json ?? false, output, () => shown(ports, flags, output));
}

/** The names; `--gpu RTX 4090` without quotes is refused, as it may mean one card or two. */
function named(words: readonly string[]): readonly string[] {
  if (
    words.length > 1 &&
    words.some((word) =>
      /^(?:rtx|gtx|gt|rx|arc|geforce|nvidia|amd|radeon|intel|tesla|quadro|instinct|jetson|apple)$/i.test(word),
    )
  )
    throw new ArgumentError({
      code: 'UNKNOWN_GPU',
      message: `--gpu: "${words.join('" and "')}" are ${words.length} names`,
      fix: `A name with spaces stands in quotes: --gpu "${words.join(' ')}".`,
      where: 'forge.detect',
    });
  return words.flatMap(namesIn);
}

async function shown(ports: Ports, flags: DetectFlags, output: Output): Promise<number> {
  const override = {
    ...(flags.gpu ? { gpus: named(flags.gpu) } : {}),
    ...(flags.driver === undefined ? {} : { driver: driverVersion(flags.driver, '--driver') }),
  };
  const config = loadConfig(ports);
  const color = settingOf<string>(config, 'output.color') === 'never' ? false : flags.color;
  const options: DetectOptions = {
    cache: (flags.cache ?? true) && settingOf<boolean>(config, 'cache.enabled'),
    wake: flags.wake ?? false,
    override,
    ...(flags.tier === undefined ? {} : { tier: flags.tier }),
    cacheLifeMs: flags.cacheLifeMs ?? settingOf<number>(config, 'cache.lifeHours') * 3_600_000,
  };
  const detection = await detect(ports, options);
  if (flags.watch) {
    const { watch } = await import('./watch.ts');
    return watch(ports, detection.machine, flags, output);
  }
  if (flags.json) output.write(`${JSON.stringify(detectJson(detection), null, 2)}\n`);
  else
    output.write(
      renderDetection(
        detection,
        styleFor(output, { color, env: ports.env }),
        flags.verbose ?? settingOf<boolean>(config, 'output.verbose'),
      ),
    );
  return 0;
}

/** The stable form of a detection; keys are only ever added. */
export function detectJson(detection: Detection) {
  return {
    schema: DETECT_SCHEMA,
    cached: detection.cached,
    ms: Math.round(detection.ms * 1000) / 1000,
    spawned: detection.spawned,
    machine: detection.machine,
    scores: rankGpus(detection.machine.gpus),
  };
}

export interface CacheFlags {
  readonly json?: boolean;
}

export function runCacheShow(ports: Ports, flags: CacheFlags, output: Output): number {
  const entries = describeCache(ports, ports.cache);
  if (flags.json) {
    output.write(`${JSON.stringify({ schema: CACHE_LIST_SCHEMA, folder: ports.cache.folder, entries }, null, 2)}\n`);
    return 0;
  }
  output.write(`${ports.cache.folder}\n`);
  if (entries.length === 0) output.write('empty\n');
  const rows = entries.map((entry) => [
    entry.file,
    entry.state,
    entry.createdMs === null ? '' : age(ports.now() - entry.createdMs),
    entry.gpus.length === 0 ? 'no GPU' : entry.gpus.join(', '),
  ]);
  output.write(columns(rows, 2, 2));
  return 0;
}

export function runCacheClear(ports: Ports, flags: CacheFlags, output: Output): number {
  const removed = clearCache(ports.cache);
  output.write(
    flags.json
      ? `${JSON.stringify({ schema: CACHE_LIST_SCHEMA, folder: ports.cache.folder, removed }, null, 2)}\n`
      : `removed ${removed} ${removed === 1 ? 'entry' : 'entries'} from ${ports.cache.folder}\n`,
  );
  return 0;
}

function age(ms: number): string {
  const minutes = Math.max(0, Math.round(ms / 60_000));
  return minutes < 120 ? `${minutes} min old` : `${Math.round(minutes / 60)} h old`;
}
