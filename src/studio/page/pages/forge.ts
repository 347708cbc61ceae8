// The machine around the program: what is here, what keeps it from working, which build of a framework fits, and the files of an
// environment. Asked for by a button; nothing is installed or written.

import type { Standing } from '../../types.ts';
import { h, icon, setText } from '../dom.ts';
import { unknown } from '../format.ts';
import type { Store } from '../store.ts';
import { badge, copyButton, empty, field, panel, table } from '../widgets.ts';
import type { Page } from './page.ts';

interface Fact {
  readonly value: unknown;
  readonly source?: string;
  readonly reason?: string;
  readonly note?: string;
}

interface Detected {
  readonly machine: {
    readonly gpus: readonly (Readonly<Record<string, unknown>> & {
      readonly id: string;
      readonly name: Fact;
      readonly usable: boolean;
      readonly blockers: readonly string[];
    })[];
  } & Readonly<Record<string, unknown>>;
  readonly ms: number;
}

interface Finding {
  readonly code: string;
  readonly area: string;
  readonly status: string;
  readonly summary: string;
  readonly evidence: readonly string[];
  readonly fix: { readonly text: string; readonly commands: readonly string[] } | null;
}

interface Report {
  readonly verdict: { readonly compute: string };
  readonly areas: readonly { readonly area: string; readonly status: string; readonly findings: readonly Finding[] }[];
}

interface Resolved {
  readonly status: string;
  readonly choice?: { readonly framework: string; readonly version: string; readonly variant: string } & Readonly<
    Record<string, unknown>
  >;
  readonly proof?: readonly { readonly text?: string; readonly claim?: string; readonly fact?: string }[];
  readonly [key: string]: unknown;
}

interface Environment {
  readonly name: string;
  readonly profile: string;
  readonly profiles: readonly string[];
  readonly warnings: readonly string[];
  readonly files: readonly { readonly path: string; readonly content: string }[];
}

const frameworks = ['pytorch', 'tensorflow', 'jax'];
const systems = ['', 'linux', 'windows', 'macos'];
const statusSigns: Readonly<Record<string, readonly [Standing, string]>> = {
  ok: ['good', 'Good'],
  info: ['good', 'Note'],
  warning: ['watch', 'Warning'],
  error: ['bad', 'Error'],
  unverified: ['unknown', 'Not verified'],
  skipped: ['unknown', 'Skipped'],
};

/** A panel that asks when told to, and shows the answer, the wait or the refusal. */
function asking<T>(
  title: string,
  hint: string,
  form: HTMLFormElement,
  ask: (given: Record<string, string>) => Promise<T>,
  draw: (value: T) => Node[],
): HTMLElement {
  const status = h('p', { class: 'hint', role: 'status' });
  const result = h('div', { class: 'stack tight' });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const given = Object.fromEntries([...new FormData(form)].map(([k, v]) => [k, String(v)]));
    setText(status, 'Looking …');
    result.replaceChildren();
    ask(given).then(
      (value) => {
        setText(status, '');
        result.replaceChildren(...draw(value));
      },
      (error: Error) => setText(status, error.message),
    );
  });
  return panel(title, hint, form, status, result);
}

const submit = (label: string): HTMLElement => h('button', { type: 'submit', class: 'button primary' }, label);
const isFact = (v: unknown): v is Fact =>
  typeof v === 'object' && v !== null && 'value' in v && ('source' in v || 'reason' in v);
const textOf = (v: unknown): string =>
  v === null || v === undefined ? unknown : typeof v === 'object' ? JSON.stringify(v) : String(v);

function drawDetected({ machine }: Detected): Node[] {
  if (machine.gpus.length === 0) return [empty('No GPU was found on this machine. The CPU device works without one.')];
  return machine.gpus.map((gpu) => {
    const sign = badge();
    sign.set(gpu.usable ? 'good' : 'watch', gpu.usable ? 'Usable' : 'Not usable');
    const facts = Object.entries(gpu).flatMap(([name, v]) =>
      isFact(v) && v.value !== null
        ? [{ name, value: textOf(v.value), source: [v.source, v.note].filter(Boolean).join(', ') }]
        : [],
    );
    const rows = table<(typeof facts)[number]>(
      `Facts of ${textOf(gpu.name.value)}`,
      [
        { head: 'Fact', text: (f) => f.name },
        { head: 'Value', text: (f) => f.value },
        { head: 'From', text: (f) => f.source },
      ],
      (f) => f.name,
      empty('Nothing is known of it.'),
    );
    rows.update(facts);
    return h(
      'article',
      { class: 'sub' },
      h('header', { class: 'row' }, h('h3', {}, textOf(gpu.name.value)), sign.element),
      ...gpu.blockers.map((b) => h('p', { class: 'note' }, b)),
      rows.element,
    );
  });
}

function drawDoctor({ areas, verdict }: Report): Node[] {
  const order = ['error', 'warning', 'unverified', 'ok', 'info', 'skipped'];
  const findings = areas.flatMap((a) => a.findings).sort((a, b) => order.indexOf(a.status) - order.indexOf(b.status));
  const said =
    verdict.compute === 'verified'
      ? 'Computing works: a real run gave the right result.'
      : verdict.compute === 'failed'
        ? 'Computing failed.'
        : 'Computing was not tried from here: run gpuforge doctor for that.';
  return [
    h('p', { class: 'answer-detail' }, said),
    ...findings.map((f) => {
      const sign = badge();
      const [standing, word] = statusSigns[f.status] ?? ['unknown', f.status];
      sign.set(standing, word);
      const { fix } = f;
      return h(
        'article',
        { class: 'sub' },
        h('header', { class: 'row' }, h('h3', {}, f.summary), sign.element),
        f.evidence.length > 0 ? h('p', { class: 'hint' }, f.evidence.join(' · ')) : null,
        fix ? h('p', { class: 'note' }, fix.text) : null,
        fix && fix.commands.length > 0 ? codeBlock(fix.commands.join('\n')) : null,
      );
    }),
  ];
}

function codeBlock(text: string): HTMLElement {
  return h(
    'div',
    { class: 'code' },
    h('pre', { tabindex: '0' }, h('code', {}, text)),
    copyButton(() => text),
  );
}

function drawResolved(r: Resolved): Node[] {
  const { choice } = r;
  const head = choice
    ? h('p', { class: 'answer' }, `${choice.framework} ${choice.version}, ${choice.variant}`)
    : h('p', { class: 'answer' }, 'No build fits.');
  const proof = (r.proof ?? []).map((step) =>
    h(
      'li',
      {},
      Object.values(step)
        .filter((v) => typeof v === 'string' || typeof v === 'number')
        .join(': '),
    ),
  );
  return [
    head,
    proof.length > 0 ? h('ol', { class: 'proof' }, ...proof) : empty('There is no proof to show.'),
    rawJson(r),
  ];
}

const rawJson = (value: unknown): HTMLElement =>
  h('details', {}, h('summary', {}, 'All of it as data'), codeBlock(JSON.stringify(value, null, 2)));

function drawEnvironment(e: Environment): Node[] {
  return [
    h('p', { class: 'answer-detail' }, `Profile ${e.profile}. Nothing was written: copy or download what you need.`),
    ...e.warnings.map((w) => h('p', { class: 'note' }, w)),
    ...e.files.map((f) => {
      const link = h(
        'a',
        {
          class: 'button',
          download: f.path.split('/').at(-1)!,
          href: URL.createObjectURL(new Blob([f.content], { type: 'text/plain' })),
        },
        icon('download'),
        h('span', {}, 'Download'),
      );
      return h('details', {}, h('summary', {}, h('code', {}, f.path)), codeBlock(f.content), link);
    }),
  ];
}

const machineFields = (): HTMLElement[] => [
  field({ label: 'Framework', name: 'framework', options: frameworks, value: 'pytorch' }),
  field({ label: 'Python', name: 'python', placeholder: '3.12' }),
  field({ label: 'For another GPU', name: 'for', placeholder: 'this machine' }),
  field({ label: 'Driver', name: 'driver', placeholder: '570' }),
  field({ label: 'System', name: 'os', options: systems, value: '' }),
];

export const forge: Page = {
  id: 'forge',
  title: 'Forge',
  about: 'The machine around the program. Nothing is installed or written from here.',
  icon: 'forge',
  mount: (store: Store) => {
    const plain = (label: string): HTMLFormElement => h('form', { class: 'form' }, submit(label));
    const without = (given: Record<string, string>): Record<string, string> =>
      Object.fromEntries(Object.entries(given).filter(([, v]) => v !== ''));
    const element = h(
      'div',
      { class: 'stack' },
      asking(
        'What is here',
        'GPUs and drivers of this machine, with the place each fact came from.',
        plain('Detect'),
        () => store.get<Detected>('/api/forge/detect'),
        drawDetected,
      ),
      asking(
        'What is wrong',
        'The doctor examines the machine, offline; commands to copy for what is wrong.',
        plain('Examine'),
        () => store.get<Report>('/api/forge/doctor'),
        drawDoctor,
      ),
      asking(
        'Which build fits',
        'The framework build that runs on this GPU, driver, system and Python, with the proof.',
        h('form', { class: 'form' }, ...machineFields(), submit('Resolve')),
        (given) => store.get<Resolved>('/api/forge/resolve', without(given)),
        drawResolved,
      ),
      asking(
        'Files of an environment',
        'Previewed here; download what you need.',
        h(
          'form',
          { class: 'form' },
          field({ label: 'Name', name: 'name', value: 'demo' }),
          ...machineFields(),
          submit('Preview'),
        ),
        (given) => store.get<Environment>('/api/forge/env', without(given)),
        drawEnvironment,
      ),
    );
    return { element, update: () => {} };
  },
};
