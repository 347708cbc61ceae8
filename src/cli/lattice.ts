// `gpuforge lattice`: grids on the command line.

import type { Command } from 'commander';
import type { LatticeFlags } from './lattice-show.ts';

const examples = `
Examples:
  gpuforge lattice path 0 9999                       the shortest path in the lattice (4, 10)
  gpuforge lattice analyse -d 2 -n 5 --blocked 6,7   what is left around two blocked vertices
  gpuforge lattice build -d 3 -n 50 --device gpu     its adjacency, on a GPU
  gpuforge lattice demo                              distances around walls, and walks in borrowed memory
`;

export function register(program: Command): void {
  const lattice = program
    .command('lattice')
    .description('paths, structure and walks on grids')
    .addHelpText('after', examples);
  const command = (name: string, description: string): Command =>
    lattice
      .command(name)
      .description(description)
      .option('--device <device>', 'auto, gpu, cpu or the id of a device', 'auto')
      .option('--json', 'machine-readable output, schema gpuforge.lattice/1');
  const add = (name: string, description: string): Command =>
    command(name, description)
      .option('-d, --dimensions <d>', '1 to 10', '4')
      .option('-n, --size <n>', 'vertices along each axis, 2 to 100', '10')
      .option('--blocked <vertices>', 'vertices that cannot be entered: 5,6,7');
  const run = async (what: string, flags: LatticeFlags, ends: readonly string[] = []): Promise<void> => {
    const [{ runLattice }, { processOutput }] = await Promise.all([
      import('./lattice-show.ts'),
      import('../forge/style.ts'),
    ]);
    process.exitCode = await runLattice(what, flags, processOutput(), ends);
  };
  add('build', 'compute the adjacency on a device').action((flags: LatticeFlags) => run('build', flags));
  add('path', 'find a shortest path')
    .argument('<from>', 'a vertex')
    .argument('<to>', 'a vertex')
    .action((from: string, to: string, flags: LatticeFlags) => run('path', flags, [from, to]));
  add('analyse', 'count vertices and edges, find the diameter')
    .alias('analyze')
    .action((flags: LatticeFlags) => run('analyse', flags));
  command('demo', 'a picture of distances around walls, and walks counted in borrowed memory').action(
    (flags: LatticeFlags) => run('demo', flags),
  );
}
