import { describe, expect, it } from 'vitest';
import { readErrors, written } from '../../../test/forge/errors/read.mjs';
import { everyNth } from '../../../test/support/extent.ts';
import { catalogue } from './catalogue/index.ts';
import { clean } from './clean.ts';
import { Haystack } from './haystack.ts';
import { needsOf, needsOfPattern } from './needs.ts';

describe('what a pattern needs', () => {
  it.each<[RegExp, readonly (readonly string[])[]]>([
    [/CUDA error/, [['cuda error']]],
    [/\bnvcc\b.*fatal/, [['nvcc'], ['fatal']]],
    [/out of (?:gpu|device) memory/i, [['out of '], ['gpu', 'device'], [' memory']]],
    [/colou?rs/, [['colo']]],
    [/fail(?:ed)? to load/, [['fail'], [' to load']]],
    [/(?<name>libcud\w+)\.so/, [['libcud'], ['.so']]],
    [/abc+def/, [['abc'], ['def']]],
    [/ab{0,3}cdef/, [['cdef']]],
    [/[Ff]alling/, [['falling']]],
    [/(?=[^\n]*torch)(?!.*warn)[^\n]*missing/, [['torch'], ['missing']]],
    [/(?<!not )found\.\.\./, [['found...']]],
    [/\[WinError \d+\]/, [['[winerror ']]],
  ])('%s', (re, needs) => {
    expect(needsOf(re)).toEqual(needs);
  });

  it.each([/\d+|abc/, /.*/, /[a-z]+/, /ab|cdef/, /(?:abc)?/, /\u00e9t/])(
    '%s needs nothing that can be looked for',
    (re) => {
      expect(needsOf(re)).toEqual([]);
    },
  );

  it('is in every text that the pattern matches', () => {
    const patterns = catalogue.flatMap(({ code, patterns: of }) => of.map((pattern) => ({ code, pattern })));
    const lost: string[] = [];
    let matched = 0;
    for (const { text } of everyNth(readErrors(written), 23)) {
      const cleaned = clean(text);
      const words = new Haystack(cleaned);
      for (const { code, pattern } of patterns) {
        if (!pattern.re.test(cleaned) || (pattern.along && !pattern.along.test(cleaned))) continue;
        matched++;
        if (!words.meets(needsOfPattern(pattern))) lost.push(`${code}: ${pattern.re.source}`);
      }
    }
    expect(lost).toEqual([]);
    expect(matched).toBeGreaterThan(100);
  });

  it('rules out nearly all of the catalogue for an ordinary text', () => {
    const words = new Haystack('Epoch 3/10, step 1200: loss 0.4312');
    const left = catalogue
      .flatMap(({ patterns }) => patterns)
      .filter((pattern) => words.meets(needsOfPattern(pattern)));
    expect(left.length).toBeLessThan(10);
  });
});
