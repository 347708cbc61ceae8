// The doctor's world on the real machine.

import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeFolder } from '../../base/folder.ts';
import type { Ports } from '../ports.ts';
import type { FixPort } from './fix.ts';
import type { World } from './types.ts';

export function nodeWorld(ports: Ports): World {
  const here = path.dirname(fileURLToPath(import.meta.url));
  return {
    ports,
    cwd: process.cwd(),
    packageRoots: [...new Set([process.cwd(), here])],
    freeBytes(place) {
      try {
        const { bavail, bsize } = fs.statfsSync(place);
        return bavail * bsize;
      } catch {
        return undefined;
      }
    },
    reach,
  };
}

async function reach(
  host: string,
  timeoutMs: number,
  port: number,
): Promise<{ readonly ok: boolean; readonly detail: string }> {
  const { connect } = await import('node:net');
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (ok: boolean, detail: string) => {
      socket.destroy();
      resolve({ ok, detail });
    };
    // The socket's own limit starts with the connection, not with the look-up of the name.
    const timer = setTimeout(() => end(false, `no answer within ${timeoutMs} ms`), timeoutMs);
    socket.on('connect', () => {
      clearTimeout(timer);
      end(true, 'reached');
    });
    socket.on('error', (error) => {
      clearTimeout(timer);
      end(false, error.message);
    });
  });
}

export const nodeFixPort: FixPort = {
  create(file, text) {
    try {
      makeFolder(fs, path.dirname(file));
      fs.writeFileSync(file, text, { flag: 'wx' });
      return 'written';
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'EEXIST' ? 'exists' : 'failed';
    }
  },
};
