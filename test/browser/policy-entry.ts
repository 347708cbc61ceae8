// Opens a runtime on the CPU and puts what came of it into the page's title.

import { createRuntime, ForgeError } from '../../src/index.ts';

try {
  const rt = await createRuntime({ devices: ['cpu'], cpu: { threads: 2 } });
  const [report] = rt.devices();
  document.title = JSON.stringify({ sum: rt.tensor([1, 2, 3]).sum().item(), details: report!.details });
  await rt.close();
} catch (e) {
  document.title = JSON.stringify({ error: e instanceof ForgeError ? `${e.code}: ${e.message}` : String(e) });
}
