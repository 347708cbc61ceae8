// What the methods of tensors take. How signatures are written: base/signatures.ts.

import { shown } from '../base/arguments.ts';
import { dtypeInfo } from '../base/dtype.ts';
import { type Habit, kindTable, plainKinds } from '../base/kinds.ts';
import { DTypeError, ShapeError } from '../errors.ts';
import { TensorCore } from './core.ts';

const isTensor = TensorCore.is;
const isNumber = plainKinds.number.is;
const isScalar = (v: unknown): boolean => typeof v === 'number' || typeof v === 'bigint' || typeof v === 'boolean';
/** What arithmetic takes. */
export const isOperand = (v: unknown): boolean => typeof v === 'number' || isTensor(v) || isScalar(v);

const everyNumber = (v: unknown): boolean => Array.isArray(v) && v.every(isNumber);

/** `add([1, 2])`: a list where a tensor is meant. */
const asTensor: Habit = (v, { where }) =>
  Array.isArray(v) || ArrayBuffer.isView(v)
    ? `Make a tensor of it first: ${where}(rt.tensor(${shown(v)})).`
    : undefined;

/** `reshape(2, 3)`: numbers where a list is meant. */
const asList: Habit = (v, { where, args }) => {
  if (!isNumber(v)) return undefined;
  const at = args.indexOf(v);
  const end = args.findIndex((a, i) => i > at && !isNumber(a));
  const list = shown(args.slice(at, end < 0 ? args.length : end));
  return `Put them into an array: ${where}(${[...args.slice(0, at).map((a) => shown(a)), list].join(', ')}).`;
};

const otherNames: Readonly<Record<string, string>> = {
  half: 'f16',
  float: 'f32',
  double: 'f64',
  byte: 'u8',
  int: 'i32',
  long: 'i64',
  boolean: 'bool',
};

/** `float32`, `torch.int64`: what other libraries call a dtype. */
const ownName: Habit = (v) => {
  const name = String(typeof v === 'string' ? v : '')
    .replace(/^.*\./, '')
    .replace(/_$/, '');
  const short =
    otherNames[name] ?? name.replace('bfloat', 'bf').replace('float', 'f').replace('uint', 'u').replace('int', 'i');
  return Object.hasOwn(dtypeInfo, short) ? `Write '${short}'.` : undefined;
};

export const tensorKinds = kindTable({
  ...plainKinds,
  tensor: { is: isTensor, words: 'a tensor', many: 'tensors', code: 'NOT_AN_OPERAND', habit: asTensor },
  scalar: { is: isScalar, words: 'a number', code: 'NOT_AN_OPERAND' },
  operand: {
    is: isOperand,
    words: 'a tensor or a number',
    code: 'NOT_AN_OPERAND',
    habit: asTensor,
  },
  numbers: { is: everyNumber, words: 'an array of whole numbers', habit: asList },
  shape: {
    is: everyNumber,
    words: 'an array of sizes such as [2, 3]',
    code: 'BAD_SHAPE',
    error: ShapeError,
    habit: asList,
  },
  dtype: {
    is: (v) => typeof v === 'string' && Object.hasOwn(dtypeInfo, v),
    words: `one of ${Object.keys(dtypeInfo).join(', ')}`,
    code: 'UNKNOWN_DTYPE',
    error: DTypeError,
    habit: ownName,
  },
  positions: {
    is: (v) => Array.isArray(v) && v.every((p) => isNumber(p) || isTensor(p)),
    words: 'an array of whole numbers or tensors',
    habit: asList,
  },
  ranges: {
    is: (v) => Array.isArray(v) && v.every((r) => r === null || Array.isArray(r)),
    words: 'an array of [start, stop] or null, one for each axis',
    habit: (_, { args }) =>
      args.every(isNumber)
        ? `Write slice([[${args.join(', ')}]]) for positions ${args.join(' to ')} of the first axis.`
        : undefined,
  },
  pairs: {
    is: (v) => Array.isArray(v) && v.every((p) => Array.isArray(p) && p.length === 2 && p.every(isNumber)),
    words: 'an array of [before, after], one for each axis',
    code: 'BAD_PAD',
    error: ShapeError,
    habit: (v) =>
      everyNumber(v) && (v as number[]).length === 2 ? `Write [${shown(v)}], with a pair for each axis.` : undefined,
  },
  pair: { is: (v) => everyNumber(v) && (v as unknown[]).length === 2, words: 'two numbers: [low, high]' },
  indices: { is: (v) => isTensor(v) || isNumber(v) || Array.isArray(v), words: 'an integer tensor or whole numbers' },
});

const wait = '{signal:signal}?';
const reduce = 'axis:number|numbers,keepdims:flag';
const position = 'options:{axis:number,keepdims:flag}?';
const scan = 'axis:number?';
const mode = "options:{mode:'check'|'clip'}?";
const conv =
  "options:{stride:number|numbers,padding:number|numbers|pairs|'same',dilation:number|numbers,groups:number,layout:'channelsFirst'|'channelsLast'}?";
const windows = 'options:{stride:number|numbers,dilation:number|numbers,padding:number|numbers|pairs,axes:numbers}?';
const pool = 'window:numbers options:{stride:number|numbers,padding:number|numbers}?';
const unary =
  'sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf floor ceil trunc round ' +
  'neg abs sign square reciprocal rsqrt sigmoid relu isnan isinf isfinite logicalNot bitwiseNot';

export const tensorSignatures: Readonly<Record<string, string>> = {
  [`${unary} flatten ravel clone keep dataSync item compute toString`]: '',
  toJSON: 'key:text?',
  'nonzero unique': 'async',
  clip: 'lo:operand|null hi:operand|null?',
  'cast astype bitcast': 'dtype:dtype',
  'reshape expand broadcastTo': 'shape:shape',
  permute: 'order:numbers',
  transpose: 'order:numbers? # Two axes are exchanged by swapaxes(a, b).',
  swapaxes: 'a:number b:number',
  moveaxis: 'from:number to:number',
  'squeeze flip': 'axes:number|numbers?',
  'unsqueeze expandDims': 'axis:number',
  slice: 'ranges:ranges',
  sliceAt: 'starts:tensor|positions sizes:numbers',
  roll: 'shift:number|tensor|positions axis:number|numbers?',
  pad: 'widths:pairs value:scalar?',
  tile: 'reps:numbers',
  repeat: 'times:number axis:number?',
  split: 'parts:number|numbers axis:number?',
  'diagonal trace': 'offset:number?',
  'tril triu': 'k:number?',
  'gather takeAlongAxis': `indices:indices axis:number ${mode}`,
  take: `indices:indices axis:number? ${mode}`,
  scatter:
    "indices:indices updates:tensor options:{axis:number,mode:'set'|'add'|'mul'|'min'|'max',bounds:'check'|'clip'}?",
  'sum prod': `options:{${reduce},dtype:dtype}?`,
  'mean max min any all countNonzero logsumexp': `options:{${reduce}}?`,
  'variance var std': `options:{${reduce},ddof:number}?`,
  'argmax argmin': position,
  norm: `options:{${reduce},ord:number}?`,
  'cumsum cumprod': `${scan} options:{reverse:flag,exclusive:flag,dtype:dtype}?`,
  'cummax cummin': 'axis:number options:{reverse:flag}?',
  'sort argsort': `${scan} options:{descending:flag}?`,
  topk: 'k:number axis:number?',
  matmul: "other:tensor options:{precision:'exact'|'tf32'|'bf16'}?",
  'dot outer': 'other:tensor',
  'conv1d conv2d conv3d': `kernel:tensor ${conv}`,
  convTranspose: `kernel:tensor shape:shape ${conv}`,
  convKernelGradient: `gradient:tensor shape:shape ${conv}`,
  windows: `window:numbers ${windows}`,
  fold: `shape:shape ${windows}`,
  'maxPool avgPool': pool,
  'softmax logSoftmax': 'axis:number|numbers?',
  layerNorm: 'axis:number|numbers? eps:number?',
  cosineSimilarity: 'other:tensor axis:number? eps:number?',
  mask: 'async mask:tensor',
  bincount: 'async options:{minLength:number,weights:tensor}?',
  searchsorted: "values:tensor options:{side:'left'|'right'}?",
  histogram: 'async options:{bins:number|numbers,range:pair}?',
  fft: 'options:{axis:number,imag:tensor,inverse:flag}?',
  rfft: 'options:{axis:number}?',
  irfft: 'options:{axis:number,imag:tensor,length:number}?',
  'segmentSum segmentMax segmentMin segmentMean': 'ids:indices segments:number',
  data: 'async options:{into:any,signal:signal}?',
  to: `async device:text options:${wait}`,
  'bytes array': `async options:${wait}`,
};
