// Finds shared libraries by name and reads their version from the file they link to.

import type { LibraryFile } from '../machine.ts';
import type { Ports } from '../ports.ts';
import { libraryFolders } from './host.ts';

/** The first copy of each library in the system's folders; the search path of the environment is the doctor's business. */
export function findLibraries(
  ports: Ports,
  sonames: readonly string[],
  first: readonly string[] = [],
  last: readonly string[] = [],
): readonly LibraryFile[] {
  const folders = [...first, ...libraryFolders(ports), ...last];
  return sonames.flatMap((soname) => {
    for (const folder of folders) {
      const file = libraryAt(ports, `${folder}/${soname}`, soname);
      if (file) return [file];
    }
    return [];
  });
}

export function libraryAt(ports: Ports, path: string, soname: string): LibraryFile | undefined {
  const target = ports.files.resolve(path);
  if (target === undefined) return undefined;
  return { soname, path, version: /\.so\.(\d+(?:\.\d+)+)$/.exec(target)?.[1] ?? null };
}
