// What a tool's own words mean: the likeliest explanation with its steps, where one is known.

import { explain } from '../explain/explain.ts';
import type { Explanation } from '../explain/types.ts';
import type { Output } from '../style.ts';
import { shell } from '../text/quote.ts';

export function writeExplanation(text: string, output: Pick<Output, 'write'>): readonly Explanation[] {
  const found = explain(text, {});
  const [first] = found;
  if (!first) return found;
  output.write(`\n${first.title}\n`);
  first.fix.forEach((step, i) => {
    output.write(`  ${i + 1}. ${step.text}\n`);
    if (step.command) output.write(`       ${step.command.map(shell).join(' ')}\n`);
  });
  return found;
}
