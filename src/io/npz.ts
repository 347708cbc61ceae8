// NumPy's .npz files: a zip archive of .npy files, stored (np.savez) or deflated (np.savez_compressed).

import { checked } from '../base/signatures.ts';
import { ArgumentError, FormatError } from '../errors.ts';
import { formatNpy, parseNpy } from './npy.ts';
import { type ArrayRecord, flaw } from './record.ts';
import { fileKinds } from './signatures.ts';
import { readContent, readDirectory, writeZip } from './zip.ts';

const suffix = '.npy';

export interface NpzOptions {
  /**
   * The most bytes that the arrays may unpack to. Default: 1 GiB, or 16 times the archive if that is more. A small archive
   * can unpack to a thousand times its length.
   */
  readonly maxBytes?: number | undefined;
}

const defaultLimit = (archive: number): number => Math.max(2 ** 30, 16 * archive);

export const parseNpz = checked(
  'parseNpz',
  'async bytes:bytes options:{maxBytes:number}?',
  async (bytes: Uint8Array, options: NpzOptions = {}): Promise<Map<string, ArrayRecord>> => {
    const fail = flaw('parseNpz');
    const { maxBytes = defaultLimit(bytes.length) } = options;
    if (!(maxBytes >= 0)) {
      throw new ArgumentError({
        code: 'BAD_OPTION',
        message: `parseNpz: maxBytes is ${String(maxBytes)}`,
        fix: 'Give a number of bytes, or Infinity.',
        where: 'parseNpz',
      });
    }
    const out = new Map<string, ArrayRecord>();
    const entries = readDirectory(bytes, fail);
    const total = entries.reduce((sum, e) => sum + e.unpacked, 0);
    if (total > maxBytes) {
      throw fail({
        code: 'EXPANDS_TOO_FAR',
        message: `the archive of ${bytes.length} bytes unpacks to ${total} bytes; ${maxBytes} are allowed`,
        fix: 'If you trust the file, allow more with the option maxBytes.',
      });
    }
    for (const entry of entries) {
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
      out.set(name, parseEntry(entry.name, await readContent(bytes, entry, fail)));
    }
    return out;
  },
  fileKinds,
);

/** An array of the archive; what is wrong with it is told with the name of its entry. */
function parseEntry(name: string, content: Uint8Array): ArrayRecord {
  try {
    return parseNpy(content);
  } catch (e) {
    if (!(e instanceof FormatError)) throw e;
    const [what] = e.message.replace(/^parseNpy: /, '').split('\n  fix: ');
    throw flaw('parseNpz')({
      code: e.code,
      message: `in the entry ${JSON.stringify(name)}: ${what}`,
      fix: e.fix,
      cause: e,
    });
  }
}

export const formatNpz = checked(
  'formatNpz',
  'async entries:entries options:{compress:flag}?',
  async (
    entries: Iterable<readonly [string, ArrayRecord]>,
    options: { readonly compress?: boolean } = {},
  ): Promise<Uint8Array> => {
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
  },
  fileKinds,
);
