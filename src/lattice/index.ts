// The public surface of gpuforge/lattice.

export type { Adjacency } from './adjacency.ts';
export { type AllPathsOptions, PathIterator } from './all-paths.ts';
export type { Analysis, MemoryEstimate } from './analysis.ts';
export type { HostData, LatticeData, TypedArray } from './arrays.ts';
export { type BatchOption, createBatch, type LatticeBatch } from './batch.ts';
export type { Csr } from './build.ts';
export { type SecondOrder, type SecondOrderOptions, secondOrder } from './catalytic/automata.ts';
export { compileFormula, type FormulaOptions } from './catalytic/formula.ts';
export { edgeWeight, gfInverse, gfMul } from './catalytic/gf64.ts';
export type { ObstacleOptions, WalkOptions } from './catalytic/lattice.ts';
export {
  type Inputs,
  type ProgramOptions,
  RegisterProgram,
  type RegisterStep,
  type Ring,
  registerProgram,
  type Term,
} from './catalytic/registers.ts';
export { type CentralityKind, centralityKinds } from './centrality.ts';
export { type CommunityMethod, type CommunityOptions, communityMethods, type Partition } from './communities.ts';
export { type DiffuseOptions, diffuseField, type SpreadOptions } from './diffuse.ts';
export {
  CoordinateError,
  InvalidArgumentError,
  KeyLengthError,
  LatticeConfigError,
  LatticeTooLargeError,
  NotReversibleError,
  PathNotFoundError,
  ValueRangeError,
  VertexBlockedError,
  VertexRangeError,
} from './errors.ts';
export { Graph, type GraphPath } from './graph.ts';
export type { Edge } from './graph-rows.ts';
export type { Reach } from './grid.ts';
export { Lattice, type LatticeStats } from './lattice.ts';
export type { Blocked } from './mask.ts';
export { DeviceGraph, type DeviceGraphOptions, type WorkOptions } from './on-device/graph.ts';
export type { LatticeOptions } from './options.ts';
export type { PageRankOptions } from './page-rank.ts';
export type { PathCacheStats } from './path-cache.ts';
export type { PathResult, ReachOptions, SearchOptions } from './paths.ts';
export type { Fallback } from './session.ts';
export type { AnalyzeOptions, BuildOptions, CentralityOptions, Metrics } from './structure.ts';
export { type TransformName, transformNames } from './transforms.ts';
export { UnifiedCatalyticLattice, type UnifiedOptions } from './unified.ts';
export type { XorOptions } from './xor.ts';
