import { describe, expect, it } from 'vitest';
import { learn } from '../../../../scripts/forge-learn.mjs';
import { readErrors, written } from '../../../../test/forge/errors/read.mjs';
import { UNIT } from './evidence.ts';
import { wordsOf } from './words.ts';

/** A few hundred labelled texts, so that learning takes no time. */
const lessons = readErrors(new URL('families.txt', written)).map(({ accept, text }) => ({
  classes: accept,
  text,
  words: wordsOf(text),
}));

/** Every weight, by word and class. */
function weightsOf({ vocabulary, classes, rows }: ReturnType<typeof learn>): ReadonlyMap<string, number> {
  return new Map(
    vocabulary.flatMap((word, at) => rows[at]!.map(([c, weight]) => [`${word} ${classes[c]}`, weight] as const)),
  );
}

describe('learning which words speak for which class', () => {
  it('gives the same weights whatever the order of the texts', () => {
    const odd = lessons.filter((_, i) => i % 2 === 1);
    const even = lessons.filter((_, i) => i % 2 === 0);
    const one = learn(lessons);
    for (const order of [lessons.toReversed(), [...odd, ...even]]) expect(learn(order)).toEqual(one);
    expect(weightsOf(one).size).toBeGreaterThan(500);
  });

  it('has come to rest: twice the steps move no weight by a unit of the table', () => {
    const some = weightsOf(learn(lessons, 600));
    const more = weightsOf(learn(lessons, 1200));
    const moved = [...new Set([...some.keys(), ...more.keys()])].map((key) =>
      Math.abs((some.get(key) ?? 0) - (more.get(key) ?? 0)),
    );
    expect(Math.max(...moved)).toBeLessThan(UNIT);
  });

  it('lets a word speak for the class whose texts have it, and for no class that never has it', () => {
    const text = (classes: readonly string[], ...words: readonly string[]) => ({
      classes,
      text: words.join(' '),
      words: new Map(words.map((word) => [word, 1])),
    });
    const learnt = learn([
      text(['oom'], 'memory', 'cuda'),
      text(['oom'], 'memory', 'full'),
      text(['xid'], 'xid', 'cuda'),
      text(['xid'], 'xid', 'full'),
    ]);
    const weights = weightsOf(learnt);
    expect(weights.get('memory oom')).toBeGreaterThan(0);
    expect(weights.get('xid xid')).toBeGreaterThan(0);
    expect(weights.has('memory xid')).toBe(false);
    expect(weights.get('cuda oom') ?? 0).toBeCloseTo(0, 2);
  });
});
