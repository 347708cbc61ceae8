// Finds programs on the path and packages beside the code, by looking for their files; nothing is run.

import type { Ports } from '../ports.ts';

export function findProgram(ports: Ports, name: string): string | undefined {
  const windows = ports.platform === 'windows';
  const path = ports.env.PATH ?? ports.env.Path ?? '';
  for (const folder of path.split(windows ? ';' : ':')) {
    if (folder === '') continue;
    for (const suffix of windows ? ['.exe', '.cmd', '.bat'] : ['']) {
      const file = windows ? `${folder}\\${name}${suffix}` : `${folder}/${name}`;
      if (ports.files.exists(file)) return file;
    }
  }
  return undefined;
}

export interface FoundPackage {
  readonly version: string;
  readonly path: string;
}

/** The nearest node_modules/NAME from any of the folders upwards, as Node would find it. */
export function findPackage(ports: Ports, roots: readonly string[], name: string): FoundPackage | undefined {
  for (const root of roots) {
    const separator = root.includes('\\') ? '\\' : '/';
    const parts = root.split(separator);
    for (let length = parts.length; length > 0; length--) {
      const path = [...parts.slice(0, length), 'node_modules', name].join(separator);
      const text = ports.files.read(`${path}${separator}package.json`);
      if (text === undefined) continue;
      try {
        const { version } = JSON.parse(text) as { version?: unknown };
        return { version: typeof version === 'string' ? version : 'unknown', path };
      } catch {
        return { version: 'unreadable', path };
      }
    }
  }
  return undefined;
}
