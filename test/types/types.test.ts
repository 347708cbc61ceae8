// Runs the compiler over the type-level tests beside this file: a wrong type is a failing test, and so is an
// `@ts-expect-error` that no longer stands over an error.

import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const folder = fileURLToPath(new URL('.', import.meta.url));
const files = readdirSync(folder).filter((f) => f.endsWith('.test-d.ts'));

function settings(): ts.CompilerOptions {
  const path = ts.findConfigFile(folder, ts.sys.fileExists)!;
  const { config } = ts.readConfigFile(path, ts.sys.readFile);
  return ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, dirname(path)).options;
}

describe('types of the public API', () => {
  const program = ts.createProgram(
    files.map((f) => join(folder, f)),
    { ...settings(), noEmit: true, skipLibCheck: true },
  );

  it.each(files)('%s', { timeout: 120_000 }, (file) => {
    const source = program.getSourceFile(join(folder, file))!;
    expect(source.text.match(/expectTypeOf|@ts-expect-error/g)?.length ?? 0).toBeGreaterThan(10);
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    const text = found.map((d) => {
      const { line } = source.getLineAndCharacterOfPosition(d.start ?? 0);
      return `${file}:${line + 1} ${ts.flattenDiagnosticMessageText(d.messageText, '\n')}`;
    });
    expect(text).toEqual([]);
  });
});
