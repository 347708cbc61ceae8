// Routing: where work runs, and why there. The entry `gpuforge/routing`, for tools that calibrate, explain or simulate it.

export type { CalibrateOptions, CalibrationProgress } from './calibrate.ts';
export { at, type Curve } from './curve.ts';
export { routingFolder } from './disk-store.ts';
export type { Learned } from './model.ts';
export type { Analysis, CallOptions, Sized } from './named.ts';
export { type OpenRouter, openRouter } from './open.ts';
export {
  type ExploreOptions,
  type RoutingMode,
  type RoutingOptions,
  resolveRouting,
  routingVariables,
} from './options.ts';
export { amountOf, type Profile } from './profile.ts';
export { time } from './reason.ts';
export { type RouteExplanation, Router, type RouterSetup } from './router.ts';
export type { RouteStats } from './stats.ts';
export { openProfileStore, type ProfileStore } from './store.ts';
export * from './types.ts';
export { operationOf, typicalWork, workOf } from './work.ts';
