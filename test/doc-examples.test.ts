// Runs the examples of the documentation: every `@example` in a doc comment of src/, every ```ts block of README.md and docs/.
//
// Examples see `rt` (a CPU runtime) and what the package exports. A line that ends in `// → value` is checked: the value of
// the expression before it (a promise is awaited, a tensor read) must be that value. A block marked ```ts no-run is only
// checked to be valid syntax, and counted.

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as tfjsCpu from '@tensorflow/tfjs-backend-cpu';
import * as tfjsCore from '@tensorflow/tfjs-core';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as batch from '../src/batch/index.ts';
import * as compute from '../src/compute/index.ts';
import * as devices from '../src/devices.ts';
import * as field from '../src/field/index.ts';
import * as fieldWire from '../src/field/wire/index.ts';
import * as forge from '../src/forge/index.ts';
import * as gpuforge from '../src/index.ts';
import * as io from '../src/io/index.ts';
import * as lattice from '../src/lattice/index.ts';
import * as profile from '../src/profile/index.ts';
import * as studio from '../src/studio/index.ts';
import { TensorCore } from '../src/tensor/core.ts';
import * as tfjs from '../src/tfjs/index.ts';
import { openRuntime, targets } from './cases/devices.ts';

interface Example {
  readonly at: string;
  readonly code: string;
  readonly run: boolean;
}

const root = fileURLToPath(new URL('..', import.meta.url));

function filesUnder(folder: string, ending: string): string[] {
  if (!existsSync(root + folder)) return [];
  return readdirSync(root + folder, { recursive: true, encoding: 'utf8' })
    .map((f) => `${folder}/${f}`)
    .filter((f) => f.endsWith(ending) && !f.endsWith(`.test${ending}`) && !f.includes('node_modules'))
    .sort();
}

const lineOf = (text: string, index: number): number => text.slice(0, index).split('\n').length;

/** The examples of doc comments: the rest of the line, or the fenced block below. */
function fromComments(file: string): Example[] {
  const text = readFileSync(root + file, 'utf8');
  return [...text.matchAll(/\/\*\*[\s\S]*?\*\//g)].flatMap((comment) => {
    const body = comment[0].slice(3, -2).replace(/^[ \t]*\*[ ]?/gm, '');
    return [...body.matchAll(/@example[ \t]*([\s\S]*?)(?=\n[ \t]*@\w|$)/g)].map((m) => {
      const at = `${file}:${lineOf(text, comment.index) + lineOf(comment[0], comment[0].indexOf('@example')) - 1}`;
      const fenced = /```ts( no-run)?\n([\s\S]*?)```/.exec(m[1]!);
      return { at, code: (fenced?.[2] ?? m[1]!).trim(), run: !fenced?.[1] };
    });
  });
}

function fromMarkdown(file: string): Example[] {
  const text = readFileSync(root + file, 'utf8');
  return [...text.matchAll(/^```ts( no-run)?\n([\s\S]*?)^```/gm)].map((m) => ({
    at: `${file}:${lineOf(text, m.index)}`,
    code: m[2]!.trim(),
    run: !m[1],
  }));
}

const markdown = ['README.md', ...filesUnder('docs', '.md')].filter((f) => existsSync(root + f));
const examples = [...filesUnder('src', '.ts').flatMap(fromComments), ...markdown.flatMap(fromMarkdown)];

const arrow = /^(.*?);?\s*\/\/ → (.+)$/;

/** Turns lines with an arrow into checks, imports of the package into what the test provides. */
function instrument(code: string): string {
  const lines = code.split('\n').map((line) => {
    const found = arrow.exec(line);
    if (!found) return line;
    const [, before, value] = found as unknown as [string, string, string];
    const expected = JSON.stringify(value.trim());
    const declared = /^\s*(?:const|let)\s+(\w+)\s*=/.exec(before);
    if (declared) return `${before}; await __check(${declared[1]}, ${expected});`;
    const printed = /^\s*console\.log\((.*)\)$/.exec(before);
    return `await __check(${printed ? printed[1] : before}, ${expected});`;
  });
  return lines
    .join('\n')
    .replace(
      /import\s*\{([^}]*)\}\s*from\s*'(gpuforge[\w/]*)';?/g,
      (_, names: string, from: string) => `const {${names.replace(/\btype\s+\w+,?/g, '')}} = __from('${from}');`,
    )
    .replace(
      /import \* as (\w+) from '(@tensorflow\/[\w-]+)';?/g,
      (_, name: string, from: string) => `const ${name} = __from('${from}');`,
    );
}

type Body = (...args: readonly unknown[]) => Promise<void>;
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor as new (...args: readonly string[]) => Body;

function compile(code: string): Body {
  const wrapped = `export {}; async function example(){ ${instrument(code)}\n}`;
  const { outputText, diagnostics } = ts.transpileModule(wrapped, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, removeComments: true },
    reportDiagnostics: true,
  });
  const syntax = diagnostics?.map((d) => ts.flattenDiagnosticMessageText(d.messageText, '\n')) ?? [];
  if (syntax.length > 0) throw new SyntaxError(syntax.join('; '));
  const body = `${outputText.replace(/^export \{\};?/m, '')}\nawait example();`;
  return new AsyncFunction('rt', '__from', '__check', 'console', ...exported, body);
}

/** What an example may import. */
const entries: Readonly<Record<string, object>> = {
  gpuforge,
  'gpuforge/batch': batch,
  'gpuforge/compute': compute,
  'gpuforge/devices': devices,
  'gpuforge/field': field,
  'gpuforge/field/wire': fieldWire,
  'gpuforge/forge': forge,
  'gpuforge/io': io,
  'gpuforge/lattice': lattice,
  'gpuforge/profile': profile,
  'gpuforge/studio': studio,
  'gpuforge/tfjs': tfjs,
  '@tensorflow/tfjs-backend-cpu': tfjsCpu,
  '@tensorflow/tfjs-core': tfjsCore,
};

function from(name: string): object {
  const found = entries[name];
  if (!found) throw new Error(`an example imports ${name}, which there is not`);
  return found;
}

// What an example declares itself shadows these, because its code is in a function of its own.
const library: Readonly<Record<string, unknown>> = {
  ...tfjs,
  ...studio,
  ...profile,
  ...field,
  ...lattice,
  ...devices,
  ...compute,
  ...gpuforge,
  ...io,
  ...forge,
};
const exported = Object.keys(library);

/** A result as plain data: tensors and promises are read, typed arrays become arrays. */
async function plain(value: unknown): Promise<unknown> {
  const v = await value;
  if (v instanceof TensorCore) return v.array();
  if (ArrayBuffer.isView(v)) return Array.from(v as unknown as ArrayLike<unknown>);
  if (Array.isArray(v)) return Promise.all(v.map(plain));
  if (v && typeof v === 'object' && Object.getPrototypeOf(v) === Object.prototype) {
    const entries = await Promise.all(Object.entries(v).map(async ([k, x]) => [k, await plain(x)] as const));
    return Object.fromEntries(entries);
  }
  return v;
}

/** A value as documentation writes it; a number may be cut off with …, a text needs no quotes. */
function parseExpected(text: string): unknown {
  try {
    const numbers = text.replace(
      /(-?\d+\.\d+)…/g,
      (_, n: string) => `{ about: ${n}, within: ${2 * 10 ** -n.split('.')[1]!.length} }`,
    );
    return new Function(`return (${numbers});`)();
  } catch {
    return text;
  }
}

function expectSame(got: unknown, want: unknown): void {
  if (want && typeof want === 'object' && 'about' in want && 'within' in want) {
    expect(Math.abs((got as number) - (want.about as number))).toBeLessThan(want.within as number);
  } else if (Array.isArray(want)) {
    expect(Array.isArray(got) ? got.length : got).toBe(want.length);
    want.forEach((w, i) => {
      expectSame((got as unknown[])[i], w);
    });
  } else if (typeof want === 'number' && typeof got === 'number' && Number.isFinite(want)) {
    // Documentation rounds to f32.
    expect(Math.abs(got - want)).toBeLessThanOrEqual(1e-6 * Math.max(1, Math.abs(want)));
  } else if (typeof want === 'string' && typeof got !== 'string') {
    expect(`${got}`).toBe(want);
  } else {
    expect(got).toEqual(want);
  }
}

it('blocks of plain JavaScript are files that the oldest Node reads', () => {
  // A syntax that Node 20 has not is fine in TypeScript, which is compiled, and a SyntaxError here.
  const pages = markdown.filter((f) => !f.startsWith('docs/api/'));
  const blocks = pages.flatMap((f) => [...readFileSync(root + f, 'utf8').matchAll(/^```js\n([\s\S]*?)^```/gm)]);
  expect(blocks.length).toBeGreaterThan(0);
  for (const [, code] of blocks) {
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--check'], {
      input: code!,
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(code).not.toMatch(/^\s*(await )?using /m);
  }
});

describe('examples of the documentation', () => {
  let rt: gpuforge.Runtime;
  beforeAll(async () => {
    rt = await openRuntime(targets.find((t) => t.name === 'cpu')!);
  });
  afterAll(() => rt.close());

  it('there are many', () => {
    expect(examples.length).toBeGreaterThan(100);
  });

  it.each(examples)('$at', async ({ code, run }) => {
    const body = compile(code);
    if (!run) return;
    let checks = 0;
    const check = async (value: unknown, expected: string): Promise<void> => {
      checks++;
      expectSame(await plain(value), parseExpected(expected));
    };
    const silent = { ...console, log: () => {}, table: () => {} };
    await body(rt, from, check, silent, ...exported.map((k) => library[k]));
    expect(checks).toBe(code.split('\n').filter((l) => arrow.test(l)).length);
  });
});
