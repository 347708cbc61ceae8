// The handshake's bytes, both ways.

import { version } from './frames.ts';

export const capabilities = { reward: 1, telemetry: 2, sharedField: 4 } as const;
export const hardware = { none: 0, wheeled: 1, arm: 2, sim: 3 } as const;

export interface Hello {
  readonly least: number;
  readonly most: number;
  readonly sensors: number;
  readonly motors: number;
  readonly hardware: number;
  readonly capabilities: number;
  readonly token: string;
  /** The shared field to join; empty for one of its own. */
  readonly field: string;
}

export interface Welcome {
  readonly protocol: number;
  readonly dimensions: readonly [number, number, number, number];
  readonly sensors: number;
  readonly motors: number;
  readonly capabilities: number;
  readonly hz: number;
}

const fixed = 14;

export function encodeHello(h: Partial<Hello> & Pick<Hello, 'sensors' | 'motors'>): Uint8Array {
  const [token, field] = [h.token ?? '', h.field ?? ''].map((t) => new TextEncoder().encode(t).subarray(0, 255));
  const bytes = new Uint8Array(fixed + 2 + token!.length + field!.length);
  const view = new DataView(bytes.buffer);
  const words = [h.least ?? version, h.most ?? version, h.sensors, h.motors, h.hardware ?? 0];
  words.forEach((w, i) => {
    view.setUint16(2 * i, w, true);
  });
  view.setUint32(10, h.capabilities ?? capabilities.reward, true);
  bytes[fixed] = token!.length;
  bytes.set(token!, fixed + 1);
  bytes[fixed + 1 + token!.length] = field!.length;
  bytes.set(field!, fixed + 2 + token!.length);
  return bytes;
}

/** Null if the bytes are no handshake. */
export function decodeHello(bytes: Uint8Array): Hello | null {
  if (bytes.length < fixed + 2) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const token = bytes[fixed]!;
  if (bytes.length < fixed + 2 + token) return null;
  const name = bytes[fixed + 1 + token]!;
  if (bytes.length !== fixed + 2 + token + name) return null;
  const text = (from: number, length: number): string => new TextDecoder().decode(bytes.subarray(from, from + length));
  const word = (i: number): number => view.getUint16(2 * i, true);
  return {
    least: word(0),
    most: word(1),
    sensors: word(2),
    motors: word(3),
    hardware: word(4),
    capabilities: view.getUint32(10, true),
    token: text(fixed + 1, token),
    field: text(fixed + 2 + token, name),
  };
}

const welcomeBytes = 22;

export function encodeWelcome(w: Welcome): Uint8Array {
  const bytes = new Uint8Array(welcomeBytes);
  const view = new DataView(bytes.buffer);
  [w.protocol, ...w.dimensions, w.sensors, w.motors].forEach((v, i) => {
    view.setUint16(2 * i, v, true);
  });
  view.setUint32(14, w.capabilities, true);
  view.setFloat32(18, w.hz, true);
  return bytes;
}

export function decodeWelcome(bytes: Uint8Array): Welcome | null {
  if (bytes.length !== welcomeBytes) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const word = (i: number): number => view.getUint16(2 * i, true);
  return {
    protocol: word(0),
    dimensions: [word(1), word(2), word(3), word(4)],
    sensors: word(5),
    motors: word(6),
    capabilities: view.getUint32(14, true),
    hz: view.getFloat32(18, true),
  };
}
