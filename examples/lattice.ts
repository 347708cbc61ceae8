// A path around a wall, a picture of distances, and walks counted in borrowed memory: `node --experimental-strip-types examples/lattice.ts`
// after `npm run build`.

import { createRuntime } from 'gpuforge';
import { Lattice } from 'gpuforge/lattice';

await using runtime = await createRuntime();
const size = 10;
// A wall in column 4 with a gap at the bottom.
const wall = Array.from({ length: size - 1 }, (_, row) => row * size + 4);
const lattice = new Lattice({ dimensions: 2, size, blocked: wall, runtime });

const { path, length } = await lattice.shortestPath(0, 9);
const distances = await lattice.distancesFrom(0);
console.log(`From corner to corner around the wall: ${length} steps.`);
for (let row = 0; row < size; row++) {
  const cells = Array.from({ length: size }, (_, column) => {
    const v = row * size + column;
    const text = distances[v]! < 0 ? '██' : String(distances[v]).padStart(2);
    return path.includes(v) ? `[${text}]` : ` ${text} `;
  });
  console.log(cells.join(''));
}

// Live data lends its memory, and is what it was.
const busy = Array.from({ length: 2 * (length + 1) }, (_, i) =>
  runtime.random.normal([2 * size * size], { seed: i }).compute(),
);
const before = await Promise.all(busy.map((t) => t.bytes()));
const walks = await lattice.countWalks(0, 9, length, { buffers: busy });
const after = await Promise.all(busy.map((t) => t.bytes()));
const same = before.every((bytes, i) => bytes.every((b, k) => b === after[i]![k]));
console.log(`${walks} shortest paths, counted in the memory of ${busy.length} live tensors; unchanged: ${same}.`);
await lattice.dispose();
