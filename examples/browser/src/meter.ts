// Measured times over about the last second.

import type { Frame } from './simulation.ts';

const windowMs = 1000;

export interface Figures {
  readonly stepMs: number;
  /** From the start of a frame's steps until it is drawn. */
  readonly frameMs: number;
  readonly fps: number;
}

export class Meter {
  #frames: { readonly at: number; readonly steps: number; readonly stepsMs: number; readonly frameMs: number }[] = [];

  /** A frame that was drawn at `at`, `frameMs` after it was begun. */
  add(frame: Frame, at: number, frameMs: number): void {
    this.#frames.push({ at, steps: frame.steps, stepsMs: frame.ms, frameMs });
    this.#frames = this.#frames.filter((f) => f.at > at - windowMs);
  }

  clear(): void {
    this.#frames = [];
  }

  /** Null until there are two frames to measure between. */
  figures(): Figures | null {
    const [first, last, n] = [this.#frames[0], this.#frames.at(-1), this.#frames.length];
    if (!first || !last || n < 2) return null;
    const total = (of: 'steps' | 'stepsMs' | 'frameMs'): number => this.#frames.reduce((sum, f) => sum + f[of], 0);
    return {
      stepMs: total('stepsMs') / total('steps'),
      frameMs: total('frameMs') / n,
      fps: ((n - 1) * 1000) / (last.at - first.at),
    };
  }
}
