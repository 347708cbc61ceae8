// The second look, when no line of a text tells by itself: the trouble stands on one line, its subject on those around it.
//
// A program prints "ERR_CANT_CREATE" and on the next line "drivers/vulkan/…"; pip prints the package five lines before the
// failure. So every line that reports a fault is joined with its neighbours, and the nearest subject decides; of two
// equally near ones the narrower family. Only a short text is looked at this way. Python's plain exceptions are a programmer's business and count only where a
// package of the GPU stack is asked for something that it does not have.

import { buildCodes, type Family, joined } from './catalogue/families/index.ts';
import { Haystack } from './haystack.ts';
import { COMPILER, NOTICE, RECORD, TOLD, USAGE } from './lines.ts';
import { needsOf } from './needs.ts';
import { GPU_PACKAGES } from './packages.ts';

export interface SecondLook {
  readonly code: string;
  readonly offset: number;
  readonly values: Readonly<Record<string, string>>;
}

/** Lines that report a fault, not just speak of one. */
const FAULT =
  /\b\w*(?:Error|Exception|Failure)\b|\berrors?\b|\bERR_\w+|\bfatal\b|\bfail(?:ed|ure|s)?\b|\bcould ?n[o']t\b|\bcannot\b|\bunable to\b|\bnot (?:found|supported|available|loaded)\b|\bcrash\w*|\bSIG[A-Z]{3,4}\b|\bEXC_[A-Z_]+|received signal \d|did not run successfully|\bCrashLoopBackOff\b|\bImagePullBackOff\b|\bmake(?:\[\d+\])?: \*\*\*/i;

/** What git and npm say of themselves. */
const OTHERS = /^\s*(?:fatal: (?!error)|npm ERR!|remote: )/;

/** Exceptions that say more about the program than about the machine. */
const PLAIN =
  /\b(?:Type|Value|Key|Index|Attribute|Name|Assertion|FileNotFound|JSONDecode|Unicode\w+|Syntax|Indentation|ZeroDivision|Recursion|Connection\w*|HTTP|Permission|StopIteration|UnboundLocal|NotImplemented|Lookup|Module(?:NotFound)?|Import)(?:Error)\b/;

/** Names what it misses, so no other line does. */
const OWN = /^\W*(?:\S+ ){1,2}(?:is |was )?not found\W*$/;

/** What stops a build says nothing of a device. */
const MAKE = /\b(?:g?make|ninja)(?:\[\d+\])?: (?:\*\*\*|build stopped)/;

const BEFORE = 6;
const AFTER = 3;

/** A text of more lines is a log: lines that stand beside each other there need not belong together. */
const MOST_LINES = 40;

export function secondLook(text: string): SecondLook | undefined {
  const lines = text.split('\n');
  if (lines.length > MOST_LINES) return undefined;
  const offsets = offsetsOf(lines);
  // The last fault is the one that ended the program.
  for (let i = lines.length - 1; i >= 0; i--) {
    const line = lines[i]!;
    if (
      !FAULT.test(line) ||
      RECORD.test(line) ||
      NOTICE.test(line) ||
      OTHERS.test(line) ||
      USAGE.test(line) ||
      TOLD.test(line)
    )
      continue;
    const at = offsets[i]!;
    if (PLAIN.test(line)) {
      const missing = missingInPackage(lines, i);
      if (missing) return { code: 'framework-version', offset: at, values: missing };
      continue;
    }
    const family = nearest(lines, i);
    if (family) return { code: family.code, offset: at, values: {} };
  }
  return undefined;
}

function offsetsOf(lines: readonly string[]): readonly number[] {
  let sum = 0;
  return lines.map((line) => {
    const at = sum;
    sum += line.length + 1;
    return at;
  });
}

function nearest(lines: readonly string[], at: number): Family | undefined {
  const line = lines[at]!;
  const compiler = COMPILER.test(line) || MAKE.test(line);
  const words = new Haystack(line);
  const fitting = joined.filter(
    ({ code, trouble }) =>
      words.meets(needsOf(trouble)) && caseless(trouble).test(line) && (!compiler || buildCodes.has(code)),
  );
  const reach = OWN.test(line) ? 0 : BEFORE;
  for (let distance = 0; distance <= reach; distance++) {
    const around = [at - distance, ...(distance <= AFTER ? [at + distance] : [])]
      .map((i) => (i === at ? line : lines[i] && spoken(lines[i])))
      .filter((other) => other !== undefined && !RECORD.test(other) && !NOTICE.test(other));
    const found = fitting.find(({ code, subject }) =>
      around.some((other) => caseless(subject).test(other!) && (buildCodes.has(code) || !COMPILER.test(other!))),
    );
    if (found) return found;
  }
  return undefined;
}

/** A frame of a traceback tells who speaks; any other path is a name, and names tell nothing. */
const spoken = (line: string): string =>
  FRAME.test(line) ? line : line.replaceAll(/(?:[A-Za-z]:)?[\w.~@+-]*[\\/][^\s'",:;()]*/g, ' ');

const FRAME =
  /\bFile "|\bmake(?:\[\d+\])?: |(?:site|dist)-packages|^\s*(?:at|in|from) |#\d+ |\.\w{1,4}[:(]\d+|\+0x[0-9a-f]+/;

const known = new Map<RegExp, RegExp>();

/** Letters count the same in both cases, as in the first look. */
function caseless(re: RegExp): RegExp {
  const before = known.get(re);
  if (before) return before;
  const made = re.ignoreCase ? re : new RegExp(re.source, 'i');
  known.set(re, made);
  return made;
}

const LACKING: readonly RegExp[] = [
  /\bmodule '(?<module>[\w.]+)' has no attribute '(?<name>\w+)'/,
  /cannot import name '(?<name>\w+)'(?: from (?:partially initialized module )?'(?<module>[\w.]+)')?/,
  /No module named '(?<module>\w+\.[\w.]+)'/,
  /got an unexpected keyword argument '(?<name>\w+)'/,
  /'(?<module>\w+)' object has no attribute '(?<name>\w+)'/,
  /name '(?<name>\w+)' is not defined/,
  /missing \d+ required (?:positional|keyword-only) arguments?: '(?<name>\w+)'/,
];

const CALLED = /\b(\w+)\(\) got an unexpected keyword argument/;

/** Functions that many programs call by their bare name, and whose they are. */
const OWNERS: readonly (readonly [RegExp, string])[] = [
  [/^memory_efficient_attention/, 'xformers'],
  [/^flash_attn/, 'flash_attn'],
  [/^scaled_dot_product_attention$/, 'torch'],
];

/** What a package of the GPU stack was asked for in vain; the package stands in the message or in the frame above it. */
function missingInPackage(lines: readonly string[], at: number): Readonly<Record<string, string>> | undefined {
  const found = LACKING.map((re) => re.exec(lines[at]!)).find((hit) => hit !== null);
  if (!found) return undefined;
  const { module = '', name = '' } = found.groups ?? {};
  const callee = CALLED.exec(lines[at]!)?.[1];
  const named = packageOf(module) ?? OWNERS.find(([re]) => callee !== undefined && re.test(callee))?.[1];
  const frame = lines
    .slice(Math.max(0, at - 3), at)
    .map(
      (line) =>
        /\bfrom (\w+)[\w.]* import\b/.exec(line)?.[1] ?? /(?:site|dist)-packages[\\/](\w+)[\\/]/.exec(line)?.[1],
    )
    .findLast((part) => part !== undefined);
  const owner = named ?? (frame === undefined ? undefined : packageOf(frame));
  return owner === undefined ? undefined : { module: module.includes('.') ? module : owner, ...(name ? { name } : {}) };
}

const packageOf = (module: string): string | undefined => {
  const top = module.split('.')[0]!;
  return GPU_PACKAGES.has(top) ? top : undefined;
};
