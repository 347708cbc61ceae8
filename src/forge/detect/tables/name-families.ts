// Names that follow a rule of their maker: processors with graphics in them, code names of chips, lines of one architecture.
//
// A row is the form and the target that every name of this form has; a form that fits numbers which were never sold, or
// products of several targets, has no place here. Processors: the maker's naming guides (AMD's third digit of the mobile
// 7000 and 8000 numbers tells the chip). Code names: the public PCI id list. gfx ids: the LLVM AMDGPU processor table.
// Reviewed 2026-11.

import type { IntelFamily } from '../../machine.ts';

export type NamedTarget =
  | { readonly cc: string; readonly tegra?: boolean }
  | { readonly gfx: string }
  | { readonly family: IntelFamily };

export type NameFamily = readonly [form: RegExp, target: NamedTarget];

const PRO = '(?:pro )?';
const ryzen = (numbers: string): RegExp => new RegExp(`\\bryzen (?:threadripper )?[3579] ${PRO}(?:${numbers})\\b`, 'i');

const amdFamilies: readonly NameFamily[] = [
  [ryzen('(?:2[23]00|2[4567]00|2800|3[23]00|3400|35[058]0|3700|3750|3780)(?:ge?|u|h)'), { gfx: 'gfx902' }],
  [ryzen('4[3-9]\\d0(?:ge?|u|hs?)'), { gfx: 'gfx90c' }],
  [ryzen('5[1-9]\\d[05](?:g[et]?|u|c|hs|hx?)'), { gfx: 'gfx90c' }],
  [ryzen('6[69]\\d[0-9](?:u|hs|hx?)|68\\d0(?:u|hs?)'), { gfx: 'gfx1035' }],
  [
    /\b(?:athlon(?: pro)? (?:(?:silver|gold) (?:3\d50(?:ge?|u|c)|pro 3150ge?)|3\d00(?:ge?|u)|2[024]0ge)|embedded [rv][12][256]\d\d[a-z]?)\b/i,
    { gfx: 'gfx902' },
  ],
  [/\bryzen embedded v2\d\d\d[a-z]?\b|\bathlon (?:gold |silver )?(?:pro )?4150ge?\b/i, { gfx: 'gfx90c' }],
  [/\bathlon (?:gold|silver) 7[12]20[uc]\b/i, { gfx: 'gfx1037' }],
  [ryzen('2[1-7]0'), { gfx: 'gfx1103' }],
  [ryzen('7[1-9]20[uc]'), { gfx: 'gfx1037' }],
  [ryzen('7[1-9]30[uc]'), { gfx: 'gfx90c' }],
  [ryzen('7[3-9]35u|7[57]35hs'), { gfx: 'gfx1035' }],
  [ryzen('7[1-9]4[05](?:u|hs?)|8[3-9]4[05](?:u|hs?)|8[3567]00ge?'), { gfx: 'gfx1103' }],
  [ryzen('7[6-9]45hx|7945hx3d|89?40hx|8745hx|99[05]\\d?5?hx(?:3d)?'), { gfx: 'gfx1036' }],
  [ryzen('7[679][05]0|7[6-9][05]0x(?:3d)?|9[6-9][05]0x(?:3d2?)?|9[679]00'), { gfx: 'gfx1036' }],
  [/\b(?:ryzen )?ai max\+? (?:pro )?(?:3[89]\d|4[89]\d)\b/i, { gfx: 'gfx1151' }],
  [/\bryzen ai 9 (?:hx )?(?:pro )?(?:365|370|375|465|470|475)\b/i, { gfx: 'gfx1150' }],
  [/\bryzen ai 7 (?:pro )?360\b/i, { gfx: 'gfx1150' }],
  [/\bryzen ai [57] (?:pro )?3[45]0\b/i, { gfx: 'gfx1152' }],
  [/\bryzen ai 5 330\b/i, { gfx: 'gfx1153' }],
  [/\b(?:ryzen )?z2 extreme\b/i, { gfx: 'gfx1150' }],
  [/\b(?:ryzen )?z2 go\b/i, { gfx: 'gfx1035' }],
  [/\bryzen z2 a\b/i, { gfx: 'gfx1033' }],
  [/\bryzen z[12]$|\bz1 extreme\b/i, { gfx: 'gfx1103' }],
  // Chips, as Mesa once wrote them; products have these names too.
  [/\bradv vega10\b/i, { gfx: 'gfx900' }],
  [/\bradv vega20\b/i, { gfx: 'gfx906' }],
  [/\b(?:raven(?: ridge)?|picasso)\b/i, { gfx: 'gfx902' }],
  [/\b(?:renoir|cezanne|lucienne|barcelo)\b/i, { gfx: 'gfx90c' }],
  [/\brembrandt\b/i, { gfx: 'gfx1035' }],
  [/\b(?:raphael|dragon range|granite ridge|fire range)\b/i, { gfx: 'gfx1036' }],
  [/\bmendocino\b/i, { gfx: 'gfx1037' }],
  [/\b(?:phoenix|hawk ?point)[123]?\b/i, { gfx: 'gfx1103' }],
  [/\bstrix point\b/i, { gfx: 'gfx1150' }],
  [/\bstrix halo\b/i, { gfx: 'gfx1151' }],
  [/\bkrac?kan(?: point)?1?\b/i, { gfx: 'gfx1152' }],
  [/\b(?:van ?gogh|sephiroth)\b|\bcustom gpu 0932\b/i, { gfx: 'gfx1033' }],
  [/\btahiti\b/i, { gfx: 'gfx600' }],
  [/\b(?:pitcairn|cape verde)\b|\(radv verde\)/i, { gfx: 'gfx601' }],
  [/\bbonaire\b/i, { gfx: 'gfx704' }],
  [/\b(?:tonga|topaz|iceland)\b/i, { gfx: 'gfx802' }],
  [/\bvega ?12\b/i, { gfx: 'gfx904' }],
  [/\bhawaii\b/i, { gfx: 'gfx701' }],
  [/\b(?:fiji|ellesmere|baffin|lexa|polaris ?(?:10|11|12|20|21|22|23|30))\b/i, { gfx: 'gfx803' }],
  [/\barcturus\b/i, { gfx: 'gfx908' }],
  [/\b(?:aldebaran|mi200 series)\b/i, { gfx: 'gfx90a' }],
  [/\bmi300 series\b/i, { gfx: 'gfx942' }],
  [/\bnavi ?10\b/i, { gfx: 'gfx1010' }],
  [/\bnavi ?12\b/i, { gfx: 'gfx1011' }],
  [/\bnavi ?14\b/i, { gfx: 'gfx1012' }],
  [/\bnavi ?21\b/i, { gfx: 'gfx1030' }],
  [/\bnavi ?22\b/i, { gfx: 'gfx1031' }],
  [/\bnavi ?23\b/i, { gfx: 'gfx1032' }],
  [/\bnavi ?24\b/i, { gfx: 'gfx1034' }],
  [/\bnavi ?31\b/i, { gfx: 'gfx1100' }],
  [/\bnavi ?32\b/i, { gfx: 'gfx1101' }],
  [/\bnavi ?33\b/i, { gfx: 'gfx1102' }],
  [/\bnavi ?44\b/i, { gfx: 'gfx1200' }],
  [/\bnavi ?48\b/i, { gfx: 'gfx1201' }],
];

const intelFamilies: readonly NameFamily[] = [
  [/\bcore ultra [579] 1\d\d[hu]l?\b/i, { family: 'meteor-lake' }],
  [/\bcore ultra [579] 2\d\dv\b/i, { family: 'lunar-lake' }],
  [/\bcore ultra [579] 2\d\d(?:hx?|u|k|s|t)?(?: plus)?$/i, { family: 'arrow-lake' }],
  [/\bcore ultra (?:x?[79]|5) 3\d\d[hu]?\b/i, { family: 'panther-lake' }],
  [/\bmeteor ?lake\b/i, { family: 'meteor-lake' }],
  [/\barrow ?lake\b/i, { family: 'arrow-lake' }],
  [/\blunar ?lake\b/i, { family: 'lunar-lake' }],
  [/\bpanther ?lake\b/i, { family: 'panther-lake' }],
  [/\b(?:dg2|acm-g1[012]|ats-m(?:1[57]0)?|alchemist)\b/i, { family: 'alchemist' }],
  [/\b(?:battlemage|bmg-g[23]1)\b/i, { family: 'battlemage' }],
  [/\b(?:ponte ?vecchio|pvc)\b/i, { family: 'ponte-vecchio' }],
  [/\b(?:core )?i[3579][- ]?1[1-4]\d{2,3}(?:g[1-7]|[hkpsute]x?s?)?\b/i, { family: 'xe-lp' }],
  [/\bn(?:50|95|97|100|150|200|250|300|305|350|355)$/i, { family: 'xe-lp' }],
  // What Mesa writes behind "Intel(R) Graphics", and browsers as the architecture of an adapter.
  [/\(mtl\b/i, { family: 'meteor-lake' }],
  [/\(arl\b/i, { family: 'arrow-lake' }],
  [/\(lnl\b|\bxe-2lpg\b/i, { family: 'lunar-lake' }],
  [/\(ptl\b/i, { family: 'panther-lake' }],
  [/\(bmg\b|\bxe-2hpg\b/i, { family: 'battlemage' }],
  [/\bgen-12hp\b/i, { family: 'alchemist' }],
  [/\((?:tgl|rkl|adl|rpl|twl|dg1)\b|\bgen-12lp\b/i, { family: 'xe-lp' }],
  [
    /\((?:snb|ivb|byt|hsw|bdw|chv|bsw|skl|apl|bxt|kbl|glk|whl|aml|cfl|cml|cnl|icl|ehl|jsl)\b|\bgen-(?:7|8|9|11)\b/i,
    { family: 'gen' },
  ],
  [/\bcore [357] [12]\d\d[uh]\b|\bgraphics for 1[1-4]th gen\b/i, { family: 'xe-lp' }],
  [/\biris xe\b/i, { family: 'xe-lp' }],
  [/\biris\b/i, { family: 'gen' }],
  [/\b(?:xeon e3-\d+|[2-9](?:nd|rd|th) gen(?:eration)? core|atom) processor\b.*\bgraphics\b/i, { family: 'gen' }],
  [/\b(?:tiger|rocket|alder|raptor|twin) ?lake(?:-\w+)?\b|\bdg1\b/i, { family: 'xe-lp' }],
  [/\b(?:core )?i[3579][- ]?(?:[2-9]\d{3}|10\d{2,3})(?:g[1-7]|[hkmqstuycre][qmkuc]?)?\b/i, { family: 'gen' }],
  [/\b(?:sandy|ivy) ?bridge\b|\bhaswell\b|\bbroadwell\b|\bcherryview\b/i, { family: 'gen' }],
  [
    /\b(?:sky|kaby|coffee|comet|whiskey|amber|cannon|ice|gemini|apollo|jasper|elkhart) ?lake(?:-\w+)?\b/i,
    { family: 'gen' },
  ],
];

/** GeForce lines whose cards all have one compute capability; "RTX 4000 series" and "40xx" are said of the same. */
export const nameSeries: readonly NameFamily[] = [
  [/\bgtx (?:10|10xx|1000) series\b|\bgtx 10xx\b/i, { cc: '6.1' }],
  [/\bgtx (?:16|1600) series\b|\bgtx 16xx\b/i, { cc: '7.5' }],
  [/\brtx (?:20|2000) series\b|\brtx 20xx\b/i, { cc: '7.5' }],
  [/\brtx (?:30|3000) series\b|\brtx 30xx\b/i, { cc: '8.6' }],
  [/\brtx (?:40|4000) series\b|\brtx 40xx\b/i, { cc: '8.9' }],
  [/\brtx (?:50|5000) series\b|\brtx 50xx\b/i, { cc: '12.0' }],
];

/** PCI ids of Skylake, Kaby Lake, Coffee Lake, Ice Lake and Comet Lake: blocks that hold their GPUs alone. */
const genIds: NameFamily = [/^8086:(?:19[0-3]|59[0-3]|3e[9a]|8a5|9b[ac])[\da-f]$/i, { family: 'gen' }];

export const nameFamilies: readonly NameFamily[] = [...amdFamilies, ...intelFamilies, genIds];

/** Other names of an architecture of the tables. */
export const architectureAliases: Readonly<Record<string, string>> = {
  'ada lovelace': 'ada',
  lovelace: 'ada',
  'vera rubin': 'rubin',
  rdna: 'rdna 1',
  'cdna 1': 'cdna',
  polaris: 'gcn 4',
};

/** Chips of NVIDIA that have no block of PCI ids in the other table: "GF110", "GK104". */
export function oldNvidiaChip(chip: string): string | undefined {
  if (/^gf1[01]0$/i.test(chip)) return '2.0';
  if (/^gf1\d\d$/i.test(chip)) return '2.1';
  if (/^gk10[4-7]$/i.test(chip)) return '3.0';
  if (/^gk(?:110b?|180|208b?)$/i.test(chip)) return '3.5';
  return /^gk210$/i.test(chip) ? '3.7' : undefined;
}
