export interface SoftwareGpu {
  /** Where it comes from, in words. */
  readonly from: string;
  /** The browser and the variables it needs, or why there is none. */
  readonly browser:
    | { readonly executablePath: string; readonly env: Readonly<Record<string, string>>; readonly reason?: undefined }
    | { readonly reason: string };
  /** Variables that let Dawn in Node find SwiftShader, to be set before the process starts. */
  readonly dawn: Readonly<Record<string, string>>;
}

/** The browser of the tests and the software GPU of Dawn; unpacked where needed. */
export function softwareGpu(env?: NodeJS.ProcessEnv): SoftwareGpu;

/** Unpacks the packed Chromium into a folder, whole or not at all. */
export function unpack(folder: string, from?: string): void;

/** The regular files of a tar archive. */
export function tarFiles(
  tar: Buffer,
): Generator<{ readonly name: string; readonly mode: number; readonly data: Buffer }>;
