// Decisions: what was chosen at once, the words for it only when somebody asks.

import type { DeviceId } from '../../devices/device.ts';
import { compare } from './reason.ts';
import type { Decision, Outcome, Prediction, RouteRequest } from './types.ts';

/** Until a call is known by so many samples each one is measured, then one in so many. */
const firstCalls = 16;
const everyCall = 32;

const none: readonly Prediction[] = [];

/** A decision that compared no costs. */
export class Fixed implements Decision {
  readonly device: DeviceId;
  readonly outcome: Outcome;
  readonly predictions: readonly Prediction[] = none;
  readonly explored = false;
  readonly #why: () => string;

  constructor(device: DeviceId, outcome: Outcome, why: () => string) {
    this.device = device;
    this.outcome = outcome;
    this.#why = why;
  }

  get reason(): string {
    return this.#why();
  }
}

/** A decision by predicted costs; its words are made when somebody asks. */
export class Costed implements Decision {
  readonly device: DeviceId;
  readonly outcome: Outcome;
  readonly predictions: readonly Prediction[];
  readonly explored: boolean;
  /** What was asked, for learning how it went. */
  readonly request: RouteRequest;
  readonly #why: string;
  /** Calls made by it. */
  #calls = 0;

  constructor(
    request: RouteRequest,
    device: DeviceId,
    outcome: Outcome,
    predictions: readonly Prediction[],
    explored: boolean,
    why: string,
  ) {
    this.request = request;
    this.device = device;
    this.outcome = outcome;
    this.predictions = predictions;
    this.explored = explored;
    this.#why = why;
  }

  /** Counts a call made by this decision; whether to measure it: the first ones, then one in many. */
  due(): boolean {
    const known = this.predictions.find((p) => p.device === this.device)?.samples ?? 0;
    const calls = this.#calls++;
    return known + calls < firstCalls || calls % everyCall === 0;
  }

  get reason(): string {
    return `${this.#why}: ${compare(this.device, this.predictions)}`;
  }
}
