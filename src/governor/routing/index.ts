// Routing: where work runs, and why there. The entry `gpuforge/routing`, for tools that calibrate, explain or simulate it.

export * from '../../base/operations.ts';
export type { CalibrateOptions, CalibrationProgress } from './calibrate.ts';
export type { Curve } from './curve.ts';
export * from './functions.ts';
export type { Learned } from './model.ts';
export type { Analysis, CallOptions, Sized } from './named.ts';
export type { OpenRouter } from './open.ts';
export { type ExploreOptions, type RoutingMode, type RoutingOptions, routingVariables } from './options.ts';
export { amountOf, type Profile } from './profile.ts';
export { type RouteExplanation, Router, type RouterSetup } from './router.ts';
export type { RouteStats } from './stats.ts';
export type { ProfileStore } from './store.ts';
export * from './types.ts';
