// Can GPUForge compute here? Answered by computing: a small kernel on every device, its result compared.

import { createRuntime } from '../index.ts';

const KINDS = ['cuda', 'webgpu', 'cpu'] as const;

export async function computeProbe(
  leave: readonly string[] = [],
): Promise<{ device: string; ok: boolean; detail: string }[]> {
  // The runtime opens what it is named, so a card that is to sleep on is not named.
  const wanted = leave.length === 0 ? {} : { devices: KINDS.filter((kind) => !leave.includes(kind)) };
  await using rt = await createRuntime(wanted);
  const results: { device: string; ok: boolean; detail: string }[] = [];
  for (const report of rt.devices()) {
    if (!report.open) {
      results.push({ device: report.id, ok: false, detail: `${report.reason}. ${report.fix}` });
      continue;
    }
    results.push(await probeKind(report.id));
  }
  return results;
}

async function probeKind(id: string): Promise<{ device: string; ok: boolean; detail: string }> {
  const kind = id.split(':')[0] as 'cpu' | 'cuda' | 'webgpu';
  try {
    await using rt = await createRuntime({ devices: [kind] });
    const n = 4096;
    const got = await rt.arange(n).cast('f32').mul(2).add(1).sum().data();
    const ok = got[0] === n * n;
    return {
      device: id,
      ok,
      detail: ok ? `summed ${n} values right` : `sum of ${n} values gave ${got[0]}, expected ${n * n}`,
    };
  } catch (error) {
    return { device: id, ok: false, detail: error instanceof Error ? error.message : String(error) };
  }
}
