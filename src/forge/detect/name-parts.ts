// Names that hold the name of the GPU: a share of a card, a system of one kind, a Mac, a processor with its graphics.

type Part = readonly [form: RegExp, read: (found: RegExpExecArray) => string];

/** What a virtual machine is given: "GRID A100D-40C", "H100-1-10C", "H100XM-80C", "RTXA6000-48Q". */
const SHARE = /^(?:nvidia )?(?:grid )?(.*?\d.*?)(?:-\d{1,2})?-(\d{1,3})[abcq]$/i;

/** The card and the size of a share of it; undefined where the text is none. */
export function shareOf(text: string): string | undefined {
  const [, card, size] = SHARE.exec(text.trim()) ?? [];
  if (card === undefined) return undefined;
  const name = card
    .replace(/^([ahv]\d00)(?:dx?|l|xm?)$/i, '$1')
    .replace(/^rtx(?=a\d)/i, 'RTX ')
    .replace(/^rtx(?=\d+$)/i, 'Quadro RTX ')
    .replace(/ dc$/i, '');
  return `${name} ${size}GB`;
}

/** Its inches and its year. */
const OF_A_MAC = /\b1[346](?:[- ]?inch\b|"|\b)|\b20\d\d\b/gi;

const PARTS: readonly Part[] = [
  [/^(?:nvidia )?(?:dgx|hgx)[ -]([a-z]\d{3})$/i, ([, card]) => card!],
  // "MacBook Pro M5" has an M5, not an M5 Pro; "M4 Mac mini" is written as often.
  [
    /^(.*?)\b(?:macbook(?: air| pro)?|mac (?:studio|mini|pro)|imac)\b(.*)$/i,
    ([, before, after]) => `${before}${after}`.replace(OF_A_MAC, ' ').replace(/[(),]/g, ' '),
  ],
  [/\bw(?:ith|\/) (radeon .+)$/i, ([, graphics]) => graphics!],
  // Mesa writes the target behind a name that says nothing: "AMD Radeon Graphics (RADV GFX1151)".
  [/\((?:radv|radeonsi,) ?(gfx[\da-f]{3,4})(?![\da-z])/i, ([, target]) => target!],
];

/** The name within the name; undefined where there is none. */
export function partOf(text: string): string | undefined {
  for (const [form, read] of PARTS) {
    const found = form.exec(text.trim());
    if (found) return read(found).trim();
  }
  return undefined;
}
