// What an environment takes: gigabytes to download and on disk, by build. Rounded from the file lists of the indexes and from
// installed environments, reviewed 2026-11: an estimate for the question whether there is room, no promise.

import type { EnvPlan } from './plan.ts';

export interface Size {
  readonly download: number;
  readonly disk: number;
}

const builds: readonly (readonly [name: RegExp, download: number, disk: number])[] = [
  [/^pytorch cu1[12]/, 2.9, 6.4],
  [/^pytorch cu13/, 2.4, 5.6],
  [/^pytorch rocm/, 4.2, 14],
  [/^pytorch xpu/, 2.2, 6],
  [/^pytorch jp/, 0.5, 2],
  [/^pytorch mps/, 0.1, 0.5],
  [/^pytorch cpu/, 0.25, 1],
  [/^tensorflow and-cuda/, 3.1, 6.6],
  [/^tensorflow/, 0.6, 1.9],
  [/^jax cuda/, 2.6, 5.4],
  [/^jax rocm/, 3.5, 12],
  [/^jax/, 0.2, 0.7],
];

/** Packages that weigh; the rest counts together. */
const packages: Readonly<Record<string, Size>> = {
  vllm: { download: 0.45, disk: 1.6 },
  xformers: { download: 0.12, disk: 0.4 },
  bitsandbytes: { download: 0.06, disk: 0.2 },
  'opencv-python-headless': { download: 0.05, disk: 0.15 },
  transformers: { download: 0.012, disk: 0.11 },
  'scikit-learn': { download: 0.013, disk: 0.06 },
  pandas: { download: 0.013, disk: 0.07 },
  jupyterlab: { download: 0.05, disk: 0.25 },
  onnxruntime: { download: 0.02, disk: 0.06 },
  'onnxruntime-gpu': { download: 0.3, disk: 0.7 },
};
const OTHER: Size = { download: 0.008, disk: 0.03 };

/** In gigabytes. */
export function estimate({ choice, selection }: EnvPlan): Size {
  const build = builds.find(([name]) => name.test(`${choice.framework} ${choice.variant}`));
  const rows = selection.packages.map(({ name }) => packages[name] ?? OTHER);
  const sum = (key: keyof Size) => rows.reduce((total, row) => total + row[key], 0);
  return { download: (build?.[1] ?? 1) + sum('download'), disk: (build?.[2] ?? 3) + sum('disk') };
}

export const gigabytes = (size: number): string =>
  size >= 1 ? `${size.toFixed(1)} GB` : `${Math.ceil(size * 100) * 10} MB`;
