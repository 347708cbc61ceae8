// The lattice's works with graphology: a process of its own, asked and answering in lines of JSON, as python_side.py.

import { createInterface } from 'node:readline';
import graphology from 'graphology';
import { bidirectional, singleSourceLength } from 'graphology-shortest-path/unweighted.js';

const { UndirectedGraph } = graphology;

function lattice(d, n) {
  const graph = new UndirectedGraph();
  const vertices = n ** d;
  for (let v = 0; v < vertices; v++) graph.addNode(v);
  for (let v = 0; v < vertices; v++)
    for (let stride = 1; stride < vertices; stride *= n)
      if (Math.floor(v / stride) % n < n - 1) graph.addEdge(v, v + stride);
  return graph;
}

/** Time on the wall, or of the processor. */
const clock = process.argv.includes('--cpu')
  ? () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    }
  : () => performance.now();

const kept = new Map();
const once = (d, n) => kept.get(`${d} ${n}`) ?? kept.set(`${d} ${n}`, lattice(d, n)).get(`${d} ${n}`);

const works = {
  'build (4, 10)': () => {
    const graph = lattice(4, 10);
    return [graph.order, graph.size];
  },
  'path in (4, 10)': () => [bidirectional(once(4, 10), 0, 9999).length - 1],
  'distances in (4, 10)': () => {
    const found = singleSourceLength(once(4, 10), 0);
    return [found[9999], Object.keys(found).length];
  },
};

const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
say({ version: '0.26.0', works: Object.keys(works) });
for await (const line of createInterface({ input: process.stdin })) {
  const { command, work, seconds } = JSON.parse(line);
  if (command === 'quit') {
    say({});
    break;
  }
  const run = works[work];
  if (!run) say({ error: 'has no such work' });
  else if (command === 'check') say({ result: run() });
  else {
    const samples = [];
    const end = performance.now() + 1000 * seconds;
    while (samples.length === 0 || performance.now() < end) {
      const start = clock();
      run();
      samples.push(clock() - start);
    }
    say({ samples });
  }
}
