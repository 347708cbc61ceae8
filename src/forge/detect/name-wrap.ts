// What programs and price lists write around the names of GPUs: labels, counts, the renderers of OpenGL and WebGL, lists.

/** "Chipset Model: Apple M2", "GPU[0] : Card series: …". A label of one vendor stays: the vendor tells what the name means. */
const LABEL = /^\s*(?![^:]*\b(?:nvidia|amd|radeon|intel|advanced)\b)[a-z][^:,()]{0,40}:\s+(?=\S)/i;

/** The columns of clinfo: a label, then spaces. */
const COLUMN = /^\s*[a-z][a-z ]{3,30}?\s{3,}(?=\S)/i;

/** "ANGLE (NVIDIA, NVIDIA GeForce RTX 3060 (0x00002503) Direct3D11 vs_5_0 ps_5_0, D3D11)" of browsers; Vulkan has the name in brackets. */
const ANGLE = /^ANGLE \([^,]+, (?:ANGLE Metal Renderer: )?(.+?)(?: Direct3D\d.*)?, [^,]*\)$/i;
const VULKAN = /^Vulkan [\d.]+ \((.+)\)$/i;

/** Lines of logs that tell one card among other facts: Ollama, TensorFlow, llama.cpp, PyTorch, sycl-ls. */
const LINES = [
  /\bname=(["'])(?<name>.+?)\1/,
  /^\s*device: \d+, name: (?<name>[^,]+), /i,
  /^\s*device \d+: (?<name>[^,]+), (?:compute capability|gfx)/i,
  /^\s*found gpu\d+ (?<name>.+?) which is of cuda capability/i,
  /^(?<name>.+?) with cuda capability sm_\d+ is not compatible/i,
  /^\[[\w:]+\](?:\[[\w:]+\])? [^,]+, (?<name>.+)$/,
];

/** What follows a name: the UUID of `nvidia-smi -L`, clocks and kinds of fetch tools, words of OpenGL, sizes of clouds. */
const BEHIND = [
  /(?<=\d\w*)-(?:x?small|medium|x?large)$/i,
  /\s*\(UUID: [^)]*\)$/i,
  /\s*\[(?:Discrete|Integrated)\]$/i,
  /\s*(?:\(\d+\) )?@ [\d.]+ GHz$/i,
  /\/PCIe\/SSE2$/i,
  /, or similar$/i,
  / OpenGL Engine$/i,
];

/** "8x H100", "H100 x8", "l40sx4" and "H100 (8x)", but not "Tegra X2"; `gpu_8x_h100` is a name of that kind too. */
const COUNT =
  /^(?:gpu_)?(\d{1,2})[ _]?[xX×][ _]?(?=[a-zA-Z]|\d{3,4}\b)(.+)$|^(.+? |[a-z]+\d{1,4}[a-z]*(?=x))(?:[x×] ?|\()(\d{1,2})(?:x\))?$/;

/** The name alone. */
export function unwrapped(text: string): string {
  let name = text.trim();
  for (let labels = 0; labels < 3 && LABEL.test(name); labels++) name = name.replace(LABEL, '');
  name = name.replace(COLUMN, '').replace(ANGLE, '$1').replace(VULKAN, '$1');
  for (const form of BEHIND) name = name.replace(form, '');
  return name
    .replace(/^(["'])(.*)\1$/, '$2')
    .replace(/^mesa (?:dri )?/i, '')
    .replace(/^(?:an?|my|the|one|single) (?=\S)/i, '');
}

/** "gpu-h100x8-640gb": what clouds call several cards and the size of all. */
const POOL = /^gpu-([a-z\d]+)x(\d{1,2})-(\d+)gb$/i;

/** What titles in shops go on with behind a comma: sizes, buses, sockets, the seller's number. */
const SPECIFICATION =
  /^ ?(?:\d{1,3} ?gi?b\b|pci[ -]?e|gddr|hdmi|display ?port|dp |\d+-bit|(?!rtx|gtx|rx|mi)[a-z]{2,4}-[a-z\d]{6,}(?:-[a-z\d]+)*$)/i;

/** The names in "RTX 4090, RTX 3060" and in "8x H100", one for each card. A comma within brackets, before "Inc." and in "nvidia,tegra234" parts none. */
export function namesIn(text: string): readonly string[] {
  const told = LINES.map((line) => line.exec(text)?.groups?.name).find((name) => name !== undefined);
  if (told !== undefined) return [told];
  const [, card, count, size] = POOL.exec(text) ?? [];
  if (card !== undefined)
    return Array.from({ length: Number(count) }, () => `${card} ${Number(size) / Number(count)}GB`);
  return titles(apart(text))
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .flatMap((part) => {
      const [, before, name, same, after] = COUNT.exec(part.replace(/^dual (?=\S)/i, '2x ')) ?? [];
      return Array.from({ length: Number(before ?? after ?? 1) }, () => (name ?? same ?? part).trim());
    });
}

/** What specifies a card belongs to the name before it; a second card that reads like that makes the name one of two, and refused. */
function titles(parts: readonly string[]): readonly string[] {
  const names: string[] = [];
  for (const part of parts) {
    if (names.length > 0 && SPECIFICATION.test(part)) names[names.length - 1] += ` ${part.trim()}`;
    else names.push(part);
  }
  return names;
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
