// What is said of a name that fits no GPU, or too many: the near ones, the targets it could mean.

import { ArgumentError } from '../../errors.ts';
import { nearest } from '../data/schema.ts';
import type { Gpu } from '../machine.ts';
import { plainLine } from '../text/plain.ts';
import type { Candidate } from './candidates.ts';
import { rowsOf, type Wanted } from './name-read.ts';
import { appleChips } from './tables/product-names.ts';

export function noTarget(text: string, id: string, ids: readonly string[]): ArgumentError {
  const near = nearTargets(id, ids);
  return refusal(
    text,
    'names a target that does not exist',
    `${near.length > 0 ? `Did you mean ${near.join(', ')}? ` : ''}Known are ${ids.slice(-12).join(', ')} and older ones.`,
  );
}

/** Those that differ in the end only, else the one that differs least. */
function nearTargets(id: string, ids: readonly string[]): readonly string[] {
  const ends = (stem: string, digits: RegExp) =>
    digits.test(stem) ? ids.filter((other) => other.startsWith(stem)) : [];
  // "sm_55" is nearer to sm_52 than to sm_35; of gfx ids one digit tells no more than the vendor.
  const [longer, alike] = [ends(id, /\d{2}/), ends(id.slice(0, -1), /^sm_\d|\d{2}/)];
  if (longer.length > 0) return longer.slice(0, 8);
  const close = nearest(id, ids);
  return alike.length > 0 ? alike.slice(0, 8) : close === undefined ? [] : [close];
}

const SEVERAL = 'fits several GPUs that need different builds';

export function severalTargets(text: string, targets: readonly string[]): ArgumentError {
  return refusal(text, SEVERAL, `Give the product ("RTX 4090") or the target, ${targets.join(' or ')}.`);
}

/** One product of each target, the newest first, so that the choice shows what differs. */
export function ambiguous(text: string, found: readonly Candidate[], gpus: readonly Gpu[]): ArgumentError {
  const labels = new Map<string, string>();
  for (const [place, gpu] of gpus.entries()) {
    const target = shortTarget(gpu);
    if (!labels.has(target) || /laptop/i.test(labels.get(target)!)) labels.set(target, found[place]!.label);
  }
  const targets = [...labels.keys()].sort((one, other) => other.localeCompare(one, 'en', { numeric: true }));
  const names = [...new Set(targets.map((target) => labels.get(target)!))];
  return refusal(
    text,
    SEVERAL,
    names.length > 1
      ? `Write which one, such as ${names.slice(0, 6).join(', ')}.`
      : `It was sold with several chips: give the target instead, ${targets.reverse().join(' or ')}.`,
  );
}

const shortTarget = ({ computeCapability: { value }, gfx, intelFamily }: Gpu): string =>
  value ? `sm_${value.major}${value.minor}` : (gfx.value ?? intelFamily.value ?? 'unknown');

export function unknown(text: string, wanted: Wanted, all: readonly Candidate[]): ArgumentError {
  const near = suggestions(text, wanted, all);
  return refusal(
    text,
    'is in no table',
    near.length > 0
      ? `Did you mean ${near.join(', ')}? A compute capability ("sm_89") or gfx id ("gfx1100") works too.`
      : 'Give a product name ("RTX 4090"), a PCI id ("10de:2684"), a compute capability ("sm_89") or a gfx id ("gfx1100").',
  );
}

const refusal = (text: string, what: string, fix: string): ArgumentError =>
  new ArgumentError({
    code: 'UNKNOWN_GPU',
    message: `GPU "${plainLine(text).slice(0, 80)}" ${what}`,
    fix,
    where: 'override',
  });

/** The lines of each vendor: what is near is looked for among the GPUs of the one that the text tells. */
const LINES: readonly (readonly [Gpu['vendor'], RegExp])[] = [
  ['intel', /\b(?:intel|arc|iris|uhd)\b/i],
  ['amd', /\b(?:amd|ati|radeon|instinct|firepro|ryzen|rx|vega)\b/i],
  ['nvidia', /\b(?:nvidia|geforce|tesla|quadro|jetson|gtx|rtx|mx)\b/i],
];

/** The product within the name, those it begins, those that differ by an edit or two, then those with nearly the same number. */
function suggestions(text: string, wanted: Wanted, all: readonly Candidate[]): readonly string[] {
  const apple = appleLike(text);
  if (apple.length > 0) return apple;
  const isId = /^[\da-f]{4}:[\da-f]{4}$/i.test(text.trim());
  if (isId || wanted.key === '' || wanted.key.length > 60) return [];
  const vendor = LINES.find(([, line]) => line.test(text))?.[0];
  const labels = new Map<string, string>();
  for (const { entry, names } of rowsOf(all)) {
    if (vendor !== undefined && entry.vendor !== vendor) continue;
    for (const name of names) {
      const key = name.joined;
      if (!labels.has(key) || /laptop/i.test(labels.get(key)!)) labels.set(key, entry.label);
    }
  }
  const { joined } = wanted;
  const keys = [...labels.keys()];
  const within = keys
    .filter((key) => /\d{2}/.test(key) && joined.startsWith(key))
    .sort((one, other) => other.length - one.length)
    .slice(0, 1);
  const longer = keys.filter((key) => key.startsWith(joined)).slice(0, 2);
  const close = nearest(joined, keys);
  const stem = joined.slice(0, -1);
  const near = [
    ...misread(joined, keys),
    ...otherLine(wanted, keys),
    // "W7700X" of "PRO W7700": one letter too many.
    ...keys.filter((key) => /[a-z]\d{3}/.test(stem) && key.endsWith(stem)),
    ...within,
    ...longer,
    ...(close === undefined ? [] : [close]),
    ...alike(wanted, keys),
  ];
  return [...new Set(near.map((key) => labels.get(key)!))].slice(0, 4);
}

/** "Apple M3 Mac": the chips of that generation, else the newest. */
function appleLike(text: string): readonly string[] {
  const chip = /\b(m\d+)\b/i.exec(text)?.[1]?.toLowerCase();
  if (!/\bapple\b|^m\d+\b|\bm\d+ (?:pro|max|ultra)\b/i.test(text.trim())) return [];
  const known = chip === undefined ? undefined : appleChips[chip];
  return known
    ? known.map((kind) => `Apple ${chip!.toUpperCase()}${kind && ` ${kind[0]!.toUpperCase()}${kind.slice(1)}`}`)
    : ['Apple M5', 'Apple M4'];
}

/** "B58O" with a letter for a digit, and "RTX 4900" with two digits the wrong way round. */
function misread(joined: string, keys: readonly string[]): readonly string[] {
  const digits = joined.replace(/(?<=\d)o|o(?=\d)/g, '0').replace(/(?<=\d)[il]/g, '1');
  const swapped = [...joined].map(
    (_, at) =>
      joined.slice(0, at) +
      joined
        .slice(at, at + 2)
        .split('')
        .reverse()
        .join('') +
      joined.slice(at + 2),
  );
  const isEnd = (key: string): boolean => digits !== joined && digits.length > 3 && key.endsWith(digits);
  return keys.filter((key) => key !== joined && (key === digits || isEnd(key) || swapped.includes(key)));
}

/** "RTX 1080" and "GTX 2080": the number is right, the line is not. */
function otherLine(wanted: Wanted, keys: readonly string[]): readonly string[] {
  const rest = /^(?:rtx|gtx|gt|rx)(\d{3,4}.*)$/.exec(wanted.joined)?.[1];
  return rest === undefined
    ? []
    : ['rtx', 'gtx', 'rx'].map((line) => `${line}${rest}`).filter((key) => keys.includes(key));
}

/** Numbers of the same length that differ in the last digit, else in the last two or three: of the same line first, the nearest first. */
function alike(wanted: Wanted, keys: readonly string[]): readonly string[] {
  const digits = /\d{2,5}/.exec(wanted.key)?.[0];
  if (digits === undefined) return [];
  const line = /^[a-z]+/.exec(wanted.key)?.[0] ?? '';
  const numbered = (free: number) => {
    const number = new RegExp(`(?<!\\d)${digits.slice(0, -free)}\\d{${free}}(?!\\d)`);
    return keys.filter((key) => number.test(key));
  };
  const before = /^[a-z]*/.exec(wanted.joined)![0];
  const near = (key: string) => before.length > 1 && /^[a-z]*/.exec(key)![0] === before;
  const away = (key: string) => Math.abs(Number(/\d{2,5}/.exec(key)?.[0]) - Number(digits));
  const same = (key: string) => (line === '' ? /^\d/.test(key) : key.startsWith(line));
  const one = numbered(1);
  const looser = [2, 3].flatMap((free) => (digits.length > free ? numbered(free).filter(same) : []));
  const wider = looser.sort((a, b) => away(a) - away(b));
  return [...one.filter(same), ...wider.filter(near), ...wider, ...one];
}
