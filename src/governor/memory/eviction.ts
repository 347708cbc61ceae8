// Which tensors leave first when there is no room: those used longest ago, or those used last.
//
// The best to leave is what stays away longest. Least recently used is that for most programs, which work on something for a
// while before they go on; for one that goes through more data than fits, again and again, it is the worst: what it takes
// is always what is needed next. So both are tried, and how long what they took stayed away decides: the one with the longer
// mean absence chooses, the other gets one choice in many, so that a change of the program's ways is noticed.

import type { Storage } from '../../graph/storage.ts';

export type Choice = 'oldest' | 'newest';

/** One choice in this many is made by the other one. */
const tries = 16;
/** Weight of the latest absence in the mean. */
const weight = 1 / 8;
/** What is away for less than this many runs has not been away for long. */
const shortest = 16;
/** Absences kept in mind per choice. */
const most = 1024;

/** A tensor that left. */
interface Absence {
  readonly choice: Choice;
  /** The run in which it left. */
  readonly since: number;
  /** It came back, or was away for so long that it was counted. */
  over: boolean;
}

export class Eviction {
  /** Mean absences, in runs; 0 as long as nothing is known. */
  readonly #mean: Record<Choice, number> = { oldest: 0, newest: 0 };
  /** Those that are away, in the order in which they left. */
  readonly #away: Record<Choice, Absence[]> = { oldest: [], newest: [] };
  readonly #absences = new WeakMap<Storage, Absence>();
  #regrets = false;
  #choices = 0;

  /** Whose turn it is in run `now`. */
  next(now: number): Choice {
    // Nothing came back so far: nothing to regret.
    if (!this.#regrets) return 'oldest';
    const long = 2 * Math.max(this.#mean.oldest, this.#mean.newest) + shortest;
    for (const choice of ['oldest', 'newest'] as const) this.#waited(choice, now, now - long);
    const best: Choice = this.#mean.newest > this.#mean.oldest ? 'newest' : 'oldest';
    if (++this.#choices % tries !== 0) return best;
    return best === 'oldest' ? 'newest' : 'oldest';
  }

  /** A tensor left by a choice. */
  left(storage: Storage, choice: Choice, now: number): void {
    const absence: Absence = { choice, since: now, over: false };
    this.#absences.set(storage, absence);
    const away = this.#away[choice];
    away.push(absence);
    if (away.length > most) away.shift();
  }

  /** It is needed again. */
  returned(storage: Storage, now: number): void {
    const absence = this.#absences.get(storage);
    if (!absence || absence.over) return;
    this.#regrets = true;
    this.#count(absence, now);
  }

  /** Those that left so long ago count too, though nobody knows when, or if, they will come back. */
  #waited(choice: Choice, now: number, before: number): void {
    const away = this.#away[choice];
    let done = 0;
    for (; done < away.length; done++) {
      const absence = away[done]!;
      if (absence.over) continue;
      if (absence.since > before) break;
      this.#count(absence, now);
    }
    if (done > 0) away.splice(0, done);
  }

  #count(absence: Absence, now: number): void {
    absence.over = true;
    const mean = this.#mean[absence.choice];
    const runs = now - absence.since;
    this.#mean[absence.choice] = mean === 0 ? runs : mean + weight * (runs - mean);
  }
}
