// Folders with all their parents, made one by one.
//
// Node's own `mkdir` with `recursive` never returns where a folder cannot be made though its parent exists (`/proc/1`): a
// cache that the environment puts there would hang the program instead of going without.

interface Files {
  statSync(path: string): { isDirectory(): boolean };
  mkdirSync(path: string, options: { readonly mode?: number }): unknown;
}

/** Makes the folder and its parents. One that is there, also because another process was faster, is no error. */
export function makeFolder(fs: Files, folder: string, mode?: number): void {
  if (isFolder(fs, folder)) return;
  const windows = globalThis.process?.platform === 'win32';
  const parent = folder.replace(windows ? /[\\/]+[^\\/]*[\\/]*$/ : /\/+[^/]*\/*$/, '');
  if (parent !== '' && parent !== folder) makeFolder(fs, parent, mode);
  try {
    fs.mkdirSync(folder, mode === undefined ? {} : { mode });
  } catch (cause) {
    if (!isFolder(fs, folder)) throw cause;
  }
}

function isFolder(fs: Files, path: string): boolean {
  try {
    return fs.statSync(path).isDirectory();
  } catch {
    return false;
  }
}
