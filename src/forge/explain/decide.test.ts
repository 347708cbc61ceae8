import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { catalogue } from './catalogue/index.ts';
import { ANSWER, chance, clearerCode, guess, wordsAround } from './decide.ts';
import { sharesOf } from './evidence/evidence.ts';
import { wordsOf } from './evidence/words.ts';
import { explain, explainText } from './explain.ts';
import { thirdLook } from './third-look.ts';

describe('the words of a text', () => {
  it('are the same whatever its case and numbers, and hold the parts of joined names', () => {
    const words = (text: string): readonly string[] => [...wordsOf(text).keys()].sort();
    expect(words('malloc FAILED in sm_90 after 300 MB')).toEqual(words('MALLOC failed in SM_75 after 7 MB'));
    expect(words('cudaMalloc')).toEqual(['+cuda', '+malloc', 'cudamalloc', 'vendor:nvidia']);
  });

  it('are not taken from records, links or the folders of a path', () => {
    const words = wordsOf('NCCL INFO failed\nerror in /opt/secret/vendor/lib/libx.so, see https://example.org/nothing');
    expect(words.has('nccl')).toBe(false);
    expect(words.has('secret')).toBe(false);
    expect(words.has('nothing')).toBe(false);
    expect(words.has('libx')).toBe(true);
  });

  it('weigh more in a line that reports a fault', () => {
    expect(wordsOf('cudnn failed').get('cudnn')).toBe(1);
    expect(wordsOf('cudnn is here').get('cudnn')).toBeLessThan(1);
  });
});

describe('the table of words', () => {
  it('is of the labelled texts that are there', () => {
    const script = fileURLToPath(new URL('../../../scripts/forge-evidence.mjs', import.meta.url));
    expect(execFileSync(process.execPath, [script, '--check'], { encoding: 'utf8' })).toContain('up to date');
  });

  it('speaks of classes that exist, in shares that add up', () => {
    const shares = sharesOf('RuntimeError: CUDA error: out of memory');
    const codes = new Set([...catalogue.map(({ code }) => code), 'none']);
    expect([...shares.keys()].filter((code) => !codes.has(code))).toEqual([]);
    expect([...shares.values()].reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 9);
    expect([...shares].reduce((best, row) => (row[1] > best[1] ? row : best))[0]).toBe('oom');
  });

  it('gives a text without a known word no opinion but its own', () => {
    expect(guess(sharesOf('qwxz vbnm'))).toBeUndefined();
    expect(guess(sharesOf(''))).toBeUndefined();
  });
});

describe('a class that is often right beside the one found', () => {
  const words = (gpu: number, cli: number, xid = 0) =>
    new Map([
      ['docker-gpu', gpu],
      ['docker-nvidia-cli', cli],
      ['xid', xid],
      ['none', 1 - gpu - cli - xid],
    ]);

  it('takes its place where the words speak for it clearly: for a wording of its own much more so than for a family', () => {
    expect(clearerCode('docker-nvidia-cli', 'family', words(0.5, 0.2))).toBe('docker-gpu');
    expect(clearerCode('docker-nvidia-cli', 'family', words(0.5, 0.3))).toBeUndefined();
    expect(clearerCode('docker-nvidia-cli', 'family', words(0.3, 0))).toBeUndefined();
    expect(clearerCode('docker-nvidia-cli', 'code', words(0.5, 0))).toBeUndefined();
    expect(clearerCode('docker-nvidia-cli', 'code', words(0.7, 0.1))).toBe('docker-gpu');
  });

  it('leaves a symptom, the class itself and a class that is never right beside it', () => {
    expect(clearerCode('docker-nvidia-cli', 'symptom', words(0.9, 0))).toBeUndefined();
    expect(clearerCode('docker-gpu', 'family', words(0.9, 0))).toBeUndefined();
    expect(clearerCode('docker-gpu', 'family', words(0, 0, 0.9))).toBeUndefined();
    expect(clearerCode('docker-gpu', 'family', new Map())).toBeUndefined();
  });
});

describe('the third look', () => {
  const told = 'RuntimeError: CUDA error: out of memory';

  it('finds the line whose words speak clearly for the class that the whole text speaks for', () => {
    expect(thirdLook(`loading\n${told}`)).toMatchObject({ code: 'oom', offset: 8 });
  });

  it('finds nothing in a line of few known words, though they are those of one class', () => {
    for (const line of [
      '* margin of error',
      '### Display error',
      'program.showHelpAfterError();',
      'assertMemory failed',
    ])
      expect(explain(line), line).toEqual([]);
  });

  it('finds nothing in an empty text, in ordinary output, in what a person tells, and in a long log', () => {
    for (const text of [
      '',
      '\n\n',
      'step 12 loss 0.43',
      "I think it failed, my GPU's CUDA ran out of memory",
      `${told}\n${'x '.repeat(3000)}`,
    ])
      expect(thirdLook(text), text.slice(0, 40)).toBeUndefined();
  });
});

describe('an answer', () => {
  const shared = (oom: number, xid: number, none = 1 - oom - xid) =>
    new Map([
      ['oom', oom],
      ['xid', xid],
      ['none', none],
    ]);

  it('is no less sure the more specific its pattern is', () => {
    const order = (['joined', 'family', 'weak', 'symptom', 'phrase', 'capture', 'code', 'named'] as const).map(
      (ground) => chance('oom', ground, shared(0.25, 0.25)),
    );
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(order[0]!).toBeLessThan(order.at(-1)!);
  });

  it('of a family is given where the words agree and not where they speak for another class', () => {
    expect(chance('oom', 'family', shared(0.8, 0.01))).toBeGreaterThan(ANSWER);
    expect(chance('oom', 'family', shared(0.001, 0.9))).toBeLessThan(ANSWER);
  });

  it('is as sure whether or not the words may be of an ordinary line', () => {
    expect(chance('oom', 'phrase', shared(0.2, 0.1, 0.7))).toBe(chance('oom', 'phrase', shared(0.2, 0.1, 0)));
  });

  it('is a probability, whatever the words', () => {
    for (const words of [new Map(), shared(1, 0), shared(0, 1)])
      for (const ground of ['family', 'code'] as const) {
        expect(chance('oom', ground, words)).toBeGreaterThan(0);
        expect(chance('oom', ground, words)).toBeLessThan(1);
      }
  });

  it('counts only the words around its line', () => {
    const noise = Array.from({ length: 40 }, () => 'vkCreateInstance failed: VK_ERROR_INCOMPATIBLE_DRIVER').join('\n');
    const error = 'RuntimeError: CUDA error: out of memory';
    const plain = Array.from({ length: 10 }, () => 'step').join('\n');
    const text = `${noise}\n${plain}\n${error}`;
    const [near] = wordsAround(text, text.indexOf('RuntimeError'), 'family');
    expect(near!.get('oom')).toBeGreaterThan(near!.get('vulkan-driver') ?? 0);
  });

  it('that is doubtful is named as the nearest, without steps', () => {
    const text = 'the cuda widget of our shop failed to ship: order number not found';
    expect(explain(text)).toEqual([]);
    const { explanations, nearest } = explainText(text);
    expect(explanations).toEqual([]);
    for (const row of nearest) expect(Object.keys(row).sort()).toEqual(['code', 'line', 'lineNumber', 'title']);
  });
});
