/** Puts Dawn in the place of a browser's WebGPU; the name of its adapter. */
export function installDawn(): Promise<string>;
