// The public functions as the compiler sees them, and wrong calls of them.
//
// Calls are made at random: each argument is one that fits its parameter, then something is made wrong: an argument of another
// kind, an argument too many or too few, an unknown option, an option of another kind. The compiler tells which of them it
// refuses; those are the wrong calls. So the generator knows of every call that it is wrong, without the tables that the library
// checks by, and a new public function is called without anybody adding it here.

import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { isInternal, isPublic, type Reach, reach } from './reach.ts';

/** Something whose methods are called, or a function or class itself, as an expression in the generated file. */
export interface Target {
  readonly part: string;
  readonly expression: string;
  /** Whether its methods are called, or it itself. */
  readonly methods: boolean;
}

/** A call, as expressions. */
export interface Call {
  readonly part: string;
  readonly target: string;
  /** A class is made an instance of. */
  readonly made: boolean;
  /** Null: the target itself is called. */
  readonly method: string | null;
  /** Expressions of the arguments. */
  readonly args: readonly string[];
}

/** A call that the compiler refuses. */
export interface WrongCall extends Call {
  /** What the compiler says. */
  readonly why: string;
  /** An option that there is, with a value that does not fit: it must not be called unknown. */
  readonly option?: string | undefined;
}

export interface SurfaceOptions {
  /** Declarations of what the expressions name. */
  readonly prelude: string;
  readonly targets: readonly Target[];
  /** Names of modules in the prelude: all entries of the package. */
  readonly modules: readonly string[];
  /** Expressions of values, of all kinds. */
  readonly values: readonly string[];
  /** More of them, which are given only where they fit. */
  readonly fitting: readonly string[];
  /** Methods that are not called, by name or as `target.method`. */
  readonly leftOut: readonly string[];
  readonly count: number;
  /** Make calls whose arguments fit, each option among them, instead of wrong ones. */
  readonly right?: boolean;
  /** A number below a limit. */
  readonly roll: (sides: number) => number;
}

const folder = fileURLToPath(new URL('.', import.meta.url));
const file = join(folder, 'generated.ts');

function compilerOptions(): ts.CompilerOptions {
  const path = ts.findConfigFile(folder, ts.sys.fileExists)!;
  const { config } = ts.readConfigFile(path, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, dirname(path));
  // An option that is undefined is one that was left out.
  return { ...options, exactOptionalPropertyTypes: false, noEmit: true, skipLibCheck: true };
}

/** A program of the given text beside this file; files that were read before are not read again. */
function programOf(text: string, before?: ts.Program): ts.Program {
  const options = before?.getCompilerOptions() ?? compilerOptions();
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (name) => name === file || fileExists(name);
  host.getSourceFile = (name, target, ...more) => {
    if (name === file) return ts.createSourceFile(name, text, target);
    return before?.getSourceFile(name) ?? getSourceFile(name, target, ...more);
  };
  return ts.createProgram([file], options, host, before);
}

/** One form of a function: the expressions that fit each parameter. */
interface Form {
  readonly target: Target;
  readonly method: string | null;
  readonly made: boolean;
  readonly parameters: readonly Parameter[];
}

interface Parameter {
  readonly optional: boolean;
  readonly fitting: readonly string[];
  /** Names of options, if it takes any, with values that fit. */
  readonly options: readonly { readonly name: string; readonly fitting: readonly string[] }[];
}

export interface Surface {
  readonly calls: readonly WrongCall[];
  /** Calls of the same functions that the compiler accepts. */
  readonly accepted: readonly Call[];
  /** Functions and methods that were called. */
  readonly functions: readonly string[];
  /** What there is to be called. */
  readonly reach: Reach;
  /** The types of targets, and what they are derived from. */
  readonly covered: ReadonlySet<ts.Symbol>;
}

export function wrongCalls(options: SurfaceOptions): Surface {
  const { prelude, targets, values, roll } = options;
  const all = [...values, ...options.fitting];
  const declared = [
    prelude,
    ...options.modules.map((name) => `const m_${name} = ${name};`),
    ...targets.map((t, i) => `const t${i} = ${t.expression};`),
    ...all.map((v, i) => `const v${i} = ${v};`),
  ].join('\n');
  const first = programOf(declared);
  const checker = first.getTypeChecker();
  const source = first.getSourceFile(file)!;
  const typeOf = new Map<string, ts.Type>();
  source.forEachChild((node) => {
    if (!ts.isVariableStatement(node)) return;
    for (const d of node.declarationList.declarations)
      typeOf.set((d.name as ts.Identifier).text, checker.getTypeAtLocation(d));
  });
  const broken = first.getSemanticDiagnostics(source).filter((d) => !isUnused(d));
  if (broken.length > 0) throw new Error(`the prelude does not compile: ${broken.map(textOf).join('; ')}`);

  const fits = (type: ts.Type): string[] => {
    const wanted = checker.getBaseConstraintOfType(type) ?? type;
    return all.filter((_, i) => checker.isTypeAssignableTo(typeOf.get(`v${i}`)!, wanted));
  };
  const parameterOf = (symbol: ts.Symbol): Parameter => {
    const declaration = symbol.valueDeclaration as ts.ParameterDeclaration | undefined;
    let type = checker.getTypeOfSymbolAtLocation(symbol, source);
    const rest = declaration?.dotDotDotToken !== undefined;
    if (rest) type = type.getNumberIndexType() ?? type;
    const optional = rest || Boolean(declaration && (declaration.questionToken || declaration.initializer));
    return { optional, fitting: fits(type), options: optionsOf(type) };
  };
  const optionsOf = (type: ts.Type): Parameter['options'] => {
    const plain = (type.isUnion() ? type.types : [type]).find(
      (t) =>
        t.flags & ts.TypeFlags.Object && !checker.isArrayType(t) && t.getCallSignatures().length === 0 && !t.isClass(),
    );
    const properties = plain?.getProperties() ?? [];
    // Options, not data: every one of them can be left out.
    if (properties.length === 0 || !properties.every((p) => p.flags & ts.SymbolFlags.Optional)) return [];
    return properties.map((p) => ({ name: p.name, fitting: fits(checker.getTypeOfSymbolAtLocation(p, source)) }));
  };
  const formsOf = (target: Target, method: string | null, type: ts.Type): Form[] => {
    const made = method === null && type.getCallSignatures().length === 0;
    const signatures = made ? type.getConstructSignatures().filter(isPublic) : type.getCallSignatures();
    return signatures.map((s) => ({ target, method, made, parameters: s.getParameters().map(parameterOf) }));
  };

  const isHiddenExport = (expression: string): boolean => {
    const [module, name] = expression.split('.');
    const type = typeOf.get(`m_${module}`);
    const exported = type && name ? checker.getPropertyOfType(type, name) : undefined;
    return exported !== undefined && isInternal(exported);
  };
  const forms = targets.flatMap((target, i) => {
    const type = typeOf.get(`t${i}`)!;
    if (!target.methods) return isHiddenExport(target.expression) ? [] : formsOf(target, null, type);
    return checker.getPropertiesOfType(type).flatMap((p) => {
      const left = isInternal(p) || /^(#|__)/.test(p.name) || p.name === 'prototype';
      if (left || options.leftOut.includes(p.name) || options.leftOut.includes(`${target.expression}.${p.name}`))
        return [];
      return formsOf(target, p.name, checker.getTypeOfSymbolAtLocation(p, source));
    });
  });
  // Every function as often as any other.
  const make = options.right ? fittingDraft : draft;
  const drafts = Array.from({ length: options.count }, (_, i) => make(forms[i % forms.length]!, values, roll));
  const lines = drafts.map(({ target, method, made, args }) => {
    const i = targets.findIndex((t) => t.expression === target);
    return `void ${made ? `new t${i}` : method === null ? `t${i}` : `t${i}.${method}`}(${args.join(', ')});`;
  });
  const second = programOf(`${declared}\n${lines.join('\n')}`, first);
  const text = second.getSourceFile(file)!;
  const offset = declared.split('\n').length;
  const why = new Map<number, string>();
  for (const d of second.getSemanticDiagnostics(text))
    if (!isUnused(d)) why.set(text.getLineAndCharacterOfPosition(d.start ?? 0).line - offset, textOf(d));
  const calls = drafts.flatMap((d, i) => (why.has(i) ? [{ ...d, why: why.get(i)! }] : []));
  const accepted = drafts.filter((_, i) => !why.has(i));
  const functions = [...new Set(forms.map((f) => `${f.target.expression}${f.method === null ? '' : `.${f.method}`}`))];
  const modules = options.modules.map((name) => [name, typeOf.get(`m_${name}`)!.symbol] as const);
  const covered = new Set<ts.Symbol>();
  targets.forEach((_, i) => {
    addBases(checker, typeOf.get(`t${i}`)!, covered);
  });
  return { calls, accepted, functions, reach: reach(checker, Object.fromEntries(modules)), covered };
}

/** A type and all that it is derived from. */
function addBases(checker: ts.TypeChecker, type: ts.Type, into: Set<ts.Symbol>): void {
  if (type.isUnionOrIntersection()) for (const t of type.types) addBases(checker, t, into);
  if (!type.symbol || into.has(type.symbol)) return;
  into.add(type.symbol);
  const declared = checker.getDeclaredTypeOfSymbol(type.symbol);
  if (declared.isClassOrInterface()) for (const t of checker.getBaseTypes(declared)) addBases(checker, t, into);
}

type Draft = Omit<WrongCall, 'why'>;

/** A call that fits, made wrong in one place. */
function draft(
  { target, method, made, parameters }: Form,
  values: readonly string[],
  roll: (n: number) => number,
): Draft {
  const pick = (list: readonly string[]): string => list[roll(list.length)] ?? 'undefined';
  const given = parameters.filter((p) => !p.optional || roll(2) === 0).length;
  const args = parameters.slice(0, given).map((p) => pick(p.fitting));
  const at = roll(Math.max(1, parameters.length));
  let option: string | undefined;
  const choices = [
    () => args.splice(at, 1, pick(values)),
    () => args.splice(at, args.length),
    () => args.splice(args.length, 0, ...parameters.slice(args.length).map((p) => pick(p.fitting)), pick(values)),
    () => {
      const odd = oddOptions(parameters[at], values, roll);
      option = odd.option;
      args.splice(at, 1, odd.text);
    },
  ];
  choices[roll(choices.length)]!();
  const { part, expression } = target;
  return { part, target: expression, method, made, args: [...args].map((a) => a ?? 'undefined'), option };
}

/** A call whose arguments fit, some with options. */
function fittingDraft(
  { target, method, made, parameters }: Form,
  _: readonly string[],
  roll: (n: number) => number,
): Draft {
  const pick = (list: readonly string[]): string => list[roll(list.length)] ?? 'undefined';
  const given = parameters.filter((p) => !p.optional || roll(3) > 0).length;
  const args = parameters.slice(0, given).map(({ fitting, options }) => {
    const chosen = options.filter((o) => o.fitting.length > 0 && roll(Math.max(2, options.length / 2)) === 0);
    if (chosen.length === 0) return pick(fitting);
    return `{ ${chosen.map((o) => `${JSON.stringify(o.name)}: ${pick(o.fitting)}`).join(', ')} }`;
  });
  return { part: target.part, target: target.expression, method, made, args };
}

/** Options of which one is not known, or has a value that does not fit. */
function oddOptions(
  parameter: Parameter | undefined,
  values: readonly string[],
  roll: (n: number) => number,
): { readonly text: string; readonly option?: string } {
  const options = parameter?.options ?? [];
  const other = values[roll(values.length)]!;
  if (options.length === 0) return { text: other };
  const { name, fitting } = options[roll(options.length)]!;
  const known = `${JSON.stringify(name)}: ${fitting[roll(fitting.length)] ?? 'undefined'}`;
  if (roll(2) === 0) return { text: `{ ${known}, notAnOption: ${other} }` };
  return { text: `{ ${JSON.stringify(name)}: ${other} }`, option: name };
}

const textOf = (d: ts.Diagnostic): string => ts.flattenDiagnosticMessageText(d.messageText, ' ').slice(0, 200);
const isUnused = (d: ts.Diagnostic): boolean => d.code === 6133 || d.code === 6192 || d.code === 6198;
