/** The paths of the browser and of SwiftShader's Vulkan driver file. */
export function ensureChromium(): { browser: string; icd: string };
