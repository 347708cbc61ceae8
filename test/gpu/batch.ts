// Operations on lists on a GPU host: random lists on CUDA against a loop over their items; without CUDA it fails.
//
//   node dist/gpu/batch-test.mjs [LISTS]
//
// Made by `node scripts/test-gpu.mjs --build`.

import { collectGarbage } from '../../src/base/garbage.ts';
import { createRuntime } from '../../src/index.ts';
import { compare, compareProducts } from '../batch/random-lists.ts';

const lists = Number(process.argv[2] ?? 1000);
const rt = await createRuntime({ devices: ['cuda'] });
// What a runtime keeps for all of its batches is there after the first.
await compare(rt, 20);
/** Tensors that nobody can reach any more are none. */
const living = async (): Promise<number> => {
  for (let i = 0; i < 3; i++) {
    rt.stats();
    await collectGarbage();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return rt.stats().tensors;
};
const live = await living();
const items = await compare(rt, lists);
await compareProducts(rt, Math.ceil(lists / 5));
const left = (await living()) - live;
await rt.close();
console.log(
  `${lists} random lists with ${items} items and ${Math.ceil(lists / 5)} lists of products: as each item alone; ${left} tensors left`,
);
process.exit(left === 0 ? 0 : 1);
