// Two builds side by side on one machine, and the first check at which they part.

import type { Tables } from '../data/schemas.ts';
import { columns, type Style } from '../style.ts';
import { checks } from './checks.ts';
import { choose } from './choose.ts';
import type { CheckName, Resolution, ResolveRequest } from './types.ts';
import { nameOf } from './wheels.ts';

const COMPARE_SCHEMA = 'gpuforge.compare/1';

export interface Side {
  readonly asked: string;
  readonly build: string | null;
  readonly runs: boolean;
  /** What each check said: the fact that passed, or the reason that it did not. */
  readonly checks: Readonly<Partial<Record<CheckName, string>>>;
  readonly failedAt: CheckName | null;
  /** Why it does not run; null where it does. */
  readonly reason: string | null;
  readonly minorVersionCompatibility: boolean;
}

export interface Comparison {
  readonly schema: typeof COMPARE_SCHEMA;
  readonly sides: readonly [Side, Side];
  /** The first check with different answers; null when both say the same throughout. */
  readonly differsAt: CheckName | null;
}

export interface Asked {
  readonly text: string;
  readonly request: ResolveRequest;
}

export function compare(tables: Tables, a: Asked, b: Asked): Comparison {
  const sides: readonly [Side, Side] = [sideOf(tables, a), sideOf(tables, b)];
  const order = checks.map(({ name }) => name);
  const differsAt =
    order.find((name) => (sides[0].failedAt === name) !== (sides[1].failedAt === name)) ??
    order.find((name) => substance(sides[0], name) !== substance(sides[1], name)) ??
    null;
  return { schema: COMPARE_SCHEMA, sides, differsAt };
}

/** What a check said, without the name of the build: "cu126 has wheels for linux x64" and the same of cu130 do not differ. */
function substance({ build, checks: said }: Side, name: CheckName): string | undefined {
  const variant = build?.split(' ').at(-1);
  return variant === undefined ? said[name] : said[name]?.replaceAll(variant, '…');
}

function sideOf(tables: Tables, { text, request }: Asked): Side {
  const result: Resolution = choose(tables, request);
  if (result.status === 'ok') {
    const facts = new Map<CheckName, string>();
    for (const { check, fact } of result.proof) if (check !== 'machine' && check !== 'choice') facts.set(check, fact);
    return {
      asked: text,
      build: nameOf(result.choice),
      runs: true,
      checks: Object.fromEntries(facts),
      failedAt: null,
      reason: null,
      minorVersionCompatibility: result.choice.minorVersionCompatibility,
    };
  }
  const telling = result.rejected.find((row) => result.reason.includes(row.reason));
  return {
    asked: text,
    build: telling?.build ?? null,
    runs: false,
    checks: telling ? { [telling.check]: telling.reason } : {},
    failedAt: telling?.check ?? null,
    reason: telling?.reason ?? result.reason,
    minorVersionCompatibility: false,
  };
}

export function renderComparison({ sides, differsAt }: Comparison, style: Style): string {
  const head = sides.map((side) => [
    side.build ?? side.asked,
    side.runs ? style.green('runs here') : style.red('does not run here'),
  ]);
  const lines = [columns(head, 2, 0).trimEnd()];
  const failing = sides.filter(({ runs }) => !runs);
  if (failing.length === 2) lines.push('', 'neither runs here:');
  else if (differsAt === null) return `${lines.join('\n')}\n\nno check tells them apart\n`;
  else if (failing.some(({ failedAt }) => failedAt === null)) lines.push('', 'they part before any check:');
  else {
    const how = failing.length === 0 ? 'both run; they differ' : 'they part';
    lines.push('', `${how} at the check ${style.bold(differsAt)}:`);
  }
  for (const side of sides) {
    const passed = differsAt === null ? undefined : side.checks[differsAt];
    lines.push(`  ${side.build ?? side.asked}: ${side.reason ?? passed ?? 'passed'}`);
  }
  return `${lines.join('\n')}\n`;
}
