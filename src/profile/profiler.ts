// The profiler: scopes of a program and the work of its devices, on one clock.
//
// While it is off it does nothing but look whether it is on. While it is on it records; figures are computed when somebody
// asks for them. What was not measured is null.

import { argumentsOf, checkMethods } from '../base/signatures.ts';
import { DisposedError, type Runtime } from '../index.ts';
import { finish } from './analyse/tree.ts';
import { type ExportKind, exporters } from './export/kinds.ts';
import { bottleneckReport, byTotal, textReport } from './export/text.ts';
import { buildProfile } from './file/build.ts';
import { finishSlowly, joined, save } from './file/save.ts';
import { EntryStream } from './file/stream.ts';
import type { Entry, KernelSummary, OperationSummary, ProfileFile } from './file/types.ts';
import type { Baseline } from './gate/baseline.ts';
import { type Comparison, compareProfiles } from './gate/compare.ts';
import { type GateReport, gate } from './gate/gate.ts';
import { checkOptions } from './options.ts';
import {
  checkCount,
  checkName,
  isRuntimes,
  mostNameLength,
  noInfo,
  notARuntime,
  notEnabled,
  optionRules,
  type ProfilerOptions,
  type ScopeInfo,
  scopeRules,
  type TrackedFigures,
} from './profiler-options.ts';
import { DeviceLog } from './record/log.ts';
import { Recorder } from './record/recorder.ts';
import { noSpan, type OpenSpan, type ProfileSpan } from './record/span.ts';
import { OpenSpans } from './record/spans.ts';
import { Tracked } from './record/tracked.ts';
import {
  type AnyFunction,
  checkFunction,
  decorator,
  type Measuring,
  measure,
  type ProfileDecorator,
  type WrapOptions,
  wrap,
} from './record/wrap.ts';
import { profileKinds, profilerOptions, profilerSignatures } from './signatures.ts';
import { attached } from './sources.ts';
import { type Suggestion, suggest } from './suggest/rules.ts';

/** Not part of the public surface: the scope of everything that is in no other. */
export const wholeProgram = Symbol('whole program');

export class Profiler {
  readonly detailed: boolean;
  readonly capacity: number;
  readonly #deviceId: string | null;
  readonly #spans: OpenSpans;
  readonly #log: DeviceLog;
  readonly #runtimes: Runtime[];
  #recorders: Recorder[] = [];
  #enabled = false;
  #disposed = false;
  #seen = false;
  #slowdown: number | null = null;
  #cutNames = 0;
  #stream: EntryStream | null = null;
  readonly #measuring: Measuring;

  constructor(options: ProfilerOptions = {}) {
    // biome-ignore lint/complexity/noArguments: one too many is refused as well.
    takes(...arguments);
    checkOptions('Profiler', 'option', options, optionRules);
    this.detailed = options.detailed ?? false;
    this.capacity = options.capacity ?? 100_000;
    this.#deviceId = options.deviceId ?? null;
    this.#spans = new OpenSpans(this.capacity);
    this.#log = new DeviceLog(this.capacity);
    this.#runtimes = [...(options.runtimes ?? [])];
    const profiler = this;
    this.#measuring = {
      get enabled() {
        return profiler.#enabled;
      },
      spans: this.#spans,
      begin: (operation, device, meta) => this.#begin(operation, device, meta),
    };
    if (options.enabled ?? true) this.enable();
  }

  get enabled(): boolean {
    return this.#enabled;
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  get runtimes(): readonly Runtime[] {
    return this.#runtimes;
  }

  /** Starts to record, and to listen to the attached runtimes. */
  enable(): void {
    this.#checkOpen('enable');
    if (this.#enabled) return;
    this.#enabled = true;
    for (const rt of this.#runtimes) this.#listen(rt);
  }

  /** Stops to record; what was recorded stays. No listener stays at any runtime. Resolves when no device measures any more. */
  async disable(): Promise<void> {
    if (!this.#enabled) return;
    this.#enabled = false;
    const ended = this.#recorders.map((recorder) => this.#end(recorder));
    this.#recorders = [];
    this.#spans.memory(null);
    await Promise.all(ended);
  }

  /** Listens to one more runtime. */
  attach(runtime: Runtime): void {
    this.#checkOpen('attach');
    if (!isRuntimes([runtime])) throw notARuntime(runtime);
    if (this.#runtimes.includes(runtime)) return;
    this.#runtimes.push(runtime);
    if (this.#enabled) this.#listen(runtime);
  }

  /** Stops to listen to a runtime; what it told stays. */
  async detach(runtime: Runtime): Promise<void> {
    const recorder = this.#recorders.find((r) => r.runtime === runtime);
    if (!recorder) return;
    const ended = this.#end(recorder);
    this.#recorders = this.#recorders.filter((r) => r !== recorder);
    this.#noteMemory();
    await ended;
  }

  /** Resolves when the clocks of the devices were compared: from then on their times are told. */
  async ready(): Promise<this> {
    await Promise.all(this.#recorders.map((r) => r.ready));
    return this;
  }

  /** Waits until the devices have told the times of all work so far. */
  async settle(): Promise<void> {
    await Promise.all(this.#recorders.map((r) => r.settle().catch(() => {})));
  }

  /**
   * Runs a function, sync or async, and records how long it took and what devices did for it. A function that throws is recorded
   * as failed.
   * @example new Profiler().profile('sum', () => 1 + 1) // → 2
   * @example await new Profiler().profile('load', { meta: { rows: 3 } }, async () => 'done') // → 'done'
   */
  profile<T>(operation: string, body: (span: OpenSpan) => T): T;
  profile<T>(operation: string, info: ScopeInfo, body: (span: OpenSpan) => T): T;
  profile<T>(operation: string, first: ScopeInfo | ((span: OpenSpan) => T), second?: (span: OpenSpan) => T): T {
    const body = typeof first === 'function' ? first : second;
    if (!this.#enabled) return body!(noSpan);
    const info = typeof first === 'function' ? noInfo : first;
    checkFunction(body, 'profile');
    if (info !== noInfo) checkOptions('profile', 'option', info, scopeRules);
    const span = this.#begin(operation, info.device ?? null, info.meta ?? null);
    return measure(this.#spans, span, () => body!(span));
  }

  /**
   * Runs a function as a scope, waits for the devices, and gives its figures: for monitors. What fails is thrown on; `told` gets
   * the figures in either case.
   */
  async track<T>(operation: string, body: () => T | Promise<T>, told: (figures: TrackedFigures) => void): Promise<T> {
    if (!this.#enabled) throw notEnabled();
    const span = this.#begin(operation, null, null);
    span.tracked = new Tracked(span.tracked);
    const { tracked } = span;
    try {
      return await measure(this.#spans, span, async () => {
        const result = await body();
        await this.settle();
        return result;
      });
    } finally {
      told({ ...tracked.figures(this.#log), hostMs: span.durationMs! });
    }
  }

  /**
   * A scope that ends when it is disposed of: `using span = profiler.span('step')`. What follows is inside it. For functions that
   * run at the same time use `profile`, which keeps them apart.
   */
  span(operation: string, info: ScopeInfo = noInfo): OpenSpan {
    if (!this.#enabled) return noSpan;
    if (info !== noInfo) checkOptions('span', 'option', info, scopeRules);
    const span = this.#begin(operation, info.device ?? null, info.meta ?? null);
    this.#spans.enter(span);
    return span;
  }

  /**
   * A function that is measured at each call: same type, `this`, name and length. Generators are measured step by step, classes
   * when they are constructed.
   * @example new Profiler().wrap((x: number) => x * 2, { operation: 'double' })(5) // → 10
   */
  wrap<F extends AnyFunction>(fn: F, options: WrapOptions = {}): F {
    checkFunction(fn, 'wrap');
    checkOptions('wrap', 'option', options, { ...scopeRules, operation: [(v) => typeof v === 'string', 'a name'] });
    const name = options.operation ?? fn.name;
    checkName(name);
    return wrap(this.#measuring, fn, () => name, options);
  }

  /**
   * A decorator of methods and getters, static ones too; without a name they are called `Class.method`. Called with a function it
   * wraps that.
   */
  profileFunction(operation?: string, device?: string): ProfileDecorator {
    return decorator(this.#measuring, operation, device);
  }

  /** Everything that was recorded, with the figures that follow from it. `collect` first waits for the devices' times. */
  toProfile(): ProfileFile {
    return finish(buildProfile(this.#recorded()));
  }

  /** The profile with the times of all work so far, without holding up the event loop. */
  async collect(): Promise<ProfileFile> {
    await this.settle();
    return finishSlowly(buildProfile(this.#recorded()));
  }

  getEntries(): readonly Entry[] {
    return this.toProfile().entries;
  }

  getSummary(): Readonly<Record<string, OperationSummary>> {
    return this.toProfile().summary;
  }

  getKernels(): Readonly<Record<string, KernelSummary>> {
    return this.toProfile().kernelSummary;
  }

  /** The operations that take the most time in all, most first. */
  getBottlenecks(count = 5): readonly (OperationSummary & { readonly operation: string })[] {
    checkCount(count, 'getBottlenecks');
    return byTotal(this.getSummary())
      .slice(0, count)
      .map(([operation, s]) => ({ operation, ...s }));
  }

  /** Prints the report of `gpuforge profile show`. */
  printSummary(count = 10): void {
    checkCount(count, 'printSummary');
    console.log(textReport(this.toProfile(), count).trimEnd());
  }

  printBottlenecks(count = 5): void {
    checkCount(count, 'printBottlenecks');
    console.log(bottleneckReport(this.toProfile(), count).trimEnd());
  }

  /** How well the clock of a device is known, in µs; null if it was not measured. */
  clockError(device: string): number | null {
    return this.#log.devices.get(device)?.errorUs ?? null;
  }

  /** Scopes whose parent could not be known: in browsers, scopes that begin after an `await` without `span.run`. */
  get orphans(): number {
    return this.#spans.orphans;
  }

  /** The profile as JSON (`gpuforge.profile/1`): into a file, or as text. */
  exportJSON(file?: string): Promise<string> {
    return this.#export('json', file);
  }

  /** As Trace Event JSON, for Perfetto and others. */
  exportTrace(file?: string): Promise<string> {
    return this.#export('trace', file);
  }

  /** As folded stacks: `a;b;c 1234`, µs. */
  exportFlame(file?: string): Promise<string> {
    return this.#export('folded', file);
  }

  exportSpeedscope(file?: string): Promise<string> {
    return this.#export('speedscope', file);
  }

  /** As one page that needs no network. */
  exportHTML(file?: string): Promise<string> {
    return this.#export('html', file);
  }

  /** What changed since another profile. */
  compare(before: ProfileFile): Comparison {
    return compareProfiles(before, this.toProfile());
  }

  /** What to change, and the figures that say so. */
  suggest(): Suggestion[] {
    return suggest(this.toProfile());
  }

  /** Whether operations became slower than their baseline on this machine. */
  detectRegressions(baseline: Baseline): GateReport {
    return gate(this.toProfile(), baseline);
  }

  /** Writes each scope to a file when it ends, a line of JSON each (Node). Resolves when the file is open. */
  async stream(file: string): Promise<EntryStream> {
    this.#checkOpen('stream');
    await this.#stream?.close();
    const stream = await EntryStream.open(file, () => {
      this.#spans.onEnd = null;
      this.#stream = null;
    });
    this.#stream = stream;
    this.#spans.onEnd = (span) => stream.add(span);
    return stream;
  }

  /** Forgets what was recorded. Scopes that are open go on. */
  reset(): void {
    this.#spans.clear();
    this.#log.clear();
    this.#cutNames = 0;
    this.#slowdown = null;
  }

  dispose(): void {
    void this.disable();
    void this.#stream?.close();
    this.#disposed = true;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** @internal Ends the scope of the whole program, if there is one. */
  endProgram(failed: boolean): void {
    const { base } = this.#spans;
    if (base) this.#spans.end(base, failed);
  }

  [wholeProgram](name: string): void {
    this.#spans.base = this.#begin(name, null, null);
  }

  #begin(operation: string, device: string | null, meta: Readonly<Record<string, unknown>> | null): ProfileSpan {
    checkName(operation);
    let name = operation;
    if (name.length > mostNameLength) {
      name = name.slice(0, mostNameLength);
      this.#cutNames++;
    }
    return this.#spans.begin(name, device ?? this.#deviceId, meta);
  }

  #listen(runtime: Runtime): void {
    this.#recorders.push(new Recorder(runtime, this.#log, this.#spans, this.detailed, () => this.#noteMemory()));
    this.#seen = true;
    attached.set(runtime, this);
    this.#noteMemory();
  }

  #end(recorder: Recorder): Promise<void> {
    this.#slowdown ??= recorder.slowdown;
    if (attached.get(recorder.runtime) === this) attached.delete(recorder.runtime);
    return recorder.stop();
  }

  #noteMemory(): void {
    let live = 0;
    for (const r of this.#recorders) live += r.live;
    this.#spans.memory(this.#recorders.length === 0 ? null : live);
  }

  #recorded() {
    const slowdown = this.#slowdown ?? this.#recorders.find((r) => r.slowdown !== null)?.slowdown ?? null;
    return {
      spans: this.#spans,
      log: this.#log,
      runtimes: this.#runtimes,
      attached: this.#seen,
      detailed: this.detailed,
      capacity: this.capacity,
      slowdown,
      cutNames: this.#cutNames,
    };
  }

  async #export(kind: ExportKind, file: string | undefined): Promise<string> {
    const pieces = await exporters[kind](await this.collect());
    if (file === undefined) return joined(pieces);
    await save(file, pieces, 'export');
    return file;
  }

  #checkOpen(where: string): void {
    if (!this.#disposed) return;
    throw new DisposedError({ message: `${where}: the profiler was disposed`, fix: 'Make a new one.', where });
  }
}

checkMethods(Profiler.prototype, profilerSignatures, profileKinds);

const takes = argumentsOf('Profiler', profilerOptions, profileKinds);
