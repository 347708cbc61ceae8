// A readable form of a module's bytes, for explain and error messages. Made from the bytes themselves, so that it shows
// what runs, and costs nothing until somebody looks.

import { Reader } from './bytes.ts';
import { valTypes } from './code.ts';
import { opNames } from './ops.ts';

const typeNames = new Map(Object.entries(valTypes).map(([name, code]) => [code, name]));
const exportKinds = ['func', 'table', 'memory', 'global'];

/** One instruction: its name and its immediates as text. */
export interface Instruction {
  readonly name: string;
  readonly immediates: readonly string[];
}

export function moduleText(bytes: Uint8Array): string {
  const r = new Reader(bytes, 8);
  const lines: string[] = ['(module'];
  const types: string[] = [];
  const funcTypes: number[] = [];
  const exported = new Map<number, string>();
  while (!r.done) {
    const id = r.u8();
    const size = r.unsigned();
    const s = new Reader(bytes, r.at, r.at + size);
    r.at += size;
    if (id === 1) repeat(s, () => types.push(functionType(s)));
    else if (id === 2) repeat(s, () => lines.push(`  (import ${memoryImport(s)})`));
    else if (id === 3) repeat(s, () => funcTypes.push(s.unsigned()));
    else if (id === 7) {
      repeat(s, () => {
        const name = s.name();
        const kind = exportKinds[s.u8()];
        const index = s.unsigned();
        if (kind === 'func') exported.set(index, name);
      });
    } else if (id === 10) {
      let index = 0;
      repeat(s, () => {
        const length = s.unsigned();
        const body = new Reader(bytes, s.at, s.at + length);
        s.at += length;
        const name = exported.get(index);
        lines.push(`  (func ${name ? `$${name} ` : ''}${types[funcTypes[index++]!]}`);
        const locals: string[] = [];
        repeat(body, () => locals.push(`${body.unsigned()}×${typeNames.get(body.u8())}`));
        if (locals.length > 0) lines.push(`    (local ${locals.join(' ')})`);
        // One by one: a function may have more instructions than a call takes arguments.
        for (const line of indent(instructions(body))) lines.push(line);
        lines.push('  )');
      });
    }
  }
  lines.push(')');
  return lines.join('\n');
}

/** The instructions up to the reader's end. */
export function instructions(r: Reader): Instruction[] {
  const names = (known ??= opNames());
  const list: Instruction[] = [];
  while (!r.done) {
    const first = r.u8();
    const code = first >= 0xfc && first <= 0xfe ? first * 0x10000 + r.unsigned() : first;
    const op = names.get(code);
    if (!op) throw new RangeError(`wasm: unknown instruction 0x${code.toString(16)} at byte ${r.at}`);
    list.push({ name: op.name, immediates: readImmediates(r, op.name, op.kind) });
  }
  return list;
}

let known: ReturnType<typeof opNames> | undefined;

function readImmediates(r: Reader, name: string, kind: string): string[] {
  switch (kind) {
    case 'memory':
    case 'memoryLane': {
      const align = r.unsigned();
      const offset = r.unsigned();
      const out = offset ? [`offset=${offset}`, `align=${1 << align}`] : [`align=${1 << align}`];
      if (kind === 'memoryLane') out.push(`${r.u8()}`);
      return out;
    }
    case 'lane':
      return [`${r.u8()}`];
    case 'number':
      return [`${r.unsigned()}`];
    case 'block': {
      const type = r.u8();
      return type === 0x40 ? [] : [`(result ${typeNames.get(type)})`];
    }
    case 'special':
      return readSpecial(r, name);
    default:
      return [];
  }
}

function readSpecial(r: Reader, name: string): string[] {
  switch (name) {
    case 'i32.const':
    case 'i64.const':
      return [`${r.signed64()}`];
    case 'f32.const':
      return [number(r.f32())];
    case 'f64.const':
      return [number(r.f64())];
    case 'v128.const':
      return ['i8x16', ...[...r.raw(16)].map((b) => `${b}`)];
    case 'i8x16.shuffle':
      return [...r.raw(16)].map((b) => `${b}`);
    case 'memory.copy':
      return [`${r.u8()}`, `${r.u8()}`];
    case 'br_table': {
      const labels: string[] = [];
      repeat(r, () => labels.push(`${r.unsigned()}`));
      return [...labels, `${r.unsigned()}`];
    }
    default:
      return [];
  }
}

const number = (v: number): string => (Object.is(v, -0) ? '-0' : Number.isNaN(v) ? 'nan' : `${v}`);

function repeat(r: Reader, each: () => void): void {
  for (let n = r.unsigned(); n > 0; n--) each();
}

function functionType(s: Reader): string {
  s.u8();
  const list = (): string => {
    const names: string[] = [];
    repeat(s, () => names.push(typeNames.get(s.u8())!));
    return names.join(' ');
  };
  const params = list();
  const results = list();
  return `(param ${params})${results ? ` (result ${results})` : ''}`;
}

function memoryImport(s: Reader): string {
  const from = `"${s.name()}" "${s.name()}"`;
  s.u8();
  const flags = s.u8();
  const limits = [`${s.unsigned()}`];
  if (flags & 1) limits.push(`${s.unsigned()}`);
  if (flags & 2) limits.push('shared');
  return `${from} (memory ${limits.join(' ')})`;
}

// A plain instruction whose operands are simple stays on its own line: the stack order is what runs.
function indent(list: readonly Instruction[]): string[] {
  let depth = 2;
  const lines: string[] = [];
  for (const [i, { name, immediates }] of list.entries()) {
    if (name === 'end' || name === 'else') depth--;
    if (i < list.length - 1) lines.push('  '.repeat(depth) + [name, ...immediates].join(' '));
    if (name === 'else' || name === 'block' || name === 'loop' || name === 'if') depth++;
  }
  return lines;
}
