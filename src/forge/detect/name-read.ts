// A name as people and tools write it, taken apart: the words that count, the size and the kind.
//
// Words of vendors and sellers do not count. Reading decides nothing: which product a name means is for `name-match.ts`.

import { plainLine } from '../text/plain.ts';
import type { Candidate } from './candidates.ts';

const IDS = { nvidia: '10de', advanced: '1002', amd: '1002', intel: '8086' } as const;
const MAKERS = /\b(nvidia|advanced|amd|intel)\b/i;

const idOf = (maker: string, device: string): string =>
  `${IDS[maker.toLowerCase() as keyof typeof IDS]}:${device}`.toLowerCase();

/**
 * The PCI id in "PCI\VEN_10DE&DEV_2684", in "pci:v000010DEd00002684", in nvidia-smi's "0x268410DE", in "Device 10de:2684", and in
 * "NVIDIA Corporation Device 2684" of an old list of ids.
 */
function hardwareId(line: string): string | undefined {
  const [, vendor, device] =
    /\bven_([\da-f]{4})&dev_([\da-f]{4})/i.exec(line) ?? /\bpci:v0{4}([\da-f]{4})d0{4}([\da-f]{4})/i.exec(line) ?? [];
  if (vendor !== undefined) return `${vendor}:${device}`.toLowerCase();
  const [, last, first] = /^0x([\da-f]{4})(10de|1002|8086)$/i.exec(line.trim()) ?? [];
  if (last !== undefined) return `${first}:${last}`.toLowerCase();
  const bare = /\bdevice ((?:10de|1002|8086):[\da-f]{4})\b/i.exec(line)?.[1];
  if (bare !== undefined) return bare.toLowerCase();
  const [, maker, id] = /\b(nvidia|advanced|amd|intel)\b.*\bdevice ([\da-f]{4})\b/i.exec(line) ?? [];
  return maker && idOf(maker, id!);
}

/**
 * What a line of lspci or of a driver may mean, the surest first: the product in brackets, the PCI id, the chip before them, then
 * brackets without a number, which several chips share ("Radeon Graphics"). Several products are parted by strokes: the first counts.
 */
export function readings(text: string): readonly string[] {
  const id = hardwareId(text);
  if (id !== undefined) return [id];
  // Browsers write the device's id behind its name; it decides where the name says nothing ("AMD Radeon(TM) Graphics").
  const [, named, device] = /^(.+) \(0x0{4}([\da-f]{4})\)$/i.exec(text) ?? [];
  const maker = named && MAKERS.exec(named)?.[1];
  if (maker) return [named, idOf(maker, device!)];
  // Mesa writes the chip behind the name.
  const [, product] = /^(.+) \((?:radv|nvk) [^)]*\)$/i.exec(text) ?? [];
  if (product) return [product, text];
  // Fetch tools print the brackets of lspci without brackets.
  const fetched = /^AMD ATI (.+)$/i.exec(text)?.[1];
  if (fetched) return [fetched, ...fetched.split(/ ?\/ ?/).slice(0, 1), fetched.replace(/ OEM\b.*$/, '')];
  const line = text.replace(/\[(?:AMD\/ATI|AMD|ATI)\]/gi, ' ').replace(/\(rev [\da-f]+\)/i, ' ');
  const brackets = [...line.matchAll(/\[([^[\]]+)\]/g)].map(([, inside]) => inside!.trim());
  if (brackets.length === 0) return [line];
  // "[0300]" is a class of devices; "[B200]" is a product, though it may be read as a number.
  const isId = (inside: string) => /^(?:[\da-f]{4}:|0x)[\da-f]{4}$|^(?:03|12)\d\d$/i.test(inside);
  const products = brackets.filter((inside) => !isId(inside)).map((inside) => inside.split(/ ?\/ ?/)[0]!);
  const ids = brackets.filter((inside) => /:/.test(inside) && isId(inside));
  // "Intel(R) Graphics [0xe20b]"
  const bare = /^intel\b.*\[0x([\da-f]{4})\]/i.exec(line)?.[1];
  return [
    ...products.filter((product) => /\d|titan/i.test(product)),
    ...ids,
    ...(bare === undefined ? [] : [`8086:${bare}`]),
    line.replace(/\[[^[\]]*\]/g, ' '),
    ...products.filter((product) => !/\d|titan/i.test(product)),
  ];
}

export interface Wanted {
  /** All that counts of the name, joined. */
  readonly key: string;
  readonly words: readonly string[];
  /** The words without spaces, as they stand and in order of letters. */
  readonly joined: string;
  readonly sorted: string;
  readonly memoryGiB: number | undefined;
  readonly laptop: boolean;
  readonly quadro: boolean;
  /** The short name behind its maker, "p40" of "NVIDIA Tesla P40 24GB Server Card": too short to be told among other words. */
  readonly called: string | undefined;
  /** The name ends in dots: the rest of it was cut off. */
  readonly isCut: boolean;
}

const NOISE =
  /\b(?:nvidia|geforce|grid|amd|ati|radeon|intel|graphics|tesla|instinct|quadro|gpus?|cards?|video|series|generation|gen|edition|workstation|server|accelerator|data ?center|founders|corporation|inc|asus|msi|gigabyte|zotac|evga|palit|pny|sapphire|xfx|powercolor|tuf|lenovo|dell|hp|acer|rog strix|rog|aorus|ventus(?: \dx)?|suprim|nitro\+?|founder's|passive|oc|oem|developer[ -]kit|dev[ -]?kit|engineering reference|collectors|lite hash rate|lhr|tensor cores?|shared|fe|ftw3?|nvgpu|hbm[23]e?|gddr\d\w?|vf|vws|gme|ls|ac|50th anniversary|rev\. ?[a-z]|\d+-core)\b|\((?:r|tm|c)\)|[®™©]/g;
/** Numbers that only GeForce cards have had: people leave the line out ("3090", "5060 ti"). */
const GEFORCE = /^(?:10[5-8]0|16[356]0|20[5-8]0|30[5-9]0|40[5-9]0|50[5-9]0)$/;
/** Words beside which such a number is another maker's, or has its line already. */
const OTHER_LINE = /^(?:rtx|gtx|gt|rx|hd|uhd|arc|ryzen|threadripper|core|xeon|athlon|epyc|i\d|pro|v\d+|e\d)$/;
const LAPTOP = /\b(?:laptop|mobile|notebook|max-?q|max-?p|with max-?q design)\b/g;
const SIZE = /\b(\d{1,3}) ?(?:gib|gb|g)\b/;

export const keysOf = (words: readonly string[]): Pick<Wanted, 'key' | 'words' | 'joined' | 'sorted'> => ({
  key: words.join(' '),
  words,
  joined: words.join(''),
  sorted: [...words].sort().join(''),
});

/** "NVIDIA GeForce RTX 4060 Ti (16 GB)" is the words rtx, 4060, ti with 16 GiB. */
export function read(name: string): Wanted {
  const plain = plainLine(name)
    .toLowerCase()
    .replaceAll('_', ' ')
    // The article number of a seller, which ends like a size: "11348-03-20G".
    .replace(/\b\d+-\d+-\d+g?\b/g, ' ')
    // The model of a seller: "GamingPro-S".
    .replace(/([a-z]{4,})-([a-z])\b/g, '$1$2')
    // "UHD Graphics P630" of a Xeon is the UHD Graphics 630; "Arc Pro 140T" of a workstation the Arc 140T.
    .replace(/\b(u?hd graphics) p(?=\d{3}\b)/g, '$1 ')
    .replace(/\b(arc(?:\(tm\))?) pro (?=1[34]0[tv]\b)/g, '$1 ')
    // "5060ti16g": the size begins where the name ends.
    .replace(/(\d(?:ti|super|xtx|xt|gre))(?=\d{1,2} ?g)/g, '$1 ');
  const laptop = plain.match(LAPTOP) !== null;
  const gib = SIZE.exec(plain)?.[1];
  const words = plain
    .replace(LAPTOP, ' ')
    .replace(NOISE, ' ')
    .replace(SIZE, ' ')
    // "4090ti", "7900xtx" and "rtx4090" are written together as often as apart.
    .replace(/(\d)(ti|super|xtx|xt|gre|ada)\b/g, '$1 $2')
    .replace(/\b(rtx|gtx|gt|rx|mx|titan|arc|quadro)(?=\d)/g, '$1 ')
    .replace(/\b(4070)s ti\b/g, '$1 ti super')
    .replace(/\b(16[56]0|20[678]0|40[78]0) ?s\b/g, '$1 super')
    .replace(/\b(4070)tis\b/g, '$1 ti super')
    // "3090s" are several; numbers that have a SUPER were read above.
    .replace(/\b(10[5-8]0|30[5-9]0|40[569]0|5090|[abh][1-3]00)s\b/g, '$1')
    .split(/[^a-z0-9+]+/)
    .filter((word) => word !== '');
  return {
    ...keysOf(withLine(words)),
    memoryGiB: gib === undefined ? undefined : Number(gib),
    laptop,
    quadro: /\bquadro\b/.test(plain),
    called: /\b(?:nvidia|tesla) ([a-z]\d{1,3}[a-z]?)\b/.exec(plain)?.[1],
    isCut: /\.{3}$|…$/.test(plain.trim()),
  };
}

/** "3090" alone is an RTX 3090. */
function withLine(words: readonly string[]): readonly string[] {
  const at = words.findIndex((word) => GEFORCE.test(word));
  if (at < 0 || words.some((word) => OTHER_LINE.test(word))) return words;
  return words.toSpliced(at, 0, words[at]!.startsWith('1') ? 'gtx' : 'rtx');
}

export type Row = { readonly entry: Candidate; readonly names: readonly Wanted[] };

const rowsRead = new WeakMap<readonly Candidate[], readonly Row[]>();

/** The names of all products as `read` gives them, worked out once. */
export function rowsOf(all: readonly Candidate[]): readonly Row[] {
  const known = rowsRead.get(all) ?? all.map((entry) => ({ entry, names: entry.names.map(read) }));
  rowsRead.set(all, known);
  return known;
}
