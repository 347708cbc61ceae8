// Values that error texts carry, whatever class they belong to. A value is taken from the text or is absent.

import { cudaNames } from './cuda-names.ts';

interface Extractor {
  readonly name: string;
  readonly re: RegExp;
  readonly read?: (raw: string) => string;
}

const size = (raw: string): string => raw.replace(/\s+/g, ' ');

/** CUDA numbers its versions 1000 × major + 10 × minor. */
const cudaNumber = (raw: string): string =>
  `${Math.floor(Number(raw) / 1000)}.${Math.floor((Number(raw) % 1000) / 10)}`;

const extractors: readonly Extractor[] = [
  { name: 'sm', re: /\b(sm_\d{2,3}[af]?)\b/ },
  { name: 'gfx', re: /\b(gfx[0-9a-f]{3,4})\b/ },
  { name: 'tried', re: /Tried to allocate (\d+(?:\.\d+)? ?[KMGT]i?B)/i, read: size },
  {
    name: 'total',
    re: /total capac(?:ity|ty) of (\d+(?:\.\d+)? ?[KMGT]i?B)|(\d+(?:\.\d+)? ?[KMGT]i?B) total capacity/i,
    read: size,
  },
  { name: 'free', re: /of which (\d+(?:\.\d+)? ?[KMGT]i?B) is free|(\d+(?:\.\d+)? ?[KMGT]i?B) free/i, read: size },
  {
    name: 'allocated',
    re: /(\d+(?:\.\d+)? ?[KMGT]i?B) is allocated by PyTorch|(\d+(?:\.\d+)? ?[KMGT]i?B) already allocated/i,
    read: size,
  },
  {
    name: 'reserved',
    re: /(\d+(?:\.\d+)? ?[KMGT]i?B) is reserved by PyTorch but unallocated|(\d+(?:\.\d+)? ?[KMGT]i?B) reserved in total/i,
    read: size,
  },
  { name: 'torch', re: /\btorch(?:[-=: ]|==| version:? )v?(\d+\.\d+\.\d+(?:\+[a-z]+[\d.]*)?)/i },
  { name: 'variant', re: /\+(cu\d{2,3}|rocm[\d.]+|cpu|xpu)\b/ },
  {
    name: 'python',
    re: /\bPython (3\.\d{1,2})\b|\bcp(3\d{1,2})\b/i,
    read: (raw) => (raw.includes('.') ? raw : `3.${raw.slice(1)}`),
  },
  { name: 'found', re: /found version (\d{4,5})\b/i, read: cudaNumber },
  { name: 'driver', re: /driver version:? (\d{3}\.\d+(?:\.\d+)?)/i },
];

export function valuesIn(text: string): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const { name, re, read } of extractors) {
    const match = re.exec(text);
    const raw = match?.slice(1).find((group) => group !== undefined);
    if (raw !== undefined) found[name] = read ? read(raw) : raw;
  }
  return found;
}

/** Bytes of "23.65 GiB"; undefined when it is no size. */
export function bytesOf(text: string | undefined): number | undefined {
  const match = /^(\d+(?:\.\d+)?) ?([KMGT])i?B$/i.exec(text ?? '');
  return match ? Number(match[1]) * 1024 ** ('KMGT'.indexOf(match[2]!.toUpperCase()) + 1) : undefined;
}

/**
 * Where a number is a CUDA error: after "CUDA error", from a call of the runtime or the driver API, or in brackets before
 * one. An exit status of a program, even of nvcc under /usr/local/cuda, is none.
 */
const CUDA_NUMBERS: readonly RegExp[] = [
  /(?<![/\\\w])CUDA(?: driver| API| initialization)* (?:error|failure)(?: in \w+)?(?: with error)?(?: code)?[ :=#(]{0,4}(\d{1,3})\b(?!\.?\d)(?! *%)/gi,
  /\b(?:cuda|cu)(?!Init err)[A-Z]\w+(?:\([^)\n]{0,60}\))? (?:returned|failed|failed with|results? in|exited with|err(?:or)?)(?: CUDA)?(?: error)?(?: code)?[ :=#(]{1,4}(\d{1,3})\b(?!\.?\d)/g,
  /\b[Ee]rror (\d{3}): [^\n]{0,80}(?:CUDA|cuda|HW|driver|device|initialized|named symbol|launch failure|illegal memory access|unknown error$)/gm,
  /\[(\d{1,3})\] Call to cu[A-Z]\w+ results in/g,
  /\bCud(?:aAPI|aDriver|aRuntime)Error: \[(\d{1,3})\]/g,
  /\bCUresult(?: error)?[ :=(]{1,3}(?:result ?= ?)?(\d{1,3})\b/g,
  /\b(?:return value|returned|error(?: code)?|status) (\d{1,3}) from '?(?:cuda|cu)[A-Z]\w+/gi,
  /(?<![/\\\w])CUDA (?:module|context|stream|event|memory|kernel)[^\n]{0,30}, returned (\d{1,3})\b/g,
  /\bCUDA-capable [^\n]{0,60}\(error (\d{1,3})\)/g,
  /\bCUDA capable devices\b[^\n]{0,20}\b[Rr]eturn status: (\d{1,3})\b/g,
  /\bCUDA_ERROR_\w+,? \(?(?:error )?(?:code|number)[ :=]{0,2}(\d{1,3})\b/g,
];

/** Programs that print the number of the runtime they were built with: before CUDA 10.1 many had another one. */
const OLD_NUMBERS: readonly RegExp[] = [
  /\bcuda runtime error \((\d{1,3})\)/gi,
  /\bTHCudaCheck FAIL[^\n]{0,160}? error=(\d{1,3})\b/g,
  /\bcudaSuccess \((\d{1,3}) vs\.? 0\)/g,
  /\b[Ff]ailed to get device (?:properties|count|attribute)[^\n]{0,20}\berror code:? (\d{1,3})\b/g,
];

const RENUMBERED: Readonly<Record<number, number>> = {
  4: 719,
  6: 702,
  7: 701,
  8: 98,
  10: 101,
  11: 1,
  30: 999,
  38: 100,
  39: 214,
  48: 209,
  59: 710,
  73: 715,
  74: 716,
  77: 700,
};

/** Numbers of before CUDA 10.1 that mean nothing today: whoever prints one is as old. */
const OLD_ONLY: ReadonlySet<number> = new Set([30, 38, 39, 48, 59, 73, 74, 77]);

const ofToday = (number: number): number => (OLD_ONLY.has(number) ? RENUMBERED[number]! : number);

/** CUDA errors that the text clearly gives as such, by number or by name, with their place. */
export function cudaNumbers(text: string): readonly { readonly number: number; readonly offset: number }[] {
  const found = (patterns: readonly RegExp[], read: (number: number) => number) =>
    patterns.flatMap((re) =>
      [...text.matchAll(re)].slice(0, 50).map((match) => ({ number: read(Number(match[1])), offset: match.index })),
    );
  return [
    ...found(CUDA_NUMBERS, ofToday),
    ...found(OLD_NUMBERS, (number) => RENUMBERED[number] ?? number),
    ...cudaNames(text),
  ];
}
