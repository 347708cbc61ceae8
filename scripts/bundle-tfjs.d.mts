/** Bundles TF.js's test suite with our backend into one file. */
export function bundleTfjs(file: string, input?: string): Promise<void>;
