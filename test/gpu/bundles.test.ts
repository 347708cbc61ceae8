// What runs on GPU hosts is bundled there and nowhere else: an import that leads nowhere, or a part of vitest that its stand-in lacks,
// would be seen by nobody else.

import { expect, it } from 'vitest';
import { problemsOfBundles } from '../../scripts/gpu-bundles.mjs';

it('all that runs on GPU hosts can be bundled', async () => {
  expect(await problemsOfBundles()).toEqual([]);
});
