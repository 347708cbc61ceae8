// The least a page can do with batches.

import { batchElementwise, createBatch } from '../../src/batch/index.ts';

await using batch = createBatch([1, 2, 3]);
const squares = await batchElementwise([Float32Array.of(1, 2, 3)], 'square');
document.body.textContent = `${await batch.executeParallel((n) => 2 * n)} ${squares[0]}`;
