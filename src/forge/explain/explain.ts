// From a pasted error to its cause and the steps that cure it.
//
// Every class is tried on the whole text. A class scores by how specific its best pattern is, never by length; the facts of
// the machine rule classes out or confirm them, and a class that explains another comes before it. The best few come back,
// best first. Where no line tells by itself, a second look joins neighbouring lines. No match is an honest answer, and so is a
// match that the words around it do not bear out (decide.ts): it is only named as the nearest.

import type { Framework } from '../data/schemas.ts';
import { type LoadedTables, loadTables } from '../data/tables.ts';
import { factValue, formatCc, type Machine, type Platform } from '../machine.ts';
import { nameOfGpu } from '../resolve/facts.ts';
import { resolve } from '../resolve/resolve.ts';
import type { Resolution } from '../resolve/types.ts';
import { buildCodes } from './catalogue/families/index.ts';
import { catalogue } from './catalogue/index.ts';
import { clean, condense, lineAt } from './clean.ts';
import { ANSWER, chance, clearerCode, type Ground, guess, tellsWhat, wordsAround } from './decide.ts';
import { sharesOf } from './evidence/evidence.ts';
import { Haystack } from './haystack.ts';
import { COMPILER, NOTICE, PROGRAMMER, RECORD, TOLD } from './lines.ts';
import { needsOfPattern } from './needs.ts';
import { softwareIn, systemIn, vendorIn } from './origin.ts';
import { type SecondLook, secondLook } from './second-look.ts';
import { fitSteps } from './steps.ts';
import { thirdLook } from './third-look.ts';
import type { Context, ErrorClass, Explained, Explanation, Facts, Kind, Nearest, Pattern } from './types.ts';
import { cudaNumbers, valuesIn } from './values.ts';

const BASE: Readonly<Record<Kind, number>> = { code: 0.9, capture: 0.85, phrase: 0.75, symptom: 0.6, weak: 0.5 };
const CONFIRMED = 0.08;
const FURTHER = 0.02;
const RANK = 0.001;
/** The second look puts two lines together: least certain of all. */
const SECOND = 0.4;

export interface ExplainOptions {
  /** The machine on which it happened; without it the answer is general. */
  readonly machine?: Machine;
  /** The compatibility tables from which a build is advised; the shipped ones when not given. */
  readonly tables?: LoadedTables;
  /** Most explanations to return. */
  readonly limit?: number;
}

interface Found extends Hit {
  readonly entry: ErrorClass;
  readonly context: Context;
  readonly line: string;
}

/** The explanations of an error, best first; none where nothing is recognised. */
export function explain(source: string, options: ExplainOptions = {}): readonly Explanation[] {
  return explainText(source, options).explanations;
}

/** As `explain`, with the nearest guesses where nothing is recognised. */
export function explainText(source: string, options: ExplainOptions = {}): Explained {
  const { text, lineNumber } = condense(clean(source));
  const values = valuesIn(text);
  const numbers = cudaNumbers(text);
  const software = softwareIn(text);
  const shown = systemIn(text);
  // A text from another system was not made on this machine, so the machine's facts do not apply to it.
  const machine = options.machine && carriedHere(shown, options.machine) ? undefined : options.machine;
  const facts = machine && factsOf(machine);
  const os = shown ?? (machine && machine.host.platform !== 'other' ? machine.host.platform : undefined);
  const resolveFor = resolver(machine, options.tables);
  const judged = (entry: ErrorClass, hit: Hit | undefined): readonly Found[] => {
    const holds = facts && entry.holds?.(facts);
    if (!hit || holds === false) return [];
    const line = lineAt(text, hit.offset);
    const context = {
      got: { ...values, ...hit.groups },
      line,
      facts,
      resolve: resolveFor,
      software,
      os,
      vendor: vendorIn(line, text),
    };
    return [{ ...hit, entry, line, score: Math.min(1, hit.score + (holds === true ? CONFIRMED : 0)), context }];
  };
  const looked = (seen: SecondLook | undefined): readonly Found[] => {
    const entry = catalogue.find(({ code }) => code === seen?.code);
    if (!seen || !entry || entry.unless?.test(lineAt(text, seen.offset))) return [];
    const { offset, values: groups } = seen;
    return judged(entry, { score: SECOND, offset, groups, family: true, ground: 'joined' });
  };
  /** A class that is often right beside the first takes its place where the words speak for it much more clearly. */
  const clearer = (rows: readonly Found[]): readonly Found[] => {
    const [first] = rows;
    const code =
      first && clearerCode(first.entry.code, first.ground, wordsAround(text, first.offset, first.ground)[0]!);
    const entry = catalogue.find((row) => row.code === code);
    if (!first || !entry || entry.unless?.test(first.line)) return rows;
    const groups = rows.find((row) => row.entry === entry)?.groups ?? {};
    const { score, offset, family, ground } = first;
    const [other] = judged(entry, { score, offset, groups, family, ground });
    return other ? [other, ...rows.filter((row) => row.entry !== entry)] : rows;
  };
  const words = new Haystack(text);
  const first = catalogue.flatMap((entry) => judged(entry, match(entry, text, words, numbers)));
  const recognised = clearer(borneOut(ranked(first.length > 0 ? first : looked(secondLook(text))), text));
  const nearest = doubts(recognised, text);
  const said = nearest && recognised.length === 0 ? looked(thirdLook(text)) : [];
  if (nearest && said.length === 0)
    return {
      explanations: [],
      nearest: nearest.map(({ offset, ...row }) => ({ ...row, lineNumber: lineNumber(offset) })),
    };
  const rows = [...said, ...recognised.filter(({ entry }) => entry !== said[0]?.entry)];
  const explanations = rows.slice(0, options.limit ?? 3).map(
    ({ entry, context, line, score, offset }): Explanation => ({
      code: entry.code,
      severity: entry.severity,
      title: entry.title,
      cause: entry.cause(context),
      evidence: {
        line: shorten(line),
        lineNumber: lineNumber(offset),
        values: context.got,
        facts: facts ? factLines(facts) : [],
      },
      fix: fitSteps(entry.fix(context), os),
      os: os ?? null,
      score: Math.round(score * 100) / 100,
      confidence: score >= 0.8 ? 'high' : score >= 0.7 ? 'medium' : 'low',
      links: entry.links,
    }),
  );
  return { explanations, nearest: [] };
}

/** More text than people paste to ask about one error: a guess from its words would be one about a log. */
const MOST_GUESSED = 4096;

/** What may be meant where no answer is given; undefined where the first row is an answer. */
function doubts(
  rows: readonly Found[],
  text: string,
): readonly (Omit<Nearest, 'lineNumber'> & { readonly offset: number })[] | undefined {
  const [first] = rows;
  if (!first && text.length > MOST_GUESSED) return [];
  const words = first ? wordsAround(text, first.offset, first.ground) : [sharesOf(text)];
  if (first && words.some((shares) => chance(first.entry.code, first.ground, shares) >= ANSWER)) return undefined;
  const guessed = catalogue.find(({ code }) => code === guess(words[0]!));
  return [
    ...(first
      ? [{ code: first.entry.code, title: first.entry.title, line: shorten(first.line), offset: first.offset }]
      : []),
    ...(guessed && guessed.code !== first?.entry.code
      ? [{ code: guessed.code, title: guessed.title, line: shorten(first?.line ?? ''), offset: first?.offset ?? 0 }]
      : []),
  ];
}

/** From here on a class has words of its own; below it only says that something failed. */
const SPECIFIC = 0.745;

/** What a family's line alone gives: it names a subject, and explains nothing else. */
const FAINT = BASE.weak + 3 * FURTHER;

/**
 * Best first. A class that explains another stands in for it, however specific the other's words are; and a line that a
 * class with words of its own has claimed is not told a second time as a mere symptom.
 */
function ranked(found: readonly Found[]): readonly Found[] {
  const best = (entry: ErrorClass, score: number, depth = 0): number =>
    found
      .filter((other) => depth < 4 && score > FAINT && entry.explains?.includes(other.entry.code))
      .reduce((top, other) => Math.max(top, best(other.entry, other.score, depth + 1) + 0.001), score);
  const rows = found
    .map((row) => ({ ...row, own: row.score, score: Math.min(1, best(row.entry, row.score)) }))
    .sort((a, b) => echoes(a) - echoes(b) || b.score - a.score || b.offset - a.offset);
  return rows.filter(
    (row, i) =>
      !rows.some(
        (other, at) =>
          at < i &&
          ((!mere(other) && mere(row)) ||
            (other.own > FAINT && other.entry.explains?.includes(row.entry.code)) ||
            (row.own < SPECIFIC && other.line === row.line)),
      ),
  );
}

/** Scores that lie no farther apart say about as much: the words around decide between their classes. */
const CLOSE = 0.13;

/** A text of more lines is a log. */
const LOG_LINES = 40;

/** Of the classes with words of their own that tell as much as the first, the one that the words around bear out most comes first. */
function borneOut(rows: readonly Found[], text: string): readonly Found[] {
  const [first] = rows;
  const alike = rows.filter((row) => own(row) && row.score >= first!.score - CLOSE);
  if (!first || !own(first) || alike.length < 2) return rows;
  // In a log the neighbours of a line are strangers: there its own words decide.
  const around = wordsAround(text, first.offset, first.ground);
  const words = text.split('\n').length > LOG_LINES ? around.at(-1)! : around[0]!;
  const share = ({ entry }: Found): number => words.get(entry.code) ?? 0;
  const best = alike.reduce((most, row) => (share(row) > share(most) ? row : most), first);
  return [best, ...rows.filter((row) => row !== best)];
}

const own = ({ ground }: Found): boolean => tellsWhat(ground);

/** Tells little by itself: a family's line, or a process that ended. */
const mere = ({ entry, family }: Found): boolean => family || entry.echo === true;

const echoes = ({ entry }: Found): number => (entry.echo ? 1 : 0);

const carriedHere = (shown: Platform | undefined, machine: Machine): boolean =>
  shown !== undefined && shown !== machine.host.platform && !(shown === 'windows' && machine.host.wsl > 0);

interface Hit {
  readonly score: number;
  readonly offset: number;
  readonly groups: Readonly<Record<string, string>>;
  /** Found by a family only. */
  readonly family: boolean;
  readonly ground: Ground;
}

/** Success is no error, and these numbers have a class. */
const owned: ReadonlySet<number> = new Set([0, ...catalogue.flatMap(({ cuda }) => cuda ?? [])]);

function match(
  entry: ErrorClass,
  text: string,
  words: Haystack,
  numbers: ReturnType<typeof cudaNumbers>,
): Hit | undefined {
  let best: Hit | undefined;
  let further = 0;
  const groups: Record<string, string> = {};
  const take = (
    kind: Kind,
    rank: number,
    offset: number,
    values: Readonly<Record<string, string | undefined>> = {},
    { family, notice, named }: Pick<Pattern, 'family' | 'notice' | 'named'> = {},
  ): boolean => {
    const line = lineAt(text, offset);
    if (RECORD.test(line) || entry.unless?.test(line)) return false;
    if (family && !notice && (NOTICE.test(line) || PROGRAMMER.test(line) || TOLD.test(line))) return false;
    if (family && COMPILER.test(line) && !buildCodes.has(entry.code)) return false;
    for (const [name, value] of Object.entries(values)) if (value !== undefined) groups[name] ??= value;
    if (best) further++;
    const base = BASE[kind] - rank * RANK;
    const ground = family ? 'family' : named ? 'named' : kind;
    if (!best || base > best.score) best = { score: base, offset, groups, family: family === true, ground };
    else if (named && base === best.score) best = { ...best, ground };
    return true;
  };
  for (const pattern of entry.patterns) {
    if (!words.meets(needsOfPattern(pattern))) continue;
    const { kind, re, along, rank = 0 } = pattern;
    if (along && !along.test(text)) continue;
    const hit = re.exec(text);
    if (!hit || take(kind, rank, hit.index, hit.groups, pattern)) continue;
    // The first place belongs to another class; a later one may not.
    for (const again of text.matchAll(new RegExp(re.source, `${re.flags}g`)))
      if (take(kind, rank, again.index, again.groups, pattern)) break;
  }
  for (const { number, offset } of numbers)
    if (entry.cuda?.includes(number) || (entry.cudaOther && !owned.has(number)))
      take(entry.cudaOther ? 'symptom' : 'code', 0, offset, { cudaError: String(number) }, { named: true });
  return best && { ...best, score: best.score + Math.min(3, further) * FURTHER };
}

function factsOf(machine: Machine): Facts {
  const has = (vendor: string): boolean => machine.gpus.some((gpu) => gpu.vendor === vendor);
  return {
    machine,
    nvidia: has('nvidia'),
    amd: has('amd'),
    intel: has('intel'),
    gpus: machine.gpus.map((gpu) => {
      const cc = factValue(gpu.computeCapability);
      const what = cc ? formatCc(cc) : (factValue(gpu.gfx) ?? factValue(gpu.intelFamily));
      return `${nameOfGpu(gpu)}${what ? ` (${what})` : ''}`;
    }),
    driver: machine.drivers.nvidia ? factValue(machine.drivers.nvidia.version) : undefined,
    wsl: machine.host.wsl > 0,
    inContainer: 'source' in machine.host.container,
  };
}

function factLines(facts: Facts): readonly string[] {
  return [
    ...facts.gpus,
    ...(facts.driver ? [`driver ${facts.driver}`] : []),
    ...(facts.wsl ? ['WSL2'] : []),
    ...(facts.inContainer ? ['in a container'] : []),
  ];
}

/** Resolves at most once per framework, and only when a fix asks for it. */
function resolver(
  machine: Machine | undefined,
  given: LoadedTables | undefined,
): (framework: Framework) => Resolution | undefined {
  const known = new Map<Framework, Resolution>();
  return (framework) => {
    if (!machine) return undefined;
    const before = known.get(framework);
    if (before) return before;
    const { tables, reviewed } = given ?? loadTables();
    const result = resolve(tables, { machine, framework }, reviewed);
    known.set(framework, result);
    return result;
  };
}

const shorten = (line: string): string => (line.length > 200 ? `${line.slice(0, 199)}…` : line);
