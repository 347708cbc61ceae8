// Conway's Game of Life on a board without edges.

import { fileURLToPath } from 'node:url';
import { createRuntime } from 'gpuforge';

/** A board [height, width] of 0 and 1 → the board after some generations. */
export function life(rt, board, generations) {
  const next = rt.compile((b) => {
    const rows = b.add(b.roll(1, 0)).add(b.roll(-1, 0));
    const neighbours = rows.add(rows.roll(1, 1)).add(rows.roll(-1, 1)).sub(b);
    const born = neighbours.equal(3);
    const stays = neighbours.equal(2).logicalAnd(b.equal(1));
    return born.logicalOr(stays).cast('f32');
  });
  for (let i = 0; i < generations; i++) board = next(board);
  return board;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rt = await createRuntime();
  const start = rt.random.bernoulli([24, 60], { seed: 1, p: 0.3 }).cast('f32');
  const board = await life(rt, start, 100).array();
  for (const row of board) console.log(row.map((cell) => (cell ? '#' : '.')).join(''));
  await rt.close();
}
