// Before any test: dist/ is up to date. Some tests run what is built, in processes of their own, and `npm start` builds what is old:
// done while other tests run, that would pull the files away under them. `GPUFORGE_TEST_DIST=keep` takes dist/ as it is.

import { ensureBuilt } from '../../scripts/build.mjs';

export function setup() {
  if (process.env.GPUFORGE_TEST_DIST !== 'keep') ensureBuilt();
}
