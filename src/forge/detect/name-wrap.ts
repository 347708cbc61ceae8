// What programs and price lists write around the names of GPUs: labels, counts, the renderers of OpenGL and WebGL, lists.

/** "Chipset Model: Apple M2". */
const LABEL =
  /^\s*(?:chipset model|(?:card|device|product|marketing) (?:name|model|series)|model|name|gpu ?\d*|graphics)\s*:\s*/i;

/** "ANGLE (NVIDIA, NVIDIA GeForce RTX 3060 (0x00002503) Direct3D11 vs_5_0 ps_5_0, D3D11)" of browsers. */
const ANGLE = /^ANGLE \([^,]+, (?:ANGLE Metal Renderer: )?(.+?)(?: \(0x[\da-f]+\))?(?: Direct3D\d.*)?, [^,]*\)$/i;

/** "8x H100" and "H100 x8", but not "Tegra X2". */
const COUNT = /^(\d{1,2}) ?[xX×] ?(?=[a-zA-Z])(.+)$|^(.+?) [x×] ?(\d{1,2})$/;

/** The name alone. */
export function unwrapped(text: string): string {
  return text
    .trim()
    .replace(LABEL, '')
    .replace(ANGLE, '$1')
    .replace(/^mesa (?:dri )?/i, '')
    .replace(/\/PCIe\/SSE2$/i, '')
    .replace(/, or similar$/i, '');
}

/** The names in "RTX 4090, RTX 3060" and in "8x H100", one for each card. A comma within brackets, before "Inc." and in "nvidia,tegra234" parts none. */
export function namesIn(text: string): readonly string[] {
  return text
    .split(/,(?! ?(?:inc|or similar)\b|tegra)(?!(?:[^()]|\([^()]*\))*\))/i)
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .flatMap((part) => {
      const [, before, name, same, after] = COUNT.exec(part) ?? [];
      return Array.from({ length: Number(before ?? after ?? 1) }, () => name ?? same ?? part);
    });
}
