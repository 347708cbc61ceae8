// The API reference, docs/api/*.md: written from the doc comments of the source, so that it cannot say anything else.
//
//   node scripts/api-docs.mjs           writes the pages
//   node scripts/api-docs.mjs --check   fails if one is old, or a public member has no line of its own or no example
//
// Reads the text of the classes alone and resolves no types: a signature on the page is the one in the source.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = 'docs/api';

/** One page for each of these: what it is called in examples, and the class that has all of its members. */
const subjects = [
  {
    page: 'tensor.md',
    title: 'Tensor',
    intro:
      'A `Tensor` is a lazy array: an op returns at once, and reading a value runs everything it needs. Ops never change their\n' +
      'operands. Where an op takes another tensor, it takes a number too; shapes broadcast as in NumPy.',
    file: 'src/tensor/tensor.ts',
    class: 'Tensor',
  },
  {
    page: 'runtime.md',
    title: 'Runtime',
    intro:
      '`const rt = await createRuntime()` opens the devices of this machine. Tensors are made by it and belong to it.',
    file: 'src/runtime/runtime.ts',
    class: 'Runtime',
  },
  {
    page: 'random.md',
    title: 'rt.random',
    intro:
      'Random numbers of a runtime. They are a function of the seed and the position alone: the same on every device.\n' +
      '`createRuntime({ seed })` sets the seed of calls that give none.',
    file: 'src/tensor/random.ts',
    class: 'Random',
  },
];

/** What the members of a class are about. */
const headings = {
  TensorCore: 'What it is, reading, freeing',
  Arithmetic: 'Arithmetic, comparison, bits',
  Functions: 'Functions of each element',
  Movement: 'Shape and order of axes',
  Indexing: 'Slices, gathering, scattering',
  Reductions: 'Reductions',
  Ordering: 'Sorting and running totals',
  Linear: 'Products',
  Network: 'Convolution, pooling, softmax',
  Dynamic: 'Results whose size depends on values',
  Segments: 'Segments and histograms',
  Transforms: 'Fourier transforms',
  TensorMaking: 'Making tensors',
  Runtime: 'Running, compiling, devices',
  Random: 'Distributions',
};

/** Members for the library's own layers: they say so, and are left out. */
const internal = /for the (library|runtime)'s own|Use `createRuntime`/i;

const sources = new Map();
function source(file) {
  if (!sources.has(file)) {
    const text = readFileSync(join(root, file), 'utf8');
    sources.set(file, ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
  }
  return sources.get(file);
}

/** The file that a name in `file` comes from. */
function importedFrom(file, name) {
  for (const s of source(file).statements) {
    if (!ts.isImportDeclaration(s)) continue;
    const bindings = s.importClause?.namedBindings;
    if (!bindings || !ts.isNamedImports(bindings) || !s.moduleSpecifier.text.startsWith('.')) continue;
    if (bindings.elements.some((e) => e.name.text === name)) return join(dirname(file), s.moduleSpecifier.text);
  }
  return null;
}

const declared = (file, name) =>
  source(file).statements.find(
    (s) =>
      (ts.isClassDeclaration(s) || ts.isInterfaceDeclaration(s) || ts.isTypeAliasDeclaration(s)) &&
      s.name?.text === name,
  );

/** A class and those it extends, the first of them first. */
function line(file, name) {
  const found = declared(file, name);
  if (!found || !ts.isClassDeclaration(found)) throw new Error(`${file} declares no class ${name}`);
  const parent = found.heritageClauses?.find((h) => h.token === ts.SyntaxKind.ExtendsKeyword)?.types[0]?.expression;
  const before = parent && ts.isIdentifier(parent) ? importedFrom(file, parent.text) : null;
  return [...(before ? line(before, parent.text) : []), { file, name, members: found.members }];
}

const hidden = (m) =>
  ts.getCombinedModifierFlags(m) & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected) ||
  (m.name && (ts.isPrivateIdentifier(m.name) || ts.isComputedPropertyName(m.name)));

const listed = (m) => (ts.isMethodDeclaration(m) || ts.isGetAccessor(m) || ts.isPropertyDeclaration(m)) && !hidden(m);

/** The text of a doc comment, and its examples. */
function docOf(member) {
  const doc = member.jsDoc?.at(-1);
  if (!doc) return { text: '', examples: [] };
  const flat = (comment) => (ts.getTextOfJSDocComment(comment) ?? '').trim();
  const tags = (doc.tags ?? []).filter((t) => t.tagName.text === 'example');
  return { text: flat(doc.comment), examples: tags.map((t) => flat(t.comment)) };
}

const squeeze = (text) =>
  text
    .replace(/\s*\n\s*/g, ' ')
    .replace(/\( /g, '(')
    .replace(/,? \)/g, ')');

/** A parameter as a caller sees it: one with a default is optional. */
function parameter(p) {
  const name = p.name.getText();
  if (!p.initializer) return squeeze(p.getText());
  const type = p.type?.getText() ?? { true: 'boolean', false: 'boolean' }[p.initializer.getText()] ?? 'number';
  return squeeze(`${name}?: ${type}`);
}

function signature(m) {
  const name = m.name.getText();
  if (!ts.isMethodDeclaration(m)) return squeeze(`${name}: ${m.type?.getText() ?? 'boolean'}`);
  const kinds = m.typeParameters?.length ? `<${m.typeParameters.map((t) => squeeze(t.getText())).join(', ')}>` : '';
  return `${name}${kinds}(${m.parameters.map(parameter).join(', ')}): ${squeeze(m.type?.getText() ?? 'void')}`;
}

/** The members of one class by name: overloads are one entry, without the form that only the implementation has. */
function entries({ file, name, members }) {
  const byName = new Map();
  for (const m of members) {
    if (!listed(m)) continue;
    const key = m.name.getText();
    byName.set(key, [...(byName.get(key) ?? []), m]);
  }
  return [...byName].flatMap(([key, forms]) => {
    const shown = forms.length > 1 ? forms.filter((m) => !m.body) : forms;
    const docs = forms.map(docOf).find((d) => d.text) ?? { text: '', examples: [] };
    if (internal.test(docs.text) || forms.some((m) => ts.getJSDocTags(m).some((t) => t.tagName.text === 'internal')))
      return [];
    const property = !ts.isMethodDeclaration(forms[0]);
    return [{ name: key, class: name, file, property, signatures: shown.map(signature), ...docs, nodes: shown }];
  });
}

/** The option types that signatures name, each with the file that declares it. */
function optionTypes(list) {
  const found = new Map();
  const visit = (file) => (node) => {
    if (ts.isTypeReferenceNode(node) && /Options$/.test(node.typeName.getText())) {
      const name = node.typeName.getText();
      const at = declared(file, name) ? file : importedFrom(file, name);
      if (at && !found.has(name)) found.set(name, { name, node: declared(at, name), file: at });
    }
    ts.forEachChild(node, visit(file));
  };
  for (const e of list) for (const n of e.nodes) for (const p of n.parameters ?? []) visit(e.file)(p);
  for (const { node, file } of [...found.values()]) {
    for (const h of node?.heritageClauses ?? []) {
      for (const t of h.types) {
        const name = t.expression.getText();
        const at = declared(file, name) ? file : importedFrom(file, name);
        if (at && !found.has(name)) found.set(name, { name, node: declared(at, name), file: at });
      }
    }
  }
  return [...found.values()]
    .filter((o) => o.node && ts.isInterfaceDeclaration(o.node))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

const cell = (text) => squeeze(text).replaceAll('|', '\\|');
const anchor = (name) => name.toLowerCase();

function entryText(e) {
  const examples = e.examples.map((x) => x.replace(/^```ts( no-run)?\n|\n?```$/g, ''));
  return [
    `### ${e.name}\n`,
    `\`\`\`typescript\n${e.signatures.join('\n')}\n\`\`\`\n`,
    `${e.text.replace(/^```ts( no-run)?$/gm, '```typescript')}\n`,
    ...(examples.length > 0 ? [`\`\`\`js\n${examples.join('\n')}\n\`\`\`\n`] : []),
  ].join('\n');
}

function optionText({ node, name }) {
  const from = (node.heritageClauses ?? []).flatMap((h) => h.types.map((t) => `\`${squeeze(t.getText())}\``));
  const rows = node.members.map((m) => {
    const type = (m.type?.getText() ?? '').replace(/ \| undefined$/, '');
    return `| \`${m.name.getText()}${m.questionToken ? '?' : ''}\` | \`${cell(type)}\` | ${cell(docOf(m).text)} |`;
  });
  const more = from.length > 0 ? `Also those of ${from.join(', ')}.\n\n` : '';
  const table = rows.length > 0 ? `| option | type | |\n|---|---|---|\n${rows.join('\n')}\n` : '';
  return `### ${name}\n\n${more}${table}`;
}

const note = '<!-- Written by scripts/api-docs.mjs from the doc comments. Change those, then run `npm run docs`. -->\n';

/** All public members, page by page, and the names of the others. */
export function reference() {
  return subjects.map((s) => {
    const classes = line(s.file, s.class);
    const list = classes.flatMap(entries);
    const shown = new Set(list.map((e) => e.name));
    const others = classes.flatMap(({ members }) => members.flatMap((m) => m.name?.getText() ?? []));
    return { ...s, entries: list, helpers: [...new Set(others)].filter((n) => !shown.has(n)) };
  });
}

function pageText({ title, intro, entries: list }) {
  const classes = [...new Set(list.map((e) => e.class))];
  const sections = classes.map((name) => {
    const own = list.filter((e) => e.class === name);
    return { title: headings[name] ?? name, own };
  });
  const contents = sections.map(
    ({ title: t, own }) => `**${t}**: ${own.map((e) => `[${e.name}](#${anchor(e.name)})`).join(' · ')}`,
  );
  const options = optionTypes(list);
  return [
    note,
    `# ${title}\n`,
    `${intro}\n`,
    'Lines with `// →` show what comes out; the tests run all of them.\n',
    `${contents.join('\n\n')}\n`,
    ...sections.flatMap(({ title: t, own }) => [`## ${t}\n`, ...own.map(entryText)]),
    ...(options.length > 0 ? ['## Options\n', ...options.map(optionText)] : []),
  ].join('\n');
}

/** The pages as they must be: path → text. */
export function pages() {
  const all = reference();
  const rows = all.map((s) => `| [${s.title}](${s.page}) | ${s.entries.length} |`);
  const names = all.flatMap((s) => s.entries.map((e) => ({ ...e, page: s.page })));
  const letters = [...names].sort((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
  const index = [
    note,
    '# API reference\n',
    'Every public member of a tensor and of a runtime: its signature, what it does, and an example that the tests run.\n',
    `| page | members |\n|---|---|\n${rows.join('\n')}\n`,
    'Coming from NumPy, PyTorch or TF.js? [The table of spellings](../coming-from.md) lists what is called otherwise here.\n',
    '## All names\n',
    `${letters.map((e) => `[${e.name}](${e.page}#${anchor(e.name)})`).join(' · ')}\n`,
  ].join('\n');
  return new Map([
    [`${folder}/README.md`, index],
    ...all.map((s) => [`${folder}/${s.page}`, `${pageText(s).trimEnd()}\n`]),
  ]);
}

/** What is wrong: members without a line or an example, pages that are old, missing or too many. */
export function problems() {
  const bare = reference().flatMap((s) =>
    s.entries.flatMap((e) => [
      ...(e.text ? [] : [`${e.file}: ${e.class}.${e.name} has no doc comment`]),
      ...(e.property || e.examples.length > 0 || e.text.includes('```')
        ? []
        : [`${e.file}: ${e.class}.${e.name} has no @example`]),
    ]),
  );
  const want = pages();
  const old = [...want].flatMap(([path, text]) =>
    existsSync(join(root, path)) && readFileSync(join(root, path), 'utf8') === text
      ? []
      : [`${path} is old: npm run docs`],
  );
  const there = existsSync(join(root, folder)) ? readdirSync(join(root, folder)).map((f) => `${folder}/${f}`) : [];
  return [...bare, ...old, ...there.filter((f) => !want.has(f)).map((f) => `${f} belongs to nothing`)];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (!process.argv.includes('--check')) {
    mkdirSync(join(root, folder), { recursive: true });
    for (const [path, text] of pages()) writeFileSync(join(root, path), text);
  }
  const found = problems();
  for (const p of found) console.error(p);
  process.exitCode = found.length > 0 ? 1 : 0;
}
