export function bundleGpu(out: string): Promise<void>;
export function problemsOfBundles(): Promise<string[]>;
