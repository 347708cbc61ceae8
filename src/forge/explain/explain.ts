// From a pasted error to its cause and the steps that cure it.
//
// Every class is tried on the whole text. A class scores by how specific its best pattern is, never by length; the facts of
// the machine rule classes out or confirm them. The best few come back, best first. No match is an honest answer.

import type { Framework } from '../data/schemas.ts';
import { loadTables } from '../data/tables.ts';
import { factValue, formatCc, type Machine } from '../machine.ts';
import { nameOfGpu } from '../resolve/facts.ts';
import { resolve } from '../resolve/resolve.ts';
import type { Resolution } from '../resolve/types.ts';
import { catalogue } from './catalogue/index.ts';
import { clean, lineAt } from './clean.ts';
import type { Context, ErrorClass, Explanation, Facts, Kind } from './types.ts';
import { cudaNumbers, valuesIn } from './values.ts';

const BASE: Readonly<Record<Kind, number>> = { code: 0.9, capture: 0.85, phrase: 0.75, weak: 0.5 };
const CONFIRMED = 0.08;
const FURTHER = 0.02;

export interface ExplainOptions {
  /** The machine on which it happened; without it the answer is general. */
  readonly machine?: Machine;
  /** Most explanations to return. */
  readonly limit?: number;
}

export function explain(source: string, options: ExplainOptions = {}): readonly Explanation[] {
  const text = clean(source);
  const facts = options.machine && factsOf(options.machine);
  const values = valuesIn(text);
  const numbers = cudaNumbers(text);
  const resolveFor = resolver(options.machine);
  const found: (Explanation & { readonly offset: number })[] = [];
  for (const entry of catalogue) {
    const hit = match(entry, text, numbers);
    if (!hit) continue;
    const holds = facts && entry.holds?.(facts);
    if (holds === false) continue;
    const context: Context = { got: { ...values, ...hit.groups }, facts, resolve: resolveFor };
    const score = Math.min(1, hit.score + (holds === true ? CONFIRMED : 0));
    const { line, number } = lineAt(text, hit.offset);
    found.push({
      code: entry.code,
      severity: entry.severity,
      title: entry.title,
      cause: entry.cause(context),
      evidence: { line: shorten(line), lineNumber: number, values: context.got, facts: facts ? factLines(facts) : [] },
      fix: entry.fix(context),
      score: Math.round(score * 100) / 100,
      confidence: score >= 0.8 ? 'high' : score >= 0.7 ? 'medium' : 'low',
      links: entry.links,
      offset: hit.offset,
    });
  }
  return found
    .sort((a, b) => b.score - a.score || b.offset - a.offset)
    .slice(0, options.limit ?? 3)
    .map(({ offset: _offset, ...rest }) => rest);
}

interface Hit {
  readonly score: number;
  readonly offset: number;
  readonly groups: Readonly<Record<string, string>>;
}

function match(entry: ErrorClass, text: string, numbers: ReturnType<typeof cudaNumbers>): Hit | undefined {
  let best: Hit | undefined;
  let further = 0;
  const groups: Record<string, string> = {};
  const take = (kind: Kind, offset: number, values: Readonly<Record<string, string | undefined>> = {}): void => {
    if (entry.unless?.test(lineAt(text, offset).line)) return;
    for (const [name, value] of Object.entries(values)) if (value !== undefined) groups[name] ??= value;
    const score = BASE[kind];
    if (best) further++;
    if (!best || score > best.score) best = { score, offset, groups };
  };
  for (const pattern of entry.patterns) {
    if (pattern.along && !pattern.along.test(text)) continue;
    const hit = pattern.re.exec(text);
    if (hit) take(pattern.kind, hit.index, hit.groups);
  }
  for (const { number, offset } of numbers)
    if (entry.cuda?.includes(number)) take('code', offset, { cudaError: String(number) });
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
function resolver(machine: Machine | undefined): (framework: Framework) => Resolution | undefined {
  const known = new Map<Framework, Resolution>();
  return (framework) => {
    if (!machine) return undefined;
    const before = known.get(framework);
    if (before) return before;
    const { tables, reviewed } = loadTables();
    const result = resolve(tables, { machine, framework }, reviewed);
    known.set(framework, result);
    return result;
  };
}

const shorten = (line: string): string => (line.length > 200 ? `${line.slice(0, 199)}…` : line);
