// Functions that are measured whenever they are called: wrapped by hand, or by a decorator.

import { ArgumentError, type Maybe } from '../../index.ts';
import type { ProfileSpan } from './span.ts';
import type { OpenSpans } from './spans.ts';

export interface WrapOptions {
  /** What calls are called; default: the name of the function. */
  readonly operation?: string | undefined;
  readonly device?: string | undefined;
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
}

/** What wrapping needs of a profiler. */
export interface Measuring {
  readonly enabled: boolean;
  readonly spans: OpenSpans;
  begin(operation: string, device: string | null, meta: Readonly<Record<string, unknown>> | null): ProfileSpan;
}

// biome-ignore lint/suspicious/noExplicitAny: a function of any arguments; nothing but a call is made of it
export type AnyFunction = (...args: any[]) => unknown;

/** Runs a body inside a span and ends it with the body: at once, or with its promise. What fails is marked and thrown on. */
export function measure<T>(spans: OpenSpans, span: ProfileSpan, body: () => T): T {
  return following(
    () => spans.run(span, body),
    () => spans.end(span, false),
    () => spans.end(span, true),
  );
}

/** Tells how a body ended, at once or with its promise, and gives or throws what the body does. */
function following<T>(body: () => T, succeeded: (value: Awaited<T>) => void, failed: () => void): T {
  const refused = (error: unknown): never => {
    failed();
    throw error;
  };
  let result: T;
  try {
    result = body();
  } catch (error) {
    return refused(error);
  }
  const given = (value: Awaited<T>): Awaited<T> => {
    succeeded(value);
    return value;
  };
  return result instanceof Promise ? (result.then(given, refused) as T) : given(result as Awaited<T>);
}

type Kind = 'plain' | 'generator' | 'async-generator' | 'class';

function kindOf(fn: AnyFunction): Kind {
  const tag = Object.prototype.toString.call(fn);
  if (tag === '[object GeneratorFunction]') return 'generator';
  if (tag === '[object AsyncGeneratorFunction]') return 'async-generator';
  return /^class\b/.test(Function.prototype.toString.call(fn)) ? 'class' : 'plain';
}

/** The same type, `this`, length and name as the function itself. `nameOf` may find the name at the first call. */
export function wrap<F extends AnyFunction>(
  m: Measuring,
  fn: F,
  nameOf: (self: unknown) => string,
  { device = undefined, meta = undefined }: WrapOptions = {},
): F {
  const kind = kindOf(fn);
  const inputs = new Identities();
  const begin = (self: unknown, args: readonly unknown[]): ProfileSpan => {
    const span = m.begin(nameOf(self), device ?? null, meta ?? null);
    span.inputs = inputs.of(args);
    return span;
  };
  if (kind === 'class') {
    return new Proxy(fn, {
      construct: (target, args, newTarget) => {
        const make = (): object => Reflect.construct(target, args, newTarget) as object;
        return m.enabled ? measure(m.spans, begin(undefined, args), make) : make();
      },
    });
  }
  const calls: Readonly<Record<Exclude<Kind, 'class'>, (self: unknown, args: unknown[]) => unknown>> = {
    plain: (self, args) => measure(m.spans, begin(self, args), () => Reflect.apply(fn, self, args)),
    generator: (self, args) => steps(m, begin, self, args, Reflect.apply(fn, self, args) as Generator),
    'async-generator': (self, args) => steps(m, begin, self, args, Reflect.apply(fn, self, args) as AsyncGenerator),
  };
  const call = calls[kind];
  const wrapped = function (this: unknown, ...args: unknown[]): unknown {
    return m.enabled ? call(this, args) : Reflect.apply(fn, this, args);
  };
  for (const key of ['name', 'length'] as const) {
    Object.defineProperty(wrapped, key, { value: fn[key], configurable: true });
  }
  return wrapped as F;
}

/** Steps of a generator that are noted one by one; the rest are added to the last. */
const mostSteps = 1000;

function addStep(span: ProfileSpan, start: number, end: number): void {
  span.steps ??= [];
  if (span.steps.length < 2 * mostSteps) span.steps.push(start, end);
  else span.steps[span.steps.length - 1] = span.steps.at(-1)! + end - start;
}

type Begin = (self: unknown, args: readonly unknown[]) => ProfileSpan;
type StepName = 'next' | 'return' | 'throw';

/**
 * A generator that is one entry for its whole life, whose time is that of its steps: from the call of each until its result is
 * there, at once or with its promise.
 */
function steps<G extends Generator | AsyncGenerator>(
  m: Measuring,
  begin: Begin,
  self: unknown,
  args: unknown[],
  inner: G,
): G {
  let span: ProfileSpan | null = null;
  const step = (kind: StepName, value: unknown): unknown => {
    const open = (span ??= begin(self, args));
    const start = performance.now();
    const over = (failed: boolean, done: boolean): void => {
      addStep(open, start, performance.now());
      if (done) m.spans.end(open, failed);
    };
    return following(
      () => m.spans.run(open, () => inner[kind](value as never) as Maybe<IteratorResult<unknown>>),
      (result) => over(false, result.done === true),
      () => over(true, true),
    );
  };
  return stepping(inner, {
    next: (value: unknown) => step('next', value),
    return: (value: unknown) => step('return', value),
    throw: (error: unknown) => step('throw', error),
  });
}

/** A generator with other steps: everything else, `Symbol.iterator` included, is its own. */
function stepping<G extends object>(inner: G, own: object): G {
  return Object.assign(Object.create(inner) as G, own);
}

/** Which arguments a call had: equal texts are equal values or the very same objects. */
class Identities {
  readonly #numbers = new WeakMap<object, number>();
  #next = 0;

  of(args: readonly unknown[]): string | null {
    if (args.length === 0 || args.length > 8) return null;
    let key = '';
    for (const arg of args) {
      if ((typeof arg === 'object' && arg !== null) || typeof arg === 'function') key += `#${this.#number(arg)},`;
      else if (typeof arg === 'string' && arg.length > 100) return null;
      else key += `${typeof arg === 'string' ? JSON.stringify(arg) : String(arg)},`;
    }
    return key;
  }

  #number(value: object): number {
    let n = this.#numbers.get(value);
    if (n === undefined) {
      n = ++this.#next;
      this.#numbers.set(value, n);
    }
    return n;
  }
}

export type MethodContext = ClassMethodDecoratorContext | ClassGetterDecoratorContext;

/** What `profileFunction` returns: a decorator of methods and getters, and a function that wraps functions. */
// biome-ignore lint/suspicious/noExplicitAny: the type of the decorated method must come through unchanged
export type ProfileDecorator = <F extends (this: any, ...args: any[]) => unknown>(
  value: F,
  context?: MethodContext,
) => F;

export function decorator(m: Measuring, operation: string | undefined, device: string | undefined): ProfileDecorator {
  return (value, context) => {
    if (context === undefined) {
      checkFunction(value, 'profileFunction');
      const name = operation ?? value.name;
      return wrap(m, value, () => name, { device });
    }
    if (context.kind !== 'method' && context.kind !== 'getter') throw notDecorable((context as { kind: string }).kind);
    let name = operation;
    const nameOf = (self: unknown): string => (name ??= `${ownerOf(self, context, wrapped)}.${String(context.name)}`);
    const wrapped: typeof value = wrap(m, value, nameOf, { device });
    return wrapped;
  };
}

/** The name of the class that declares a method: that of `this` may be a subclass. */
function ownerOf(
  self: unknown,
  { name, static: isStatic, private: isPrivate }: MethodContext,
  wrapped: unknown,
): string {
  if (isStatic) return classWith(self, name, wrapped)?.name || 'class';
  const found = isPrivate ? null : classWith(Object.getPrototypeOf(self), name, wrapped);
  const owner = found ?? Object.getPrototypeOf(self);
  return (owner as { constructor?: { name?: string } } | null)?.constructor?.name || 'class';
}

function classWith(start: unknown, name: string | symbol, wrapped: unknown): { name?: string } | null {
  for (let at = start as object | null; at; at = Object.getPrototypeOf(at) as object | null) {
    const own = Object.getOwnPropertyDescriptor(at, name);
    if (own && (own.value === wrapped || own.get === wrapped)) return at as { name?: string };
  }
  return null;
}

export function checkFunction(fn: unknown, where: string): void {
  if (typeof fn === 'function') return;
  throw new ArgumentError({
    code: 'NOT_A_FUNCTION',
    message: `${where}: ${fn === null ? 'null' : `a ${typeof fn}`} is no function`,
    fix: 'Give the function that is to be measured.',
    where,
  });
}

const notDecorable = (kind: string): ArgumentError =>
  new ArgumentError({
    code: 'BAD_DECORATION',
    message: `profileFunction: a ${kind} cannot be measured`,
    fix: 'Decorate methods and getters, static ones too. For a class, decorate its methods or use wrap.',
    where: 'profileFunction',
  });
