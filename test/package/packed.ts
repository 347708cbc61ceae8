// The package as `npm publish` would send it, unpacked in a project of its own: what users get, and nothing else.

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '../..');

export interface Project {
  readonly folder: string;
  /** The packed file. */
  readonly tarball: string;
  /** Paths inside the package. */
  readonly files: readonly string[];
  /** Writes a file of the project and gives its path. */
  write(name: string, text: string): string;
  /** Makes a package of this repository's node_modules one of the project. */
  link(name: string): void;
  remove(): void;
}

/** A project whose only dependencies are the packed package and what the package itself depends on. */
export function packedProject(): Project {
  const folder = mkdtempSync(join(tmpdir(), 'gpuforge-packed-'));
  const packed = execFileSync('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    shell: process.platform === 'win32',
  });
  const [{ filename, files }] = JSON.parse(packed) as [{ filename: string; files: { path: string }[] }];
  const tarball = join(folder, filename);
  const home = join(folder, 'node_modules', 'gpuforge');
  mkdirSync(home, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', home]);
  const project: Project = {
    folder,
    tarball,
    files: files.map((f) => f.path),
    write: (name, text) => {
      const path = join(folder, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
      return path;
    },
    link: (name) => {
      const path = join(folder, 'node_modules', name);
      mkdirSync(dirname(path), { recursive: true });
      symlinkSync(join(root, 'node_modules', name), path, 'junction');
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
  project.link('commander');
  project.write('package.json', JSON.stringify({ name: 'project', private: true, type: 'module' }));
  return project;
}
