// NumPy's .npz files: a zip archive of .npy files, stored (np.savez) or deflated (np.savez_compressed).

import { formatNpy, parseNpy } from './npy.ts';
import { type ArrayRecord, flaw } from './record.ts';
import { readContent, readDirectory, writeZip } from './zip.ts';

const suffix = '.npy';

export async function parseNpz(bytes: Uint8Array): Promise<Map<string, ArrayRecord>> {
  const fail = flaw('parseNpz');
  const out = new Map<string, ArrayRecord>();
  for (const entry of readDirectory(bytes, fail)) {
    if (!entry.name.endsWith(suffix)) {
      throw fail({
        code: 'NOT_AN_ARRAY',
        message: `the entry ${JSON.stringify(entry.name)} at byte ${entry.offset} is not a .npy file`,
        fix: 'Remove it from the archive, or unpack the archive and read the arrays by parseNpy.',
      });
    }
    const name = entry.name.slice(0, -suffix.length);
    if (out.has(name))
      throw fail({ code: 'BAD_ZIP', message: `the archive has the entry ${JSON.stringify(entry.name)} twice` });
    out.set(name, parseNpy(await readContent(bytes, entry, fail)));
  }
  return out;
}

export async function formatNpz(
  entries: Iterable<readonly [string, ArrayRecord]>,
  options: { readonly compress?: boolean } = {},
): Promise<Uint8Array> {
  const fail = flaw('formatNpz');
  const contents = [...entries].map(([name, record]) => [name + suffix, formatNpy(record)] as const);
  const names = new Set(contents.map(([name]) => name));
  if (names.size < contents.length) {
    throw fail({
      code: 'BAD_NAME',
      message: 'two arrays have the same name',
      fix: 'Give every array a name of its own.',
    });
  }
  return writeZip(contents, options.compress ?? false, fail);
}
