// The least a page can do with the package: what is measured for the size of a bundle.

import { createRuntime } from '../../src/index.ts';

const rt = await createRuntime();
document.body.textContent = String(await rt.tensor([1, 2, 3]).mul(2).data());
