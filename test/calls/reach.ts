// What a user of the package can call, as the compiler sees it: the functions and classes that its entries export, and the methods of
// whatever those return, hold in their properties or pass to callbacks.

import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Something that can be called, and how it is come by. */
export interface Reached {
  /** The name of a type with methods, or of an exported function or class. */
  readonly name: string;
  readonly way: string;
  readonly symbol: ts.Symbol;
}

export interface Reach {
  /** Exported functions and classes, by `entry.name`. */
  readonly functions: readonly Reached[];
  /** Types with methods. */
  readonly types: readonly Reached[];
}

/** Whether a symbol is not for users: private, or marked so where it is declared or exported. */
export function isInternal(symbol: ts.Symbol): boolean {
  const declarations = symbol.declarations ?? [];
  const flags = declarations.map((d) => ts.getCombinedModifierFlags(d));
  if (flags.some((f) => f & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected))) return true;
  if (symbol.getJsDocTags().some((t) => t.name === 'internal')) return true;
  return declarations.some(
    (d) => ts.isExportSpecifier(d) && ts.getJSDocTags(d.parent.parent).some((t) => t.tagName.text === 'internal'),
  );
}

/** Whether a constructor is for users. */
export function isPublic(signature: ts.Signature): boolean {
  const { declaration } = signature;
  if (!declaration) return true;
  const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected;
  if (ts.getCombinedModifierFlags(declaration as ts.Declaration) & hidden) return false;
  return !signature.getJsDocTags().some((t) => t.name === 'internal');
}

const isOurs = (symbol: ts.Symbol | undefined): symbol is ts.Symbol =>
  symbol?.declarations?.some((d) => relative(root, d.getSourceFile().fileName).startsWith('src')) ?? false;

const isHidden = (name: string): boolean => /^(#|__)/.test(name) || name === 'prototype';

/** Everything that can be reached from the exports of modules. */
export function reach(checker: ts.TypeChecker, modules: Readonly<Record<string, ts.Symbol>>): Reach {
  const functions: Reached[] = [];
  const types = new Map<ts.Symbol, Reached>();
  const seen = new Set<ts.Type | ts.Symbol>();
  const queue: { readonly type: ts.Type; readonly way: string }[] = [];

  const visit = (type: ts.Type, way: string): void => {
    // Of a generic type one instance stands for all.
    const key = type.flags & ts.TypeFlags.Object && isOurs(type.symbol) ? type.symbol : type;
    if (seen.has(key)) return;
    seen.add(key);
    queue.push({ type, way });
  };
  const typeOf = (symbol: ts.Symbol): ts.Type | undefined => {
    const at = symbol.valueDeclaration ?? symbol.declarations?.[0];
    return at && checker.getTypeOfSymbolAtLocation(symbol, at);
  };
  /** What a call returns, and what it gives to functions among its arguments. */
  const call = (signature: ts.Signature, way: string): void => {
    visit(signature.getReturnType(), way);
    for (const p of signature.getParameters()) given(typeOf(p), `${way} → ${p.name}`, 0);
  };
  const given = (type: ts.Type | undefined, way: string, depth: number): void => {
    for (const part of type?.isUnion() ? type.types : type ? [type] : []) {
      for (const s of part.getCallSignatures())
        for (const p of s.getParameters()) {
          const t = typeOf(p);
          if (t) visit(t, `${way}(${p.name})`);
        }
      const isOptions = part.symbol?.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.TypeLiteral);
      if (depth < 2 && isOptions && isOurs(part.symbol) && part.getCallSignatures().length === 0)
        for (const o of part.getProperties()) if (!isInternal(o)) given(typeOf(o), `${way}.${o.name}`, depth + 1);
    }
  };
  const members = (type: ts.Type, way: string): void => {
    if (type.isUnionOrIntersection()) {
      for (const t of type.types) visit(t, way);
      return;
    }
    if (!(type.flags & ts.TypeFlags.Object)) {
      const constraint = type.flags & ts.TypeFlags.TypeParameter ? checker.getBaseConstraintOfType(type) : undefined;
      if (constraint) visit(constraint, way);
      return;
    }
    for (const a of checker.getTypeArguments(type as ts.TypeReference)) visit(a, way);
    const { symbol } = type;
    if (!isOurs(symbol)) return;
    // What ends a subscription takes nothing, and may be given whatever an event brings.
    let callable = type.getCallSignatures().some((s) => s.getParameters().length > 0);
    for (const s of type.getCallSignatures()) call(s, `${way}()`);
    for (const p of type.getProperties()) {
      const t = isInternal(p) || isHidden(p.name) ? undefined : typeOf(p);
      if (!t) continue;
      const calls = checker.getNonNullableType(t).getCallSignatures();
      if (calls.length > 0) callable = true;
      for (const s of calls) call(s, `${way}.${p.name}()`);
      if (calls.length === 0) visit(t, `${way}.${p.name}`);
    }
    const { name } = type.aliasSymbol ?? symbol;
    // A type without a name is known by the way to it.
    if (callable && !types.has(symbol)) types.set(symbol, { name: name.startsWith('__') ? way : name, way, symbol });
  };

  for (const [entry, module] of Object.entries(modules)) {
    for (const exported of checker.getExportsOfModule(module)) {
      const s = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
      const isType = exported.declarations?.some(
        (d) => ts.isExportSpecifier(d) && (d.isTypeOnly || d.parent.parent.isTypeOnly),
      );
      if (isType || !(s.flags & ts.SymbolFlags.Value) || isInternal(exported) || isInternal(s)) continue;
      const type = typeOf(s)!;
      const name = `${entry}.${exported.name}`;
      const makes = type.getConstructSignatures();
      if (makes.some(isPublic) || type.getCallSignatures().length > 0) functions.push({ name, way: entry, symbol: s });
      for (const c of makes) visit(c.getReturnType(), name);
      for (const c of type.getCallSignatures()) call(c, name);
      if (makes.length > 0 || type.getCallSignatures().length === 0) visit(type, name);
    }
  }
  for (let next = queue.shift(); next; next = queue.shift()) members(next.type, next.way);
  return { functions, types: [...types.values()] };
}
