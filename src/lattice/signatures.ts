// What the methods of lattices and graphs take. How signatures are written: base/signatures.ts. Vertices, coordinates and data are
// checked by the methods themselves, with errors of their own.

import { layerKinds } from '../base/layer-kinds.ts';
import { argumentKinds } from '../index.ts';

const isPair = (v: unknown): boolean => Array.isArray(v) && v.length === 2 && v.every((x) => typeof x === 'number');
const isObject = argumentKinds.object.is;

export const latticeKinds = {
  ...argumentKinds,
  ...layerKinds,
  batch: { is: (v: unknown) => isObject(v) && 'lattices' in (v as object), words: 'a batch of createBatch' },
  lattice: {
    is: (v: unknown) => isObject(v) && 'indexToCoords' in (v as object),
    words: 'a lattice',
    many: 'lattices',
  },
  pair: { is: isPair, words: 'two numbers' },
  pairs: { is: (v: unknown) => Array.isArray(v) && v.every(isPair), words: 'an array of [from, to]' },
  matrix: {
    is: (v: unknown) => argumentKinds.tensor.is(v) || (Array.isArray(v) && v.every(argumentKinds.numbers.is)),
    words: 'a tensor or rows of numbers',
  },
  blocked: {
    is: (v: unknown) => v === null || layerKinds.iterable.is(v),
    words: 'indices of vertices, one byte for each vertex, or null',
    habit: layerKinds.iterable.habit!,
  },
  words: {
    is: (v: unknown) => v instanceof BigUint64Array || (Array.isArray(v) && v.every((x) => typeof x === 'bigint')),
    words: 'a BigUint64Array or an array of bigints',
  },
  inputs: {
    is: (v: unknown) =>
      isObject(v) && !ArrayBuffer.isView(v) && Object.values(v as object).every((x) => typeof x === 'bigint'),
    words: 'an object of bigints by name',
  },
  edges: {
    is: (v: unknown) => layerKinds.iterable.is(v),
    words: 'an array of [from, to] or [from, to, weight]',
  },
};

const signal = 'signal:signal';
const batch = 'batch:batch';
const to = 's:own t:own';
const search = `o:{method:'auto'|'levels'|'closed'|'search',${signal},${batch}}?`;
const centralities = 'kind:own';
const communities = 'method:own? o:{seed:number,limitMs:number';
const analysis = `async o:{method:'auto'|'levels',${batch}}?`;

export const latticeSignatures: Readonly<Record<string, string>> = {
  'stats analyzeClosedForm estimateMemory': '',
  dispose: 'async',
  explain: 'method:text ...args:any',
  countWalks: `async ${to} length:own o:{memory:'plain'|'borrow',buffers:tensor[],bits:number,compare:flag,${signal},${batch}}?`,
  distanceWithObstacles: `async ${to} o:{buffers:tensor[],seed:number,${signal},${batch}}?`,
  auxiliary: 'async pieces:number? pieceBytes:number?',
  xor: `async data:own key:own o:{cycle:flag,${batch}}?`,
  xorWithNewKey: `async data:own o:{${batch},seed:number}?`,
  transform: `async data:own name:own o:{cycle:flag,${batch},key:any,factor:number}?`,
  permuteAxes: `async data:own order:own o:{${batch}}?`,
  reflect: `async data:own axis:own o:{${batch}}?`,
  rotate90: `async data:own axes:own quarterTurns:number? o:{${batch}}?`,
  diffuse: `async field:own steps:own o:{rate:number,boundary:'zero'|'insulated'|'periodic',${signal},${batch}}?`,
  matmul: `async a:matrix b:matrix o:{${batch}}?`,
  reduce: `async data:own name:own o:{${batch}}?`,
  build: `async o:{${signal},${batch}}?`,
  adjacency: `async o:{${batch},dense:flag}?`,
  'analyze metrics': analysis,
  centrality: `async ${centralities} o:{normalized:flag,method:'auto'|'host'|'device',${signal},${batch}}?`,
  communities: `async ${communities},${batch}}?`,
  'distance countShortestPaths': to,
  allPaths: `${to} o:{maxLength:number,limit:number}?`,
  shortestPath: `async ${to} ${search}`,
  shortestPaths: `async pairs:own ${search}`,
  distancesFrom: `async s:own ${search}`,
  reach: `async s:own o:{within:number,method:'auto'|'bits',${signal},${batch}}?`,
  sharesRuntime: 'other:lattice',
  setBlocked: 'blocked:blocked',
  'indexToCoords neighbors': 'vertex:own',
  coordsToIndex: 'coords:own',
  validateCoords: 'coords:any',
};

export const unifiedSignatures: Readonly<Record<string, string>> = {
  'buildLattice analyzeStructure': 'async',
  xorTransform: 'async data:own',
  findShortestPath: 'async start:own end:own',
};

export const graphSignatures: Readonly<Record<string, string>> = {
  neighbors: 'vertex:own',
  'shortestPath distance': to,
  distancesFrom: 's:own',
  components: '',
  pageRank: 'o:{damping:number,tolerance:number,maxRounds:number}?',
  on: 'rt:runtime o:{device:text}?',
  centrality: `async ${centralities} o:{normalized:flag}?`,
  communities: `async ${communities}}?`,
};

export const graphMakers: Readonly<Record<string, string>> = {
  fromEdges: 'vertices:own edges:edges',
  fromCsr: 'offsets:arrayLike neighbors:arrayLike weights:arrayLike?',
};

export const deviceGraphSignatures: Readonly<Record<string, string>> = {
  pageRank: `async o:{damping:number,tolerance:number,maxRounds:number,${signal}}?`,
  distancesFrom: `async s:own o:{${signal}}?`,
  betweenness: `async o:{${signal},normalized:flag}?`,
  dispose: '',
};

const ring = "ring:'u64'|'gf64'|{field:number!}";
const term = "term:{kind:'product'!,constant:bigint!,registers:numbers!}|{kind:'input'!,name:text!}";

export const programOptions = `options:{registers:number!,${ring}}`;

export const programSignatures: Readonly<Record<string, string>> = {
  mul: '...registers:number',
  scaled: 'constant:bigint ...registers:number',
  'add sub': `target:number ${term}`,
  'addInput subInput': 'target:number name:text',
  'inverse toString': '',
  apply: 'words:words inputs:inputs?',
  run: 'async rt:runtime registers:tensor inputs:inputs?',
};

export const formulaSignature = `text:text o:{${ring},maxSteps:number}?`;
