import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { machines } from '../../../test/forge/fixtures/targets.ts';
import { within } from '../../../test/support/time.ts';
import { capture } from '../config/testing.ts';
import type { RunResult } from '../ports.ts';
import { nodePorts } from '../ports-node.ts';
import { catalogue } from './catalogue/index.ts';
import { type ExplainFlags, type Input, runExplain, standardInput } from './command.ts';
import { explain } from './explain.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gpuforge-explain-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function run(
  words: readonly string[],
  flags: ExplainFlags = { machine: false },
  input: Partial<Input> = {},
  on?: (typeof machines)[string],
) {
  const output = capture();
  const ports = nodePorts({ env: { HOME: folder }, cacheFolder: join(folder, 'cache') });
  const status = await runExplain(ports, words, flags, output, { isTTY: true, read: async () => '', ...input }, on);
  return { status, out: output.out, err: output.err };
}

describe('gpuforge explain', () => {
  const text = 'RuntimeError: CUDA error: no kernel image is available for execution on the device';

  it('takes a text, a file and standard input', async () => {
    expect((await run([text])).out).toMatch(/no-kernel-image/);
    expect((await run(text.split(' '))).out).toMatch(/no-kernel-image/);
    const file = join(folder, 'train.log');
    writeFileSync(file, `step 1\n${text}\n`);
    expect((await run([file])).out).toMatch(/line 2: RuntimeError/);
    expect((await run(['-'], { machine: false }, { read: async () => text })).out).toMatch(/no-kernel-image/);
    expect((await run([], { machine: false }, { isTTY: false, read: async () => text })).out).toMatch(
      /no-kernel-image/,
    );
  });

  it("reads what PowerShell's > wrote", async () => {
    const file = join(folder, 'err.txt');
    writeFileSync(file, Buffer.from(`\ufeff${text}\r\n`, 'utf16le'));
    expect((await run([file])).out).toMatch(/line 1: RuntimeError/);
  });

  it('prints cause, evidence, numbered steps and links, with the facts of the machine', async () => {
    const { out, status } = await run([text], {}, {}, machines['gtx1080ti-580']!);
    expect(status).toBe(0);
    expect(out).toMatch(/^error {2}The build has no kernels for this GPU {2}no-kernel-image, high confidence/);
    expect(out).toMatch(/this machine: NVIDIA GeForce GTX 1080 Ti \(6\.1\), driver 580\.95\.05/);
    expect(out).toMatch(/1\. Install torch 2\.14\.1 cu126/);
    expect(out).toMatch(/https:\/\/github\.com\/pytorch/);
    expect(out).not.toContain('\u001b');
  });

  it('works for another machine', async () => {
    const { out } = await run([text], { for: ['RTX 5090'], driver: '570', os: 'linux', json: true });
    expect(JSON.parse(out).explanations[0].fix[0].command).toContain('torch==2.11.0+cu128');
  });

  it('says that it does not recognise a text, with status 1', async () => {
    const { status, out } = await run(['everything is fine']);
    expect(status).toBe(1);
    expect(out).toMatch(/No known error was recognised/);
    expect(JSON.parse((await run(['fine'], { machine: false, json: true })).out)).toEqual({
      schema: 'gpuforge.explain/1',
      explanations: [],
      nearest: [],
    });
  });

  it('names a doubtful class as the nearest only, without steps, with status 1', async () => {
    const text = 'Error: secure boot is not supported for this kernel module';
    const { status, out } = await run([text], { machine: false });
    expect(status).toBe(1);
    expect(out).toMatch(/No known error was recognised/);
    expect(out).toMatch(
      /Nearest, but too little in the text speaks for it: Secure Boot refuses the module \(secure-boot\)\./,
    );
    expect(out).not.toMatch(/^ {2}1\. /m);
    const told = JSON.parse((await run([text], { machine: false, json: true })).out);
    expect(told.explanations).toEqual([]);
    expect(told.nearest).toEqual([
      { code: 'secure-boot', title: 'Secure Boot refuses the module', line: text, lineNumber: 1 },
    ]);
  });

  it('refuses nothing, a folder and a file that is not there with status 2', async () => {
    expect(await run([])).toMatchObject({ status: 2, err: expect.stringContaining('nothing to explain') });
    expect(await run([folder])).toMatchObject({ status: 2, err: expect.stringContaining('is a folder') });
    expect(await run(['./missing.log'])).toMatchObject({ status: 2, err: expect.stringContaining('there is no file') });
  });

  it('--limit bounds the answers', async () => {
    const many = 'CUDA_ERROR_ILLEGAL_ADDRESS\nFailed to initialize NVML: Unknown Error\nexternally-managed-environment';
    const count = async (limit: number) =>
      JSON.parse((await run([many], { machine: false, json: true, limit })).out).explanations.length;
    expect(await count(1)).toBe(1);
    expect(await count(3)).toBe(3);
  });

  it('takes a text longer than any path, and one with line breaks', async () => {
    const long = `${'x'.repeat(5000)} ${text}`;
    expect((await run([long])).out).toMatch(/no-kernel-image/);
    expect((await run(['y'.repeat(300)])).status).toBe(1);
    expect((await run([`line one\n${text}`])).out).toMatch(/line 2: RuntimeError/);
  });

  it('keeps the end of an endless or huge standard input in bounded memory', async () => {
    const chunk = Buffer.alloc(1 << 20, 'ordinary output of a training run\n');
    async function* huge(megabytes: number) {
      for (let i = 0; i < megabytes; i++) yield chunk;
      yield Buffer.from(`\n${text}\n`);
    }
    const before = process.memoryUsage().rss;
    const input = standardInput(Readable.from(huge(512)));
    expect((await run(['-'], { machine: false }, input)).out).toMatch(/no-kernel-image/);
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * 2 ** 20);
    const endless = standardInput(Readable.from(huge(Number.POSITIVE_INFINITY)));
    expect((await run(['-'], { machine: false }, endless)).status).toBe(1);
  }, 120_000);

  it('reads the end of a file larger than 64 MiB', async () => {
    const file = join(folder, 'large.log');
    writeFileSync(file, Buffer.alloc(70 << 20, 'x\n'));
    appendFileSync(file, `${text}\n`);
    expect((await run([file])).out).toMatch(/no-kernel-image/);
  });

  it.skipIf(process.platform === 'win32')(
    'does not hang on a named pipe, and reads one that is written to',
    async () => {
      const pipe = join(folder, 'pipe');
      expect(spawnSync('mkfifo', [pipe]).status).toBe(0);
      const start = performance.now();
      expect(await run([pipe])).toMatchObject({ status: 2, err: expect.stringContaining('nothing came from') });
      expect(performance.now() - start).toBeLessThan(within(5000));
      // Again and again: a reader that was silent for too long has gone.
      const writes = `trap '' PIPE; while sleep 0.2; do printf '%s' "$1" > "$2"; done`;
      const writer = spawn('sh', ['-c', writes, 'sh', text, pipe]);
      const read = async (): Promise<string> => {
        for (const end = performance.now() + within(5000); performance.now() < end; ) {
          const { out, status } = await run([pipe]);
          if (status === 0) return out;
          await new Promise((resolve) => setTimeout(resolve, 25));
        }
        return '';
      };
      try {
        expect(await read()).toMatch(/no-kernel-image/);
      } finally {
        writer.kill();
      }
    },
  );

  it.skipIf(process.platform === 'win32' || process.getuid?.() === 0)('names a file that may not be read', async () => {
    const file = join(folder, 'secret.log');
    writeFileSync(file, text, { mode: 0 });
    expect(await run([file])).toMatchObject({ status: 2, err: expect.stringContaining('cannot be read (EACCES)') });
  });

  it('reads /dev/stdin as standard input', async () => {
    expect((await run(['/dev/stdin'], { machine: false }, { read: async () => text })).out).toMatch(/no-kernel-image/);
  });

  it('prints no escape sequence of the text', async () => {
    const { out } = await run([`\u001b]0;owned\u0007\u001b_G\u001b\\${text}\u202e \u009b31m`]);
    expect(out.replaceAll('\n', '')).not.toMatch(/\p{Cc}|\u202e/u);
  });
});

describe('gpuforge explain --fix', () => {
  const text = 'error: externally-managed-environment';
  const shown = { status: 0, stdout: '', stderr: '', outcome: 'exited', ms: 1 } as const;

  async function fix(
    flags: ExplainFlags,
    answers: readonly RunResult[] = [],
    options: { uid?: number; confirm?: boolean; error?: string; env?: Readonly<Record<string, string>> } = {},
  ) {
    const calls: string[][] = [];
    const ports = {
      ...nodePorts({ env: { HOME: folder, ...options.env }, cacheFolder: join(folder, 'cache') }),
      user: { uid: options.uid ?? 1000, gids: [] },
      processes: {
        spawned: 0,
        run: async (file: string, args: readonly string[]) => {
          calls.push([file, ...args]);
          return answers[calls.length - 1] ?? shown;
        },
      },
    };
    const output = capture();
    const confirm = options.confirm === undefined ? undefined : async () => options.confirm!;
    await runExplain(
      ports,
      [options.error ?? text],
      { machine: false, fix: true, ...flags },
      output,
      { isTTY: true, read: async () => '' },
      undefined,
      confirm,
    );
    return { calls, err: output.err };
  }

  it('runs nothing that downloads where the network is off', async () => {
    const error =
      'RuntimeError: Numpy is not available: A module that was compiled using NumPy 1.x cannot be run in NumPy 2.0.2';
    expect((await fix({ yes: true }, [], { error })).calls).toEqual([['python', '-m', 'pip', 'install', 'numpy<2']]);
    const off = await fix({ yes: true }, [], { error, env: { GPUFORGE_OFFLINE: 'true' } });
    expect(off.calls).toEqual([]);
    expect(off.err).toMatch(/Not done: the network is off/);
    // What needs no network is done all the same.
    expect((await fix({ yes: true }, [], { env: { GPUFORGE_OFFLINE: 'true' } })).calls[0]).toEqual([
      'python3',
      '-m',
      'venv',
      '.venv',
    ]);
  });

  it('shows and does nothing without consent', async () => {
    const { calls, err } = await fix({});
    expect(calls).toEqual([]);
    expect(err).toMatch(/--fix would run:\n {2}python3 -m venv \.venv/);
    expect(err).toMatch(/Nothing was changed/);
    expect((await fix({}, [], { confirm: false })).calls).toEqual([]);
  });

  it('runs each step without a shell after --yes or a yes', async () => {
    expect((await fix({ yes: true })).calls).toEqual([
      ['python3', '-m', 'venv', '.venv'],
      ['uv', 'venv'],
    ]);
    expect((await fix({}, [], { confirm: true })).calls.length).toBe(2);
  });

  it('stops at the first failure', async () => {
    const { calls, err } = await fix({ yes: true }, [{ ...shown, status: 1, stderr: 'no ensurepip' }]);
    expect(calls.length).toBe(1);
    expect(err).toMatch(/failed: no ensurepip/);
    expect((await fix({ yes: true }, [{ ...shown, status: null, outcome: 'not-found' }])).err).toMatch(
      /python3 is not installed/,
    );
  });

  it('never runs as root', async () => {
    expect(await fix({ yes: true }, [], { uid: 0 })).toMatchObject({
      calls: [],
      err: expect.stringContaining('this is root'),
    });
  });

  it('has an automatic step only where nothing is left to fill in', () => {
    const seen = new Set<string>();
    for (const row of catalogue)
      for (const facts of [undefined, machines['rtx4090-595']!]) {
        const found = facts ? explain(`${row.code}`, { machine: facts }) : [];
        for (const step of found.flatMap((entry) => entry.fix)) if (step.automatic) seen.add(step.command!.join(' '));
      }
    for (const command of seen) expect(command).not.toMatch(/PACKAGE|NAME\b|your_script/);
  });
});
