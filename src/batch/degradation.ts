// A device that has become slower at some operation and stays so (heat, contention). The work moves to another open device if
// that one turns out to be faster, else its chunks become smaller, so that other callers get their turn. It is told once. The
// first device is tried again at growing intervals, two chunks at a time; when it is well again the measure ends.
//
// Times are compared with the device's own, per operation and size of items, and only with chunks of like size: larger work
// is not taken for a slower device. Changes of one operation are at least ten seconds apart.

import { Bounded } from '../profile/bounded.ts';
import type { Clock } from '../profile/clock.ts';
import { median, sizeClass } from '../profile/statistics.ts';
import { CostModel } from './cost-model.ts';

/** How the next chunk of an operation is to be run. */
export interface Way {
  readonly home: string;
  readonly device: string;
  /** The size of the chunk against normal. */
  readonly scale: number;
  readonly purpose: 'work' | 'audition' | 'trial';
  /** The operation it is for. */
  readonly course: Course;
}

export interface DegradationState {
  /** The device that became slower. */
  readonly device: string;
  readonly operation: string;
  readonly action: 'moved' | 'smaller chunks' | 'ended';
  /** Where the operation runs from now on. */
  readonly to: string;
  /** How many times longer the work takes than it used to. */
  readonly slowdown: number;
}

/** Slow-downs from which something is done, and below which it is over. */
const slow = 1.5;
const well = 1.2;
const sustainedMs = 3000;
/** Between two changes, and before the first trial; later trials are twice as far apart each, up to the longest. */
const apartMs = 10_000;
const longestMs = 5 * 60_000;
/** After this long the new speed is the normal one. */
const acceptMs = 10 * 60_000;
const smaller = 1 / 4;
/** What a move must gain. */
const worthwhile = 1.1;
const recentCount = 8;
/** Measurements before a slow-down can be told. */
const learnCount = 16;
/** An audition and a trial take two chunks each: the first one may compile, or wake the device. */
const chunksEach = 2;

type Stage =
  | { readonly kind: 'normal' }
  | { readonly kind: 'audition'; readonly device: string; chunks: number }
  | {
      readonly kind: 'away';
      readonly device: string;
      readonly since: number;
      waitMs: number;
      trialAt: number;
      chunks: number;
    };

const normal: Stage = { kind: 'normal' };

/** One operation on items of one size on one device. */
class Course {
  readonly operation: string;
  /** How its chunks run in normal times. */
  readonly usual: Way;
  /** What is normal, by size of chunks. */
  readonly #models = new Map<number, CostModel>();
  /** The newest times against what was expected, and per byte. */
  ratios: number[] = [];
  rates: number[] = [];
  slowSince: number | null = null;
  changedAt = Number.NEGATIVE_INFINITY;
  stage: Stage = normal;
  /** The newest time per byte where the work runs instead. */
  awayRate = Number.POSITIVE_INFINITY;

  constructor(home: string, operation: string) {
    this.operation = operation;
    this.usual = { home, device: home, scale: 1, purpose: 'work', course: this };
  }

  learn(bytes: number, ms: number): void {
    const size = sizeClass(bytes);
    let model = this.#models.get(size);
    if (!model) this.#models.set(size, (model = new CostModel()));
    model.add(bytes, ms);
  }

  /** Against what was normal; null where that is not known. */
  ratio(bytes: number, ms: number): { readonly value: number; readonly limit: number } | null {
    const model = this.#models.get(sizeClass(bytes));
    const expected = model && model.count >= learnCount ? model.predict(bytes) : null;
    if (!expected || expected.ms <= 0) return null;
    // The spread of normal times is no slow-down.
    return { value: ms / expected.ms, limit: Math.max(slow, 1 + 2 * expected.error) };
  }

  forget(): void {
    this.#models.clear();
    this.ratios = [];
    this.rates = [];
    this.slowSince = null;
  }
}

export class DegradationHandler {
  readonly #clock: Clock;
  readonly #told: (state: DegradationState) => void;
  readonly #courses = new Bounded<Course>(256);

  constructor(clock: Clock, told: (state: DegradationState) => void) {
    this.#clock = clock;
    this.#told = told;
  }

  /** How to run the next chunk of an operation on items of so many bytes, whose place is `home`. */
  way(home: string, operation: string, itemBytes: number): Way {
    const key = `${home} ${operation} ${sizeClass(itemBytes)}`;
    const course = this.#courses.of(key, () => new Course(home, operation));
    const { stage, usual } = course;
    switch (stage.kind) {
      case 'normal':
        return usual;
      case 'audition':
        return { ...usual, device: stage.device, scale: smaller, purpose: 'audition' };
      case 'away':
        if (this.#clock.now() >= stage.trialAt) return { ...usual, purpose: 'trial' };
        return { ...usual, device: stage.device, scale: stage.device === home ? smaller : 1 };
      default:
        return stage satisfies never;
    }
  }

  /** A chunk took this long; `other` tells another device that is open. */
  note(way: Way, bytes: number, ms: number, other: () => string | undefined): void {
    const { course } = way;
    const { stage } = course;
    const rate = ms / Math.max(1, bytes);
    // Chunks of calls that were under way when something changed tell nothing.
    if (stage.kind === 'normal') {
      if (way.purpose === 'work' && way.device === way.home) this.#watch(way, bytes, ms, other);
    } else if (stage.kind === 'audition') {
      if (way.purpose === 'audition' && ++stage.chunks === chunksEach) {
        const better = rate * worthwhile < median(course.rates);
        course.awayRate = rate;
        this.#leave(course, better ? stage.device : way.home);
      }
    } else if (way.purpose === 'trial') {
      if (++stage.chunks >= chunksEach) this.#tried(course, stage, bytes, ms);
    } else if (way.device === stage.device) course.awayRate = rate;
  }

  /** A chunk failed away from home: it goes on at home, and a while passes before another try. */
  failed({ home, course }: Way): void {
    if (course.stage.kind === 'normal' || course.stage.device === home) return;
    if (course.stage.kind === 'away') this.#end(course, 1);
    course.stage = normal;
    course.slowSince = null;
    course.changedAt = this.#clock.now() + longestMs - apartMs;
  }

  /** At home, in normal times: learns what is normal, and notices when it is not. */
  #watch({ home, course }: Way, bytes: number, ms: number, other: () => string | undefined): void {
    const ratio = course.ratio(bytes, ms);
    if (!ratio) {
      course.learn(bytes, ms);
      return;
    }
    course.ratios.push(ratio.value);
    course.rates.push(ms / Math.max(1, bytes));
    if (course.ratios.length > recentCount) {
      course.ratios.shift();
      course.rates.shift();
    }
    const usual = mostWithin(course.ratios, well) ? well : median(course.ratios);
    if (course.ratios.length < recentCount || usual < ratio.limit) {
      course.slowSince = null;
      // What is normal is learned from normal times only.
      if (usual <= well) course.learn(bytes, ms);
      return;
    }
    const now = this.#clock.now();
    course.slowSince ??= now;
    if (now - course.slowSince < sustainedMs || now - course.changedAt < apartMs) return;
    const device = other();
    if (device === undefined) this.#leave(course, home);
    else course.stage = { kind: 'audition', device, chunks: 0 };
  }

  #leave(course: Course, device: string): void {
    const { operation, usual } = course;
    const now = this.#clock.now();
    course.stage = { kind: 'away', device, since: now, waitMs: apartMs, trialAt: now + apartMs, chunks: 0 };
    course.changedAt = now;
    const action = device === usual.home ? 'smaller chunks' : 'moved';
    this.#told({ device: usual.home, operation, action, to: device, slowdown: median(course.ratios) });
  }

  #tried(course: Course, stage: Stage & { readonly kind: 'away' }, bytes: number, ms: number): void {
    const { home } = course.usual;
    const now = this.#clock.now();
    const ratio = course.ratio(bytes, ms)?.value ?? 1;
    if (ratio <= well) {
      this.#end(course, ratio);
      return;
    }
    const passed = stage.device === home ? now - stage.since >= acceptMs : ms / Math.max(1, bytes) < course.awayRate;
    if (passed) {
      // As slow as it is, nothing better is left: this is what is normal from now on.
      course.forget();
      this.#end(course, ratio);
      return;
    }
    stage.chunks = 0;
    stage.waitMs = Math.min(longestMs, 2 * stage.waitMs);
    stage.trialAt = now + stage.waitMs;
  }

  #end(course: Course, slowdown: number): void {
    const { operation, usual } = course;
    const { home } = usual;
    course.stage = normal;
    course.ratios = [];
    course.rates = [];
    course.slowSince = null;
    course.changedAt = this.#clock.now();
    this.#told({ device: home, operation, action: 'ended', to: home, slowdown });
  }
}

/** Whether more than half of the values are at most this: then so is their median, which costs more to find. */
function mostWithin(values: readonly number[], limit: number): boolean {
  let within = 0;
  for (const v of values) if (v <= limit) within++;
  return 2 * within > values.length;
}
