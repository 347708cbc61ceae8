import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { alsoRight, corpus as worded } from '../../../test/forge/errors/corpus.ts';
import { batches, measure, readErrors, unseen, written } from '../../../test/forge/errors/read.mjs';
import { machine, machines, nvidia } from '../../../test/forge/fixtures/targets.ts';
import { everyNth } from '../../../test/support/extent.ts';
import { within } from '../../../test/support/time.ts';
import { known } from '../machine.ts';
import { catalogue } from './catalogue/index.ts';
import { clean } from './clean.ts';
import { explain } from './explain.ts';
import { bytesOf, cudaNumbers, valuesIn } from './values.ts';

const unrelated = readFileSync(new URL('../../../test/forge/errors/unrelated.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '');
const families = readErrors(new URL('families.txt', written));
/** Every text that a class must answer, under the class. */
const corpus: Readonly<Record<string, readonly string[]>> = (() => {
  const all: Record<string, string[]> = {};
  for (const [code, texts] of Object.entries(worded)) all[code] = [...texts];
  for (const { accept, text } of families) all[accept[0]!] = [...(all[accept[0]!] ?? []), text];
  return all;
})();
const collected = batches(written).flatMap(readErrors);

/** An answer depends on the cleaned text alone: what differs only in colours, line ends or prefixes is asked once. */
const answers = new Map<string, ReturnType<typeof explain>>();
function answer(text: string): ReturnType<typeof explain> {
  const key = clean(text);
  const found = answers.get(key) ?? explain(text, { limit: 10 });
  answers.set(key, found);
  return found;
}
const codes = (text: string): readonly string[] => answer(text).map((row) => row.code);

const mutations: Readonly<Record<string, (text: string) => string>> = {
  'as it is': (text) => text,
  coloured: (text) =>
    text
      .split('\n')
      .map((line) => `\u001b[1;31m${line}\u001b[0m`)
      .join('\n'),
  'coloured, escape characters lost': (text) =>
    text
      .split('\n')
      .map((line) => `[31m${line}[0m`)
      .join('\n'),
  'with Windows line ends': (text) => text.replaceAll('\n', '\r\n'),
  'from one rank of many': (text) =>
    text
      .split('\n')
      .map((line) => `[rank3]: ${line}`)
      .join('\n'),
  'in the middle of a log': (text) => [...unrelated.slice(0, 40), text, ...unrelated.slice(40, 70)].join('\n'),
  'after a progress bar': (text) => ` 10%|#         | 1/10\r 20%|##        | 2/10\r${text}`,
};

/** Answered by the second look only. */
const isJoined = (text: string): boolean => (answer(text)[0]?.score ?? 1) < 0.45;

const codesKnown = catalogue.map((row) => row.code);

describe('the catalogue', () => {
  it('has at least 100 classes with stable codes, all with texts, links and steps', () => {
    expect(catalogue.length).toBeGreaterThanOrEqual(100);
    expect(new Set(catalogue.map((row) => row.code)).size).toBe(catalogue.length);
    for (const row of catalogue) {
      expect(row.code).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
      expect(row.links.length).toBeGreaterThan(0);
      for (const link of row.links) expect(link).toMatch(/^https:\/\//);
      const texts = (corpus[row.code]?.length ?? 0) + collected.filter(({ accept }) => accept[0] === row.code).length;
      expect(texts, `${row.code} needs three texts`).toBeGreaterThanOrEqual(3);
      const empty = {
        got: {},
        line: '',
        facts: undefined,
        resolve: () => undefined,
        software: undefined,
        os: undefined,
        vendor: undefined,
      };
      const steps = row.fix(empty);
      expect(steps.length, row.code).toBeGreaterThan(0);
      expect(row.cause(empty)).toMatch(/\w.*\.$/s);
      for (const code of row.explains ?? []) expect(codesKnown, `${row.code} explains ${code}`).toContain(code);
      // What may run by itself holds no placeholder.
      for (const step of steps)
        if (step.automatic)
          expect(step.command?.join(' '), row.code).not.toMatch(/your_script|PACKAGE|NAME|IMAGE|YOUR_|…/);
      // A command is a list of arguments; nothing is left for a shell to split or chain.
      for (const step of steps) for (const part of step.command ?? []) expect(part).not.toMatch(/&&|\||;\s*rm|\n/);
    }
  });

  it('never uses a bare word as a pattern', () => {
    for (const row of catalogue) {
      for (const word of [
        'ImportError',
        'RuntimeError',
        'CUDA',
        'error',
        'Killed by the user',
        'OSError',
        'nvidia',
        'out of memory',
        'torch',
        'failed',
      ]) {
        for (const { re, along } of row.patterns)
          if (!along) expect(re.test(word), `${row.code} matches "${word}"`).toBe(false);
      }
    }
  });
});

for (const [name, mutate] of Object.entries(mutations)) {
  describe(`texts ${name}`, () => {
    for (const [code, texts] of Object.entries(corpus)) {
      it.each(texts.map((text, i) => [i + 1, text] as const))(`${code}, text %i`, (_i, text) => {
        const found = codes(mutate(text));
        expect(found[0]).toBe(code);
        expect(found.filter((other) => other !== code && !(alsoRight[code] ?? []).includes(other))).toEqual([]);
      });
    }
  });
}

describe('texts that people really had', () => {
  it('are at least 300 over all', () => {
    const count = collected.length + batches(unseen).flatMap(readErrors).length;
    expect(count).toBeGreaterThanOrEqual(300);
    expect(collected.every(({ text }) => !/\/(?:home|Users)\/(?!user|nvidia|runner)\w/.test(text))).toBe(true);
  });

  it('are told by the line that says why, whatever vague name of CUDA stands before it', () => {
    const vague = 'failed call to cuInit: CUDA_ERROR_UNKNOWN: unknown error';
    expect(codes(vague)[0]).toBe('cuda-unknown');
    for (const [why, code] of [
      ['kernel version 470.239.6 does not match DSO version 470.256.2', 'nvml-mismatch'],
      ["modprobe: ERROR: could not insert 'nvidia_uvm': Exec format error", 'smi-no-comm'],
    ] as const)
      expect(codes(`${vague}\n${why}`)[0]).toBe(code);
  });

  it('are a report where a table of xFormers has kernels, and an error where it has none', () => {
    const row = (name: string, there: string): string => `memory_efficient_attention.${name}:    ${there}`;
    expect(codes(`${row('cutlassF', 'available')}\n${row('flshattF', 'unavailable')}`)).toEqual([]);
    expect(codes(`${row('cutlassF', 'unavailable')}\n${row('cutlassB', 'unavailable')}`)[0]).toBe('xformers-operator');
  });

  // The limit is chosen for texts that nobody has seen: what it withholds of these is named as the nearest.
  it('of the half that patterns were written with are answered: none wrongly, all but a few', () => {
    const { recall, wrong } = measure(collected, answer);
    expect(wrong).toEqual([]);
    expect(recall).toBeGreaterThanOrEqual(0.97);
  });

  // What each batch gives: it may not fall. No pattern was written with them.
  it.each([
    ['unseen.txt', 0.9, 1],
    ['unseen-blind.txt', 0.72, 0.91],
    ['unseen-common.txt', 0.98, 0.98],
    ['unseen-frameworks.txt', 0.82, 0.9],
    ['unseen-fresh.txt', 0.98, 0.98],
    ['unseen-last.txt', 0.96, 1],
    ['unseen-later.txt', 0.88, 1],
    ['unseen-mixed.txt', 0.91, 1],
    ['unseen-models.txt', 0.99, 1],
    ['unseen-people.txt', 0.9, 1],
    ['unseen-platforms.txt', 0.87, 1],
    ['unseen-projects.txt', 0.85, 1],
    ['unseen-servers.txt', 0.77, 0.9],
    ['unseen-situations.txt', 0.94, 0.96],
    ['unseen-stacks.txt', 0.89, 0.95],
    ['unseen-systems.txt', 0.95, 0.95],
    ['unseen-trainers.txt', 0.85, 0.88],
  ] as const)('of the half that is only measured, %s, are answered as the bench says', (name, least, precise) => {
    const { recall, precision } = measure(readErrors(new URL(name, unseen)), (text) => explain(text));
    expect(recall).toBeGreaterThanOrEqual(least);
    expect(precision).toBeGreaterThanOrEqual(precise);
  });

  // The exam was labelled by somebody who had not seen the program: the batches before it keep their bounds beside it.
  it.each([
    ['all together', 0.89, 0.965, () => true],
    ['without the exam', 0.92, 0.973, ({ pathname }: URL) => !pathname.endsWith('unseen-blind.txt')],
  ] as const)('that are only measured are answered as the page says, %s', (_name, least, precise, among) => {
    const { recall, precision } = measure(batches(unseen).filter(among).flatMap(readErrors), (text) => explain(text));
    expect(recall).toBeGreaterThanOrEqual(least);
    expect(precision).toBeGreaterThanOrEqual(precise);
  });

  it.each(Object.entries(mutations))('%s: have the same first answer', (name, mutate) => {
    const inLog = name === 'in the middle of a log';
    const other = everyNth(collected, inLog ? 40 : 3).filter(({ accept, text }) => {
      const got = codes(mutate(text))[0] ?? 'none';
      // Silence is right where the text by itself is too little, and for what the second look joins in a log.
      const mayBeSilent = answer(text).length === 0 || (inLog && isJoined(text));
      return !accept.includes(got) && !(got === 'none' && mayBeSilent);
    });
    expect(other.map(({ text }) => text)).toEqual([]);
  });

  it('are found in a megabyte of other output', () => {
    const noise = `${unrelated.join('\n')}\n`.repeat(60);
    for (const { accept, text } of everyNth(collected, 107)) {
      const got = explain(`${noise}${text}\n${unrelated.slice(0, 30).join('\n')}`)[0]?.code ?? 'none';
      const mayBeSilent = answer(text).length === 0 || isJoined(text);
      if (got !== 'none' || !mayBeSilent) expect(accept, text).toContain(got);
    }
  });
});

describe('truncated texts', () => {
  it.each(Object.keys(corpus))('%s is still found when the text before and after its line is lost', (code) => {
    for (const text of corpus[code]!) {
      const first = explain(text)[0]!;
      const lines = clean(text).split('\n');
      const near = lines.slice(Math.max(0, first.evidence.lineNumber - 1), first.evidence.lineNumber + 1).join('\n');
      // Classes that read two places of a text (a version and "CUDA available: False") need both.
      if (['not-compiled-cuda', 'nvcc-mismatch', 'build-needs-torch'].includes(code)) continue;
      expect(codes(near)[0]).toBe(code);
    }
  });
});

describe('a large log', () => {
  it('does not join lines that stood far from each other', () => {
    const plain = (count: number): string[] => Array.from({ length: count }, (_, i) => `step ${i} loss 0.43`);
    const lines = ['warning: slow disk', 'a', 'b', 'c', 'loading torch 2.9.0', ...plain(100)];
    const crash = 'Segmentation fault (core dumped)';
    expect(codes([...lines, crash, ...plain(3000)].join('\n'))).toEqual([]);
    expect(codes([...lines, 'torch: loading kernels', crash, ...plain(3000)].join('\n'))).toEqual(['native-crash']);
  });
});

describe('unrelated lines', () => {
  it('are at least 100', () => expect(unrelated.length).toBeGreaterThanOrEqual(100));

  it.each(unrelated)('%s', (line) => {
    expect(codes(line)).toEqual([]);
  });

  it('match nothing all together', () => {
    expect(codes(unrelated.join('\n'))).toEqual([]);
  });

  it('and the empty text match nothing', () => {
    expect(codes('')).toEqual([]);
    expect(codes('\u0000\u0001\ufffd'.repeat(1000))).toEqual([]);
  });
});

describe('values', () => {
  it('are read from an out-of-memory message of either form', () => {
    expect(valuesIn(corpus.oom![0]!)).toMatchObject({
      tried: '2.50 GiB',
      total: '23.65 GiB',
      free: '1.10 GiB',
      allocated: '18.00 GiB',
      reserved: '3.90 GiB',
    });
    expect(valuesIn(corpus.oom![1]!)).toMatchObject({
      tried: '734.00 MiB',
      total: '7.79 GiB',
      free: '500.00 MiB',
      allocated: '5.20 GiB',
      reserved: '6.01 GiB',
    });
    expect(bytesOf('1.5 GiB')).toBe(1.5 * 1024 ** 3);
  });

  it('fill the cause and choose the steps', () => {
    const [first] = explain(corpus.oom![0]!);
    expect(first!.cause).toBe(
      'The program wants more memory than the GPU has left: it asked for 2.50 GiB, 1.10 GiB was free, of 23.65 GiB.',
    );
    expect(first!.fix[0]!.command).toContain('PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True');
    const small = explain(
      'CUDA out of memory. Tried to allocate 8.00 GiB. 1.00 GiB is reserved by PyTorch but unallocated',
    );
    expect(small[0]!.fix[0]!.command).toBeUndefined();
  });

  it('decode the CUDA version in a driver message', () => {
    expect(explain(corpus['driver-too-old']![0]!)[0]!.cause).toMatch(/it offers CUDA 11\.4/);
  });

  it('name the Xid and what it means', () => {
    const [first] = explain(corpus.xid![0]!);
    expect(first!.cause).toBe('Xid 79 on PCI:0000:01:00: the GPU has fallen off the bus.');
    expect(explain(corpus.xid![3]!)[0]!.cause).toMatch(/Xid 137 .* NVIDIA's list/);
  });

  it('take a number for a CUDA error only where the text says so', () => {
    expect(cudaNumbers('CUDA error 700 at x').map((row) => row.number)).toEqual([700]);
    expect(cudaNumbers('Error 404: page not found')).toEqual([]);
    expect(cudaNumbers('CUDA 12.8 returned 12.8')).toEqual([]);
    expect(cudaNumbers('HTTP 500 returned 100 times')).toEqual([]);
  });
});

describe('the facts of the machine', () => {
  it('give the exact build to reinstall', () => {
    const [first] = explain(corpus['no-kernel-image']![0]!, { machine: machines['gtx1080ti-580']! });
    expect(first!.fix[0]).toMatchObject({
      automatic: true,
      needsRoot: false,
      command: [
        'python',
        '-m',
        'pip',
        'install',
        '--force-reinstall',
        '--extra-index-url',
        'https://download.pytorch.org/whl/cu126',
        'torch==2.14.1+cu126',
      ],
    });
    expect(first!.cause).toMatch(/GTX 1080 Ti \(6\.1\), driver 580\.95\.05/);
    expect(first!.evidence.facts).toContain('driver 580.95.05');
  });

  it('rule classes out', () => {
    expect(explain('bash: nvidia-smi: command not found', { machine: machines.mi300x! })).toEqual([]);
    expect(explain('bash: nvidia-smi: command not found', { machine: machines['rtx4090-595']! })[0]!.code).toBe(
      'smi-missing',
    );
    expect(explain(corpus['wsl-lib']![0]!, { machine: machines['rtx4090-595']! })).toEqual([]);
    expect(explain(corpus['wsl-lib']![0]!, { machine: machines['rtx4090-wsl']! })[0]!.code).toBe('wsl-lib');
  });

  it('raise the confidence when they confirm', () => {
    const without = explain('bash: nvidia-smi: command not found')[0]!;
    const withFacts = explain('bash: nvidia-smi: command not found', { machine: machines['rtx4090-595']! })[0]!;
    expect(withFacts.score).toBeGreaterThan(without.score);
  });

  it('tell which of several causes it is', () => {
    const hidden = { ...machines['rtx4090-595']!, visibility: [{ name: 'CUDA_VISIBLE_DEVICES', value: '' }] };
    expect(explain('RuntimeError: No CUDA GPUs are available', { machine: hidden })[0]!.cause).toMatch(
      /CUDA_VISIBLE_DEVICES is ""/,
    );
    const held = machine({ gpus: [nvidia('x', '8.9', 8, { boundDriver: known('nouveau', 'sysfs') })], driver: null });
    expect(explain(corpus['smi-no-comm']![0]!, { machine: held })[0]!.cause).toMatch(/nouveau holds the card/);
  });

  it('say what to do where no build fits', () => {
    const [first] = explain(corpus['ptxas-arch']![1]!, { machine: machines['rtx5090-580']! });
    expect(first!.cause).toMatch(/sm_120/);
    const tf = explain(corpus['tf-no-gpu']![0]!, { machine: machines['rtx5090-580']! })[0]!;
    expect(tf.fix.map((step) => step.text).join('\n')).toMatch(/Way out: .*pytorch/);
  });
});

describe('ranking', () => {
  it('puts a code before a phrase and a phrase before a weak sign', () => {
    const text = 'Killed\nFailed to initialize NVML: Unknown Error\nCUDA_ERROR_ILLEGAL_ADDRESS';
    expect(codes(text)).toEqual(['illegal-access', 'nvml-unknown', 'host-oom']);
    const rows = explain(text, { limit: 10 });
    expect(rows.map((row) => row.confidence)).toEqual(['high', 'medium', 'low']);
  });

  it('does not depend on the length of the text', () => {
    const short = explain('CUDA error: device-side assert triggered')[0]!.score;
    const long = explain(`${unrelated.join('\n')}\n`.repeat(20).concat('CUDA error: device-side assert triggered'))[0]!
      .score;
    expect(long).toBe(short);
  });

  it('prefers the last of two equal matches: the end of a traceback is the error', () => {
    expect(codes('an illegal memory access was encountered\nFailed to initialize NVML: Unknown Error')[0]).toBe(
      'nvml-unknown',
    );
  });

  it('reads a megabyte of log in bounded time', () => {
    const log = `${unrelated.join('\n')}\n`.repeat(200);
    const start = performance.now();
    explain(`${log}CUDA error: device-side assert triggered`);
    expect(performance.now() - start).toBeLessThan(within(5000));
  });
});

describe('messages that every stack prints', () => {
  it.each([
    ['CUDA error: out of memory', 'oom'],
    ['cudaMalloc failed: out of memory', 'oom'],
    ['RuntimeError: Found no NVIDIA driver on your system.', 'driver-missing'],
    ['PyTorch no longer supports this GPU because it is too old.', 'no-kernel-image'],
    ['Installed CUDA version 12.2 does not match the version torch was compiled with 11.8', 'nvcc-mismatch'],
    ['CUDA_HOME does not exist, unable to compile CUDA op(s)', 'nvcc-missing'],
    ['[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE)', 'nccl-timeout'],
    ['RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR', 'cudnn-failed'],
    ['RuntimeError: PyTorch was compiled without XPU support', 'xpu-none'],
    ["`torch==2.7.0` can't be installed because it has no wheel for the current platform", 'no-matching-dist'],
    ['llama_model_load: error loading model: unknown model architecture: qwen9', 'gguf-arch'],
    ['Error: llama runner process has terminated: exit status 2', 'ollama-runner'],
    ["error: command '/usr/local/cuda/bin/nvcc' failed with exit status 2", 'build-failed'],
    ['NCCL WARN Error while creating shared memory segment /dev/shm/nccl-x: No space left on device', 'shm'],
  ])('%s', (text, code) => expect(codes(text)[0]).toBe(code));
});

describe('the nine everyday errors', () => {
  it.each([
    ['CUDA error: no kernel image is available for execution on the device', 'no-kernel-image'],
    ['Failed to initialize NVML: Driver/library version mismatch', 'nvml-mismatch'],
    ['The NVIDIA driver on your system is too old (found version 11040)', 'driver-too-old'],
    ['Torch not compiled with CUDA enabled', 'not-compiled-cuda'],
    ['could not select device driver "" with capabilities: [[gpu]]', 'docker-gpu'],
    ['HIP error: invalid device function', 'hip-invalid-fn'],
    ['CUDA out of memory. Tried to allocate 20.00 MiB', 'oom'],
    ['ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory', 'cudnn-missing'],
    ['bash: conda: command not found', 'conda-missing'],
  ])('%s', (text, code) => expect(codes(text)[0]).toBe(code));
});
