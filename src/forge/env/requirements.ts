// requirements.txt: exact versions wherever one is confirmed for the chosen Python, and the index of the build.

import { comments } from '../text/quote.ts';
import { type EnvPlan, specOf, spell } from './plan.ts';

export function writeRequirements(plan: EnvPlan): string {
  const { choice, selection } = plan;
  const open = selection.packages.filter((use) => use.pin === null);
  return [
    comments(plan.madeFor),
    comments([`Install: python${plan.python} -m venv .venv, activate it, python -m pip install -r requirements.txt`]),
    ...(open.length > 0
      ? [
          comments([
            `Not pinned, because no exact version is confirmed for Python ${plan.python}: ${open.map((use) => use.name).join(', ')}.`,
          ]),
        ]
      : []),
    ...Object.entries(choice.environment).map(([name, value]) => comments([`Set ${name}=${value} when you run it.`])),
    '',
    ...(plan.pypiIndex ? [`--index-url ${plan.pypiIndex}`] : []),
    ...(choice.index ? [`--extra-index-url ${choice.index.url}`] : []),
    ...plan.framework.map((row) => spell(row, row.spec)),
    ...selection.packages.map((use) => spell(use, specOf(use, true))),
    '',
  ].join('\n');
}
