// Figures as the page shows them.

export function ms(value: number | null): string {
  if (value === null) return 'not measured';
  const size = Math.abs(value);
  if (size >= 10_000) return `${(value / 1000).toFixed(1)} s`;
  if (size >= 100) return `${value.toFixed(0)} ms`;
  if (size >= 1) return `${value.toFixed(2)} ms`;
  if (size === 0) return '0 ms';
  return `${(1000 * value).toFixed(size >= 0.1 ? 0 : 1)} µs`;
}

export const percent = (share: number | null): string =>
  share === null ? 'not measured' : `${(100 * share).toFixed(0)} %`;
export const whole = (value: number): string => value.toLocaleString('en');
export const cut = (text: string, to: number): string => (text.length > to ? `${text.slice(0, to - 1)}…` : text);

/** One of a few colours of the style sheet that are easy to tell apart. */
export const colour = (index: number): string => `--c${index % 8}`;
