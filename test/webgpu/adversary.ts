// A WGSL compiler that does everything to float arithmetic that WGSL permits, as an interpreter: for tests of what shaders
// must not leave to chance.
//
// It runs the straight-line code of scalar elementwise shaders. Sums and products stay symbolic until something forces a
// value: bits, comparisons, calls, stores. Then there are two ways:
//   merged    terms with the same factors and all constants are added up first, constants are multiplied into sums,
//             the rest is added in the opposite order, and every step rounds to f32;
//   unrounded nothing in between is rounded at all.
// Real compilers do some of either, some of the time.

export type Freedom = 'merged' | 'unrounded';

type Int = { readonly type: 'i32' | 'u32'; readonly v: number };
type Bool = { readonly type: 'bool'; readonly v: boolean };
type Float = { readonly type: 'f32'; readonly terms: ReadonlyMap<string, Term> };
type Value = Int | Bool | Float;

/** coefficient · atom · atom …; the key names the atoms. */
interface Term {
  readonly by: number;
  readonly atoms: readonly Atom[];
}
interface Atom {
  readonly id: number;
  readonly v: number;
}

const view = new DataView(new ArrayBuffer(4));
const bitsOf = (v: number): number => {
  view.setFloat32(0, v);
  return view.getUint32(0);
};
const fromBits = (u: number): number => {
  view.setUint32(0, u);
  return view.getFloat32(0);
};

class Machine {
  readonly inputs: readonly number[];
  readonly #round: (v: number) => number;
  #atoms = 0;

  constructor(freedom: Freedom, inputs: readonly number[]) {
    this.#round = freedom === 'merged' ? Math.fround : (v) => v;
    this.inputs = inputs;
  }

  atom(v: number): Float {
    const a = { id: this.#atoms++, v };
    return { type: 'f32', terms: new Map([[`${a.id}`, { by: 1, atoms: [a] }]]) };
  }

  constant(v: number): Float {
    return { type: 'f32', terms: new Map([['', { by: v, atoms: [] }]]) };
  }

  /** The value before its last rounding, in the order this compiler chose. */
  #value(x: Float): number {
    const terms = [...x.terms.values()];
    const fixed = terms.filter((t) => t.atoms.length === 0);
    const rest = terms.filter((t) => t.atoms.length > 0).reverse();
    let sum: number | null = null;
    for (const t of [...fixed, ...rest]) {
      let product = this.#round(t.by);
      t.atoms.forEach((a, i) => {
        product = t.by === 1 && i === 0 ? a.v : this.#round(product * a.v);
      });
      sum = sum === null ? product : this.#round(sum + product);
    }
    return sum ?? 0;
  }

  force(x: Float): number {
    return Math.fround(this.#value(x));
  }

  add(a: Float, b: Float, sign: 1 | -1): Float {
    const terms = new Map(a.terms);
    for (const [key, t] of b.terms) {
      const own = terms.get(key);
      const by = (own?.by ?? 0) + sign * t.by;
      if (own && by === 0) terms.delete(key);
      else terms.set(key, { by, atoms: t.atoms });
    }
    return { type: 'f32', terms };
  }

  mul(a: Float, b: Float): Float {
    const [x, y] = [this.#factor(a, b), this.#factor(b, a)];
    const terms = new Map<string, Term>();
    for (const s of x.terms.values()) {
      for (const t of y.terms.values()) {
        const atoms = [...s.atoms, ...t.atoms].sort((p, q) => p.id - q.id);
        terms.set(atoms.map((f) => f.id).join(), { by: s.by * t.by, atoms });
      }
    }
    return { type: 'f32', terms };
  }

  /** A sum stays one only beside a constant: that is distributed. */
  #factor(x: Float, other: Float): Float {
    const constant = other.terms.size === 1 && [...other.terms.keys()][0] === '';
    return x.terms.size <= 1 || constant ? x : this.atom(this.#value(x));
  }
}

type Node = (m: Machine, vars: Map<string, Value>) => Value;

const f = (m: Machine, v: Value): number => {
  if (v.type !== 'f32') throw new Error(`${v.type} where a float is needed`);
  return m.force(v);
};
const n = (v: Value): number => {
  if (v.type !== 'i32' && v.type !== 'u32') throw new Error(`${v.type} where an integer is needed`);
  return v.v;
};
const int = (type: 'i32' | 'u32', v: number): Int => ({ type, v: type === 'i32' ? v | 0 : v >>> 0 });
const bool = (v: boolean): Bool => ({ type: 'bool', v });
const clampInt = (type: 'i32' | 'u32', v: number): Int => {
  const [low, high] = type === 'i32' ? [-(2 ** 31), 2 ** 31 - 1] : [0, 2 ** 32 - 1];
  return int(type, Number.isNaN(v) ? 0 : Math.max(low, Math.min(high, Math.trunc(v))));
};
const roundEven = (v: number): number => {
  const r = Math.round(v);
  return Math.abs(v % 1) === 0.5 && r % 2 !== 0 ? r - 1 : r;
};

type Call = (m: Machine, ...args: Value[]) => Value;
const ofFloat =
  (op: (v: number) => number): Call =>
  (m, x) =>
    m.atom(Math.fround(op(f(m, x!))));
const extreme =
  (pick: (a: number, b: number) => number): Call =>
  (m, a, b) =>
    a!.type === 'f32' ? m.atom(pick(f(m, a!), f(m, b!))) : int(a!.type as 'i32', pick(n(a!), n(b!)));

/** Helpers by their meaning: their own texts leave nothing to reassociate. */
const calls: Readonly<Record<string, Call>> = {
  is_nan: (m, x) => bool(Number.isNaN(f(m, x!))),
  max_f32: extreme(Math.max),
  min_f32: extreme(Math.min),
  at_least_f32: extreme(Math.max),
  at_most_f32: extreme(Math.min),
  max: extreme(Math.max),
  min: extreme(Math.min),
  abs: (m, x) => (x!.type === 'f32' ? m.atom(Math.abs(f(m, x!))) : int(x!.type as 'i32', Math.abs(n(x!)))),
  floor: ofFloat(Math.floor),
  ceil: ofFloat(Math.ceil),
  trunc: ofFloat(Math.trunc),
  round: ofFloat(roundEven),
  sqrt: ofFloat(Math.sqrt),
  select: (_, a, b, c) => ((c as Bool).v ? b! : a!),
  f32: (m, x) => m.atom(Math.fround(n(x!))),
  u32_to_f32: (m, x) => m.atom(Math.fround(n(x!))),
  i32: (_, x) => int('i32', n(x!)),
  u32: (_, x) => int('u32', n(x!)),
  f32_to_i32: (m, x) => clampInt('i32', f(m, x!)),
  f32_to_u32: (m, x) => clampInt('u32', f(m, x!)),
  shl_i32: (_, a, b) => int('i32', n(b!) >>> 0 > 31 ? 0 : n(a!) << n(b!)),
  shr_i32: (_, a, b) => int('i32', n(a!) >> Math.min(n(b!) >>> 0, 31)),
  shl_u32: (_, a, b) => int('u32', n(b!) > 31 ? 0 : n(a!) << n(b!)),
  shr_u32: (_, a, b) => int('u32', n(b!) > 31 ? 0 : n(a!) >>> n(b!)),
  'bitcast<f32>': (m, x) => (x!.type === 'f32' ? x! : m.atom(fromBits(n(x!) >>> 0))),
  'bitcast<i32>': (m, x) => int('i32', x!.type === 'f32' ? bitsOf(f(m, x!)) : n(x!)),
  'bitcast<u32>': (m, x) => int('u32', x!.type === 'f32' ? bitsOf(f(m, x!)) : n(x!)),
};

const compares: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  '==': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
};
const integers: Readonly<Record<string, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': Math.imul,
  '/': (a, b) => Math.trunc(a / b),
  '%': (a, b) => a % b,
  '&': (a, b) => a & b,
  '|': (a, b) => a | b,
  '^': (a, b) => a ^ b,
  '<<': (a, b) => a << b,
  '>>': (a, b) => a >> b,
};

function infix(m: Machine, op: string, a: Value, b: Value): Value {
  if (a.type === 'f32' && b.type === 'f32') {
    if (op === '+') return m.add(a, b, 1);
    if (op === '-') return m.add(a, b, -1);
    if (op === '*') return m.mul(a, b);
    if (op === '/') return m.atom(Math.fround(f(m, a) / f(m, b)));
    return bool(compares[op]!(f(m, a), f(m, b)));
  }
  if (a.type === 'bool' && b.type === 'bool')
    return bool({ '&': a.v && b.v, '|': a.v || b.v, '==': a.v === b.v, '!=': a.v !== b.v }[op]!);
  if (a.type !== b.type) throw new Error(`${a.type} ${op} ${b.type}`);
  if (compares[op]) return bool(compares[op](n(a), n(b)));
  return int(a.type as 'i32', integers[op]!(n(a), n(b)));
}

function prefix(m: Machine, op: string, x: Value): Value {
  if (x.type === 'bool') return bool(!x.v);
  if (x.type === 'f32') return m.mul(m.constant(-1), x);
  return int(x.type, op === '~' ? ~x.v : -x.v);
}

const tokens = /bitcast<\w+>|0x[0-9a-f]+u|\d[\d.]*(?:e[-+]?\d+)?[fiu]?|[a-z_]\w*|<<|>>|<=|>=|==|!=|[-+*/%&|^<>!~(),]/gy;
const strength: Readonly<Record<string, number>> = {
  ...{ '|': 1, '^': 2, '&': 3, '==': 4, '!=': 4, '<': 5, '<=': 5, '>': 5, '>=': 5, '<<': 6, '>>': 6 },
  ...{ '+': 7, '-': 7, '*': 8, '/': 8, '%': 8 },
};

/** One expression, by precedence climbing. */
function parse(text: string): Node {
  const list = text.replaceAll(' ', '').match(new RegExp(tokens.source, 'g')) ?? [];
  if (list.join('') !== text.replaceAll(' ', '')) throw new Error(`the interpreter cannot read ${text}`);
  let at = 0;
  const climb = (least: number): Node => {
    let left = unary();
    for (let op = list[at]; op !== undefined && (strength[op] ?? 0) >= least; op = list[at]) {
      at++;
      const [own, a, b] = [op, left, climb(strength[op]! + 1)];
      left = (m, vars) => infix(m, own, a(m, vars), b(m, vars));
    }
    return left;
  };
  const unary = (): Node => {
    const op = list[at]!;
    if (op !== '-' && op !== '!' && op !== '~') return primary();
    at++;
    const x = unary();
    return (m, vars) => prefix(m, op, x(m, vars));
  };
  const primary = (): Node => {
    const t = list[at++]!;
    if (t === '(') {
      const inner = climb(1);
      at++;
      return inner;
    }
    if (/^\d/.test(t)) {
      const value = Number(t.replace(/(?<!0x[0-9a-f]*)[fiu]$|u$/, ''));
      if (t.endsWith('f') && !t.startsWith('0x')) return (m) => m.constant(Math.fround(value));
      return () => int(t.endsWith('i') ? 'i32' : 'u32', value);
    }
    if (t === 'true' || t === 'false') return () => bool(t === 'true');
    if (list[at] !== '(') {
      return (_, vars) => {
        const v = vars.get(t);
        if (!v) throw new Error(`unknown name ${t}`);
        return v;
      };
    }
    at++;
    const args: Node[] = [];
    while (list[at] !== ')') {
      args.push(climb(1));
      if (list[at] === ',') at++;
    }
    at++;
    const slot = /^in(\d+)_at$/.exec(t)?.[1];
    if (slot !== undefined) return (m) => m.atom(m.inputs[Number(slot)]!);
    const call = calls[t];
    if (!call) throw new Error(`unknown function ${t}`);
    return (m, vars) => call(m, ...args.map((a) => a(m, vars)));
  };
  return climb(1);
}

/** The shader of a scalar elementwise kernel with one f32 output, as a function of its inputs. */
export function compileFreely(source: string, freedom: Freedom): (...inputs: number[]) => number {
  const body = source.slice(source.indexOf('fn main('));
  const steps = [...body.matchAll(/^let (v\d+) = (.*);$/gm)].map(([, name, text]) => [name!, parse(text!)] as const);
  const stored = /^out0\[[^=]*\] = (.*);$/m.exec(body)?.[1];
  if (!stored) throw new Error('the shader stores nothing');
  const result = parse(stored);
  return (...inputs) => {
    const m = new Machine(freedom, inputs);
    const vars = new Map<string, Value>([
      ['veil', int('u32', 0)],
      ['p0', int('i32', 0)],
    ]);
    for (const [name, node] of steps) vars.set(name, node(m, vars));
    return f(m, result(m, vars));
  };
}
