// What programs and price lists write around the names of GPUs: labels, counts, the renderers of OpenGL and WebGL, lists.

/** "Chipset Model: Apple M2", "GPU[0] : Card series: …". A label of one vendor stays: the vendor tells what the name means. */
const LABEL = /^\s*(?![^:]*\b(?:nvidia|amd|radeon|intel|advanced)\b)[a-z][^:,()]{0,40}:\s+(?=\S)/i;

/** "ANGLE (NVIDIA, NVIDIA GeForce RTX 3060 (0x00002503) Direct3D11 vs_5_0 ps_5_0, D3D11)" of browsers; Vulkan has the name in brackets. */
const ANGLE = /^ANGLE \([^,]+, (?:ANGLE Metal Renderer: )?(.+?)(?: Direct3D\d.*)?, [^,]*\)$/i;
const VULKAN = /^Vulkan [\d.]+ \((.+)\)$/i;

/** What follows a name: the UUID of `nvidia-smi -L`, clocks and kinds of fetch tools, words of OpenGL. */
const BEHIND = [
  /\s*\(UUID: [^)]*\)$/i,
  /\s*\[(?:Discrete|Integrated)\]$/i,
  /\s*(?:\(\d+\) )?@ [\d.]+ GHz$/i,
  /\/PCIe\/SSE2$/i,
  /, or similar$/i,
  / OpenGL Engine$/i,
];

/** "8x H100", "H100 x8" and "H100 (8x)", but not "Tegra X2"; `gpu_8x_h100` is a name of that kind too. */
const COUNT = /^(?:gpu_)?(\d{1,2})[ _]?[xX×][ _]?(?=[a-zA-Z]|\d{3,4}\b)(.+)$|^(.+?) (?:[x×] ?|\()(\d{1,2})(?:x\))?$/;

/** The name alone. */
export function unwrapped(text: string): string {
  let name = text.trim();
  for (let labels = 0; labels < 3 && LABEL.test(name); labels++) name = name.replace(LABEL, '');
  name = name.replace(ANGLE, '$1').replace(VULKAN, '$1');
  for (const form of BEHIND) name = name.replace(form, '');
  return name
    .replace(/^(["'])(.*)\1$/, '$2')
    .replace(/^mesa (?:dri )?/i, '')
    .replace(/^(?:an?|my|the|one|single) (?=\S)/i, '');
}

/** The names in "RTX 4090, RTX 3060" and in "8x H100", one for each card. A comma within brackets, before "Inc." and in "nvidia,tegra234" parts none. */
export function namesIn(text: string): readonly string[] {
  return apart(text)
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .flatMap((part) => {
      const [, before, name, same, after] = COUNT.exec(part.replace(/^dual (?=\S)/i, '2x ')) ?? [];
      return Array.from({ length: Number(before ?? after ?? 1) }, () => name ?? same ?? part);
    });
}

/** At the commas that part names. */
function apart(text: string): readonly string[] {
  const parts = [''];
  let depth = 0;
  for (const [at, letter] of [...text].entries()) {
    depth = Math.max(0, depth + (letter === '(' ? 1 : letter === ')' ? -1 : 0));
    if (letter === ',' && depth === 0 && !/^ ?(?:inc|or similar)\b|^tegra/i.test(text.slice(at + 1))) parts.push('');
    else parts[parts.length - 1] += letter;
  }
  return parts;
}
