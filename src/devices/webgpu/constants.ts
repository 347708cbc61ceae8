// WebGPU's flag values. Browsers have them as globals; Dawn in Node keeps them to itself, and nothing is put on globalThis.

export const usage = {
  mapRead: 0x0001,
  mapWrite: 0x0002,
  copySrc: 0x0004,
  copyDst: 0x0008,
  uniform: 0x0040,
  storage: 0x0080,
  queryResolve: 0x0200,
} as const;

export const mapMode = { read: 1, write: 2 } as const;

export const computeStage = 0x4;
