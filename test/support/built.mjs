// Before any test: dist/ is up to date. Some tests run what is built, in processes of their own, and `npm start` builds what is old:
// done while other tests run, that would pull the files away under them.

import { ensureBuilt } from '../../scripts/build.mjs';

export function setup() {
  ensureBuilt();
}
