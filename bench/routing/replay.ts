// The trace run for real, where the runtime decides.

import type { Decision, RouteRequest, Router } from '../../src/governor/routing/index.ts';
import type { DeviceId, Runtime } from '../../src/index.ts';
import type { Call } from './calls.ts';
import { once, type Timed } from './measure.ts';

export interface Replay {
  readonly choices: DeviceId[];
  /** What was decided for each; null where it was remembered. */
  readonly decisions: (Decision | null)[];
  /** µs of all calls as they ran, what they compiled and learned included. */
  readonly tookUs: number;
  readonly explored: number;
}

/** Runs a call and says where; `decision` is null if its placement was remembered. */
async function watch(rt: Runtime, call: Call): Promise<{ device: DeviceId; us: number; decision: Decision | null }> {
  let device = '';
  let decision: Decision | null = null;
  const stop = [
    rt.on('launch', (e) => {
      device = e.device;
    }),
    rt.on('route', (e) => {
      decision = e;
    }),
  ];
  const us = await once(rt, call, null);
  for (const s of stop) s();
  return { device, us, decision };
}

export async function replay(
  rt: Runtime,
  trace: readonly Timed[],
  requests: Requests,
  progress: (done: number) => void,
): Promise<Replay> {
  const choices: DeviceId[] = [];
  const decisions: (Decision | null)[] = [];
  let tookUs = 0;
  let explored = 0;
  for (const [i, t] of trace.entries()) {
    requests.during(t.call);
    const { device, us, decision } = await watch(rt, t.call);
    choices.push(device);
    decisions.push(decision);
    tookUs += us;
    if (decision?.explored) explored++;
    if (i % 50 === 0) progress(i);
  }
  return { choices, decisions, tookUs, explored };
}

/** What a runtime's router was asked and has said, by call: the last of each. */
export class Requests {
  readonly #byCall = new Map<Call, { readonly request: RouteRequest; readonly decision: Decision }>();
  readonly #router: Router;
  #current: Call | null = null;

  constructor(rt: Runtime) {
    this.#router = rt.routing;
    const decide = rt.routing.decide.bind(rt.routing);
    rt.routing.decide = (request) => {
      const decision = decide(request);
      if (this.#current) this.#byCall.set(this.#current, { request, decision });
      return decision;
    };
  }

  during(call: Call): void {
    this.#current = call;
  }

  /** What the router says of it now. */
  decision(call: Call): Decision | null {
    const known = this.#byCall.get(call);
    return known ? this.#router.explain(known.request) : null;
  }
}
