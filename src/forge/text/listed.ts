// Things by name, each once: "8 × H100 SXM5, A10".

export function listed(names: readonly string[]): string {
  const counted = new Map<string, number>();
  for (const name of names) counted.set(name, (counted.get(name) ?? 0) + 1);
  return [...counted].map(([name, count]) => (count > 1 ? `${count} × ${name}` : name)).join(', ');
}
