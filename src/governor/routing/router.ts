// The router: decides where work runs.
//
// In mode `measured` every candidate's cost is predicted (launches, kernels, the transfers that its inputs' place forces) and
// the least wins; within 10 % the data stays where it is (costs.ts). Measured times correct the predictions. In mode `rules`, and for
// devices that were not measured, the rule table decides. A pinned device wins over all of this (rule-router.ts).

import { argumentsOf, checkMethods } from '../../base/signatures.ts';
import type { DeviceId } from '../../devices/device.ts';
import { ArgumentError } from '../../errors.ts';
import { Costs } from './costs.ts';
import { makingKinds, routerArguments, sharedArguments } from './more-signatures.ts';
import { type RoutingOptions, resolveRouting } from './options.ts';
import type { Profile } from './profile.ts';
import { type RouterSetup, RuleRouter } from './rule-router.ts';

export type { RouteExplanation, RouterSetup } from './rule-router.ts';

export class Router extends RuleRouter {
  constructor(options: RoutingOptions, profiles: ReadonlyMap<DeviceId, Profile>, setup: RouterSetup = {}) {
    // biome-ignore lint/complexity/noArguments: one too many is refused as well.
    takes(...arguments);
    super(options, { ...setup, devices: setup.devices ?? [...profiles.keys()] });
    this.measured(profiles, Costs);
  }

  static #shared: Router | null = null;

  /** One router for the whole process. Asking again with other options is an error: they would be ignored. */
  static shared(
    options: RoutingOptions = {},
    profiles: ReadonlyMap<DeviceId, Profile> = new Map(),
    setup: RouterSetup = {},
  ): Router {
    const router = (Router.#shared ??= new Router(options, profiles, setup));
    const [had, asked] = [JSON.stringify(router.routing), JSON.stringify(resolveRouting(options))];
    if (had !== asked) {
      throw new ArgumentError({
        code: 'SHARED_OPTIONS',
        message: `Router.shared: it exists with other options (${had}, asked for ${asked})`,
        fix: 'Use the same options everywhere, or create a Router of your own.',
        where: 'Router.shared',
      });
    }
    return router;
  }
}

const takes = argumentsOf('Router', routerArguments, makingKinds);
checkMethods(Router, { shared: sharedArguments }, makingKinds);
