// Names that hold the name of the GPU: a share of a card, a system of one kind, a Mac, a processor with its graphics.

const PARTS: readonly (readonly [RegExp, (found: RegExpExecArray) => string])[] = [
  // What a virtual machine is given: "GRID A100D-40C", "H100-1-10C", "H100XM-80C".
  [
    /^(?:nvidia )?(?:grid )?([a-z]{1,3}\d{1,4}[a-z]{0,2})(?:-\d)?-(\d{1,3})[abcq]$/i,
    ([, card, size]) =>
      `${card!.replace(/^([ahv]\d00)(?:dx?|l|xm?)$/i, '$1').replace(/^rtx/i, 'Quadro RTX ')} ${size}GB`,
  ],
  [/^(?:nvidia )?(?:dgx|hgx)[ -]([a-z]\d{3})$/i, ([, card]) => card!],
  // "MacBook Pro M5" has an M5, not an M5 Pro; "M4 Mac mini" is written as often.
  [
    /^(.*?)\b(?:macbook(?: air| pro)?|mac (?:studio|mini|pro)|imac)\b(.*)$/i,
    ([, before, after]) => `${before}${after}`,
  ],
  [/\bw(?:ith|\/) (radeon .+)$/i, ([, graphics]) => graphics!],
  // Mesa writes the target behind a name that says nothing: "AMD Radeon Graphics (RADV GFX1151)".
  [/\((?:radv|radeonsi,) ?(gfx[\da-f]{3,4})\b/i, ([, target]) => target!],
];

/** The name within the name; undefined where there is none. */
export function partOf(text: string): string | undefined {
  for (const [form, read] of PARTS) {
    const found = form.exec(text.trim());
    if (found) return read(found).trim();
  }
  return undefined;
}
