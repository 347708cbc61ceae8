// Installing on the real machine.

import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '../doctor/programs.ts';
import type { Ports } from '../ports.ts';
import type { InstallPort } from './install.ts';

export function nodeInstallPort(ports: Ports): InstallPort {
  return {
    run: (program, args, cwd, hear) =>
      new Promise((resolve) => {
        // uv and pixi draw their progress where they write errors: on a pipe they would draw none.
        const listens = hear !== undefined && program !== 'uv' && program !== 'pixi';
        const child = spawn(program, [...args], { cwd, stdio: ['ignore', 'inherit', listens ? 'pipe' : 'inherit'] });
        child.stderr?.setEncoding('utf8').on('data', (text: string) => {
          process.stderr.write(text);
          hear?.(text);
        });
        child.on('error', () => resolve(null));
        child.on('close', (status) => resolve(status ?? 1));
      }),
    has: (program) => findProgram(ports, program) !== undefined,
    pythonVersion(program) {
      const asked = ['-c', 'import sys; print("%d.%d" % sys.version_info[:2])'];
      const { status, stdout } = spawnSync(program, asked, {
        encoding: 'utf8',
        timeout: 5000,
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      return status === 0 ? stdout.trim() : undefined;
    },
    platform: `${ports.platform}-${ports.arch}`,
    freeBytes(folder) {
      try {
        const { bavail, bsize } = fs.statfsSync(folder);
        return bavail * bsize;
      } catch {
        return undefined;
      }
    },
    isRoot: ports.user?.uid === 0,
    hashes(folder) {
      if (!fs.existsSync(folder)) return {};
      const names = fs.readdirSync(folder).filter((name) => fs.lstatSync(join(folder, name)).isFile());
      return Object.fromEntries(names.map((name) => [name, digest(join(folder, name))]));
    },
    read: (file) => (fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : undefined),
    write: (file, text) => fs.writeFileSync(file, text),
  };
}

/** A wheel may be gigabytes: read in parts. */
function digest(file: string): string {
  const hash = createHash('sha256');
  const handle = fs.openSync(file, 'r');
  try {
    const buffer = Buffer.allocUnsafe(1024 * 1024);
    for (let read = fs.readSync(handle, buffer); read > 0; read = fs.readSync(handle, buffer))
      hash.update(buffer.subarray(0, read));
  } finally {
    fs.closeSync(handle);
  }
  return hash.digest('hex');
}
