// A WebAssembly module in the making: one imported memory, functions, exports.

import { Bytes } from './bytes.ts';
import { Code, type ValType, valTypes } from './code.ts';

export interface MemoryImport {
  readonly module: string;
  readonly name: string;
  readonly shared: boolean;
  /** In pages of 64 KiB. */
  readonly initial?: number;
  readonly maximum?: number;
}

/** A function: parameters are locals 0 …, further locals come from `local`. */
export class Func {
  readonly index: number;
  readonly params: readonly ValType[];
  readonly results: readonly ValType[];
  readonly code = new Code();
  readonly #locals: ValType[] = [];

  constructor(index: number, params: readonly ValType[], results: readonly ValType[]) {
    this.index = index;
    this.params = params;
    this.results = results;
  }

  /** A new local variable, zero at first. */
  local(type: ValType): number {
    this.#locals.push(type);
    return this.params.length + this.#locals.length - 1;
  }

  /** New local variables of one type, by name. */
  named<N extends string>(type: ValType, ...names: readonly N[]): Readonly<Record<N, number>> {
    return Object.fromEntries(names.map((name) => [name, this.local(type)])) as Record<N, number>;
  }

  get locals(): readonly ValType[] {
    return this.#locals;
  }
}

const sections = { type: 1, import: 2, function: 3, export: 7, code: 10 } as const;

export class WasmModule {
  readonly #funcs: Func[] = [];
  readonly #exports: { readonly name: string; readonly func: Func }[] = [];
  readonly #memory: MemoryImport;

  constructor(memory: MemoryImport) {
    this.#memory = memory;
  }

  /** A function, exported if named. */
  func(params: readonly ValType[], results: readonly ValType[] = [], exported?: string): Func {
    const func = new Func(this.#funcs.length, params, results);
    this.#funcs.push(func);
    if (exported) this.#exports.push({ name: exported, func });
    return func;
  }

  bytes(): Uint8Array<ArrayBuffer> {
    const out = new Bytes(1024);
    out.raw([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);
    const types = new Map<string, { readonly index: number; readonly func: Func }>();
    const typeOf = (f: Func): number => {
      const key = `${f.params}>${f.results}`;
      const known = types.get(key) ?? { index: types.size, func: f };
      types.set(key, known);
      return known.index;
    };
    const typeIndices = this.#funcs.map(typeOf);
    section(out, sections.type, (s) => {
      s.unsigned(types.size);
      for (const { func } of types.values()) {
        s.u8(0x60);
        s.unsigned(func.params.length);
        for (const t of func.params) s.u8(valTypes[t]);
        s.unsigned(func.results.length);
        for (const t of func.results) s.u8(valTypes[t]);
      }
    });
    section(out, sections.import, (s) => {
      const m = this.#memory;
      s.unsigned(1);
      s.name(m.module);
      s.name(m.name);
      s.u8(2);
      const maximum = m.maximum ?? (m.shared ? 65536 : undefined);
      s.u8((m.shared ? 2 : 0) | (maximum === undefined ? 0 : 1));
      s.unsigned(m.initial ?? 0);
      if (maximum !== undefined) s.unsigned(maximum);
    });
    section(out, sections.function, (s) => {
      s.unsigned(typeIndices.length);
      for (const t of typeIndices) s.unsigned(t);
    });
    section(out, sections.export, (s) => {
      s.unsigned(this.#exports.length);
      for (const { name, func } of this.#exports) {
        s.name(name);
        s.u8(0);
        s.unsigned(func.index);
      }
    });
    section(out, sections.code, (s) => {
      s.unsigned(this.#funcs.length);
      for (const f of this.#funcs) {
        const body = new Bytes(f.code.length + 64);
        const groups = runsOf(f.locals);
        body.unsigned(groups.length);
        for (const [type, count] of groups) {
          body.unsigned(count);
          body.u8(valTypes[type]);
        }
        body.raw(f.code.bytes());
        body.u8(0x0b);
        s.unsigned(body.length);
        s.raw(body.view());
      }
    });
    return new Uint8Array(out.view());
  }
}

function section(out: Bytes, id: number, write: (s: Bytes) => void): void {
  const body = new Bytes();
  write(body);
  out.u8(id);
  out.unsigned(body.length);
  out.raw(body.view());
}

function runsOf(types: readonly ValType[]): [ValType, number][] {
  const groups: [ValType, number][] = [];
  for (const t of types) {
    const last = groups[groups.length - 1];
    if (last && last[0] === t) last[1]++;
    else groups.push([t, 1]);
  }
  return groups;
}
