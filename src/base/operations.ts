// Operations that callers name: by `rt.scope({ op })`, or when they ask the router about a call. The router guesses none of them.

export const operationTypes = [
  'matrix_multiply',
  'matrix_add',
  'element_wise',
  'reduction',
  'transform',
  'graph_algorithm',
  'random_generation',
  'lattice_creation',
  'path_finding',
  'unknown',
] as const;

export type OperationType = (typeof operationTypes)[number];
