// Signatures: what the public calls take, as tables of text. A call that does not fit is refused by name before it does anything.
//
//   full: 'shape:shape value:scalar options:{dtype:dtype}?'
//
// A parameter is `name:kind`. Kinds are names in the table of kinds, words in quotes, lists (`number[]`), options
// (`{axis:number,keepdims:flag}`, each of which can be left out unless it ends in `!`), or several of these (`number|number[]`).
// `?` behind a parameter: it can be left out; `...` before it: any number of them. ` or ` stands between the forms of a call
// that has several, `async` before the first: the call refuses by a promise. What follows ` # ` says what to write instead if
// the number of arguments is wrong.
//
// Kinds tell numbers from texts, as types do. Whether a number is in range is for the call itself to say.

import { ArgumentError, type ErrorInfo } from '../errors.ts';
import { shown } from './arguments.ts';
import { type Call, isObject, isPlain, type Kind, type Kinds, plainKinds } from './kinds.ts';

/** Something that is checked: a kind, or made of kinds. */
interface Check extends Kind {
  /** Why a value is refused, where there is more to say than what was expected. */
  readonly tell?: (value: unknown, name: string, call: Call) => Refused | undefined;
  /** As a signature shows it. */
  readonly form?: string | undefined;
}

type Refused = ErrorInfo & { readonly error?: Kind['error'] };

interface Parameter {
  readonly name: string;
  readonly check: Check;
  readonly optional: boolean;
  readonly rest: boolean;
}

interface Signature {
  readonly forms: readonly (readonly Parameter[])[];
  readonly rejects: boolean;
  readonly hint: string;
}

// Reading signatures. They are read with the first call.

function read(text: string, kinds: Kinds): Signature {
  const [call = '', hint = ''] = text.split(' # ');
  const rejects = call.startsWith('async');
  const forms = (rejects ? call.slice(6) : call).split(' or ');
  return { forms: forms.map((f) => (f === '' ? [] : f.split(' ').map((p) => parameter(p, kinds)))), rejects, hint };
}

function parameter(text: string, kinds: Kinds): Parameter {
  const rest = text.startsWith('...');
  const optional = text.endsWith('?');
  const colon = text.indexOf(':');
  const end = optional || text.endsWith('!') ? -1 : undefined;
  return { name: text.slice(rest ? 3 : 0, colon), rest, optional, check: kindOf(text.slice(colon + 1, end), kinds) };
}

function kindOf(text: string, kinds: Kinds): Check {
  const parts = parted(text, '|');
  if (parts.length > 1) return anyOf(parts.map((p) => kindOf(p, kinds)));
  if (text.endsWith('[]')) return listOfKind(kindOf(text.slice(0, -2), kinds));
  if (text.startsWith('{'))
    return whenAsked(() => optionsOf(parted(text.slice(1, -1), ',').map((p) => parameter(markOptional(p), kinds))));
  if (text.startsWith("'")) return { is: (v) => v === text.slice(1, -1), words: text };
  return kinds[text]!;
}

const markOptional = (option: string): string => (option.endsWith('!') ? option : `${option}?`);

/** Cuts a text at a letter, except within braces. */
function parted(text: string, at: string): string[] {
  if (!text.includes(at)) return text === '' ? [] : [text];
  const parts: string[] = [''];
  let depth = 0;
  for (const c of text) {
    depth += c === '{' ? 1 : c === '}' ? -1 : 0;
    if (c === at && depth === 0) parts.push('');
    else parts[parts.length - 1] += c;
  }
  return parts.filter((p) => p !== '');
}

const eitherOf = (words: readonly string[]): string =>
  [words.slice(0, -1).join(', '), words[words.length - 1]].filter(Boolean).join(' or ');

const anyOf = (checks: readonly Check[]): Check => ({
  ...checks[0],
  is: (v) => {
    for (let i = 0; i < checks.length; i++) if (checks[i]!.is(v)) return true;
    return false;
  },
  words: eitherOf(checks.map((c) => c.words)),
  habit: (v, call) => checks.map((c) => c.habit?.(v, call)).find(Boolean),
  // An object is held against what takes objects.
  tell: (v, name, call) => (isObject(v) ? checks.map((c) => c.tell?.(v, name, call)).find(Boolean) : undefined),
});

function listOfKind(item: Check): Check {
  return {
    is: (v) => Array.isArray(v) && v.every((x) => item.is(x)),
    words: `an array of ${item.many ?? item.words}`,
    tell: (v, name, call) => {
      const i = Array.isArray(v) ? v.findIndex((x) => !item.is(x)) : -1;
      return i < 0 ? undefined : refused(item, (v as unknown[])[i], `${name}[${i}]`, call);
    },
  };
}

/** Most first calls give no options: those are read with the first that are given. */
function whenAsked(make: () => Check): Check {
  let made: Check | undefined;
  const check = (): Check => {
    made ??= make();
    return made;
  };
  return {
    is: (v) => check().is(v),
    get words() {
      return check().words;
    },
    get form() {
      return check().form;
    },
    tell: (v, name, call) => check().tell?.(v, name, call),
  };
}

function optionsOf(options: readonly Parameter[]): Check {
  const known = new Map(options.map((o) => [o.name, o]));
  const names = options.map((o) => o.name).join(', ');
  // The value that cannot be used: a name that is not known, or one whose value is wrong.
  const needed = options.filter((o) => !o.optional);
  const misfit = (given: object): string | undefined => {
    for (const key in given) {
      const value = (given as Record<string, unknown>)[key];
      const option = known.get(key);
      if (!option || !(value === undefined || option.check.is(value))) return key;
    }
    if (needed.length === 0) return undefined;
    return needed.find((o) => (given as Record<string, unknown>)[o.name] === undefined)?.name;
  };
  return {
    is: (v) =>
      isObject(v) && !Array.isArray(v) && misfit(v) === undefined && (isPlain(v) || options.some((o) => o.name in v)),
    words: `an object with any of ${names}`,
    form: `{ ${names} }`,
    tell: (v, _, call) => {
      const isOptions = isObject(v) && !Array.isArray(v) && (isPlain(v) || options.some((o) => o.name in v));
      const key = isOptions ? misfit(v) : undefined;
      const { where } = call;
      if (key === undefined) {
        const fix = optionHabit(v, known, call) ?? (names ? `Give an object with any of ${names}.` : 'Leave them out.');
        return { code: 'BAD_OPTIONS', message: `${where}: the options are ${shown(v)}, not an object`, fix, where };
      }
      const option = known.get(key);
      if (option && (v as Record<string, unknown>)[key] === undefined) {
        const fix = `Give ${option.check.words}.`;
        return { code: 'BAD_OPTION', message: `${where}: the option '${key}' is missing`, fix, where };
      }
      if (option)
        return {
          code: 'BAD_OPTION',
          ...defined(refused(option.check, (v as Record<string, unknown>)[key], key, call)),
        };
      const meant = meantBy(key, known);
      const fix = meant ? `Write ${meant} instead. There are ${names}.` : `Use any of ${names}.`;
      return { code: 'UNKNOWN_OPTION', message: `${where}: there is no option '${key}'`, fix, where };
    },
  };
}

/** Without a code that is not known: another stands for it. */
const defined = ({ code, ...rest }: Refused): Refused => (code === undefined ? rest : { code, ...rest });

// What people write who come from NumPy, PyTorch or TF.js.

const synonyms: Readonly<Record<string, string>> = {
  dim: 'axis',
  dims: 'axis',
  axes: 'axis',
  correction: 'ddof',
  type: 'dtype',
};

const bare = (name: string): string => name.replaceAll('_', '').toLowerCase().replace(/s$/, '');

function meantBy(key: string, known: ReadonlyMap<string, unknown>): string | undefined {
  const synonym = synonyms[key];
  if (synonym && known.has(synonym)) return synonym;
  const names = [...known.keys()];
  const [begins, ...more] = key.length > 2 ? names.filter((name) => bare(name).startsWith(bare(key))) : [];
  return names.find((name) => bare(name) === bare(key)) ?? (more.length === 0 ? begins : undefined);
}

/** `sum(1)`, `zeros([2], 'i32')`: an option that is given without its name. */
function optionHabit(value: unknown, known: ReadonlyMap<string, Parameter>, { where, args }: Call): string | undefined {
  const name = typeof value === 'string' ? 'dtype' : 'axis';
  if (!known.get(name)?.check.is(value)) return undefined;
  const before = args.slice(0, args.indexOf(value)).map((a) => shown(a));
  return `Name it: ${where}(${[...before, `{ ${name}: ${shown(value)} }`].join(', ')}).`;
}

// Checking.

/** The first argument that does not fit a form, or -1. */
function misfitAt(form: readonly Parameter[], args: readonly unknown[]): number {
  const n = form.length;
  for (let i = 0; i < n; i++) {
    const { check, optional, rest } = form[i]!;
    if (rest) {
      for (let j = i; j < args.length; j++) if (!check.is(args[j])) return j;
      return -1;
    }
    const value = args[i];
    if (value === undefined ? !(optional || check.own) : !check.is(value)) return i;
  }
  return args.length > n ? n : -1;
}

/** Why arguments fit no form of a call; null if they fit one. */
function refusal(where: string, { forms, hint }: Signature, args: readonly unknown[]): ArgumentError | null {
  let furthest = -1;
  let nearest = forms[0]!;
  for (const form of forms) {
    const at = misfitAt(form, args);
    if (at < 0) return null;
    // Of forms that fit as far, the one with as many parameters.
    if (at > furthest || (at === furthest && form.length === args.length)) [furthest, nearest] = [at, form];
  }
  const call = { where, args };
  const usage = `Call it as ${forms.map((f) => `${where}(${f.map(shownParameter).join(', ')})`).join(' or ')}.`;
  const fix = hint ? `${usage} ${hint}` : usage;
  const last = nearest[nearest.length - 1];
  const parameter = nearest[furthest] ?? (last?.rest ? last : undefined);
  if (!parameter) {
    const most = `${nearest.length} argument${nearest.length === 1 ? '' : 's'}`;
    const message = `${where}: ${args.length} arguments were given, it takes ${nearest.length === 0 ? 'none' : `at most ${most}`}`;
    return new ArgumentError({ code: 'TOO_MANY_ARGUMENTS', message, fix, where });
  }
  const { name, check } = parameter;
  const value = args[furthest];
  if (value === undefined && !check.habit?.(value, call))
    return new ArgumentError({ code: check.code, message: `${where}: ${name} is missing`, fix, where });
  const info = refused(check, value, name, call);
  return new (info.error ?? ArgumentError)(info);
}

function shownParameter({ name, check, optional, rest }: Parameter): string {
  return `${rest ? '...' : ''}${check.form ?? name}${optional ? '?' : ''}`;
}

function refused(check: Check, value: unknown, name: string, call: Call): Refused {
  const told = check.tell?.(value, name, call);
  if (told) return told;
  const { where } = call;
  const habit = check.habit?.(value, call);
  const message = `${where}: ${name} is ${shown(value)}${habit ? `, not ${check.words}` : ''}`;
  return { code: check.code, error: check.error, message, fix: habit ?? `Give ${check.words}.`, where };
}

type Callable = (this: unknown, ...args: never[]) => unknown;

/** A function that refuses what does not fit its signature. */
/* @__NO_SIDE_EFFECTS__ */
export function checked<F extends Callable>(where: string, signature: string, run: F, kinds: Kinds = plainKinds): F {
  let known: Signature | null = null;
  // The short way, once the signature is read: how many arguments its first form takes, and the first four of them.
  let [least, most] = [0, -1];
  let first: Parameter | null = null;
  let second: Parameter | null = null;
  let third: Parameter | null = null;
  let fourth: Parameter | null = null;
  const full = (self: unknown, args: never[]): unknown => {
    if (!known) {
      known = read(signature, kinds);
      const form = known.forms[0]!;
      const plain = form.findIndex((p) => p.rest);
      most = Math.min(4, plain < 0 ? form.length : plain);
      least = form.filter((p) => !p.optional && !p.rest).length;
      [first = null, second = null, third = null, fourth = null] = form;
    }
    const bad = refusal(where, known, args);
    if (!bad) return run.apply(self, args);
    if (known.rejects) return Promise.reject(bad);
    throw bad;
  };
  return function (this: unknown, a: never, b: never, c: never, d: never): unknown {
    // biome-ignore lint/complexity/noArguments: an array of them would be made at every call of every op.
    const count = arguments.length;
    if (count <= most && count >= least) {
      if (count === 0) return run.call(this);
      if (fits(first!, a)) {
        if (count === 1) return run.call(this, a);
        if (fits(second!, b)) {
          if (count === 2) return run.call(this, a, b);
          if (fits(third!, c)) {
            if (count === 3) return run.call(this, a, b, c);
            if (fits(fourth!, d)) return run.call(this, a, b, c, d);
          }
        }
      }
    }
    // biome-ignore lint/complexity/noArguments: as above.
    return full(this, [...arguments] as never[]);
  } as unknown as F;
}

const fits = ({ check, optional }: Parameter, value: unknown): boolean =>
  value === undefined ? optional : check.is(value);

/** A function that takes no arguments. */
/* @__NO_SIDE_EFFECTS__ */
export const takesNone = <F extends Callable>(where: string, run: F): F => checked(where, '', run);

/** A check of the arguments of a constructor, to be called with all of them. */
export function argumentsOf(where: string, signature: string, kinds: Kinds = plainKinds): (...args: unknown[]) => void {
  return checked(where, signature, () => {}, kinds);
}

/** Checks of the methods of a class, its own and those it has from others, by a table: names, separated by spaces, and their signature. */
export function checkMethods(of: object, table: Readonly<Record<string, string>>, kinds: Kinds = plainKinds): void {
  for (const [names, signature] of Object.entries(table)) {
    for (const name of names.split(' ')) {
      let owner = of;
      while (!Object.hasOwn(owner, name)) owner = Object.getPrototypeOf(owner);
      const run = (owner as Record<string, Callable>)[name]!;
      Object.defineProperty(owner, name, {
        value: checked(name, signature, run, kinds),
        writable: true,
        configurable: true,
      });
    }
  }
}
