// The process in which a worker computes: it opens the GPU, runs operations of the registry, and dies alone.
//
// Started by executor.ts with the module of operations, the shared folder and the device. When the worker that started it is gone, it
// ends: the channel between them closes.

import { createRuntime, type DeviceKind, DeviceUnavailable, ForgeError, type Runtime } from '../../index.ts';
import { handlerOf, opsOf } from '../registry.ts';
import { codeOf, messageOf, traceOf } from '../thrown.ts';
import { NotHere, PermanentFailure } from '../transport.ts';
import type { Answer, ChildCaps, FailureKind, Order } from './messages.ts';

interface Start {
  readonly ops: string;
  readonly folder: string | null;
  readonly device: string | null;
}

/** A worker that is gone is not told anything any more: this process ends with it. */
const tell = (answer: Answer): void => {
  process.send?.(answer, undefined, undefined, () => {});
};

const startOf = (): Start => JSON.parse(process.argv[2] ?? '{}') as Start;

let runtime: Promise<Runtime> | null = null;

function open(device: string | null): Promise<Runtime> {
  const kind = device?.split(':')[0] as DeviceKind | undefined;
  runtime ??= createRuntime(kind === undefined ? {} : { devices: kind === 'cpu' ? ['cpu'] : [kind, 'cpu'] });
  return runtime;
}

/** The CPU is there without being opened; a GPU is known when it works. */
async function capsOf(device: string | null): Promise<ChildCaps> {
  if (device === null || device === 'cpu') return { backend: 'cpu', device: 'cpu', freeMb: null };
  const rt = await open(device);
  const found = rt.devices().find((d) => d.open && d.id.startsWith(device));
  if (!found) {
    // A kind of which there is no device is reported by the name of the kind.
    const [kind] = device.split(':');
    const refused = rt.devices().find((d) => !d.open && d.id.split(':')[0] === kind);
    throw new DeviceUnavailable({
      message: `${device} could not be opened: ${refused?.reason ?? 'there is none'}`,
      where: 'gpuforge worker',
      device,
      fix: '`gpuforge probe` shows the devices of this machine. `--device cpu` computes on the CPU.',
    });
  }
  const { availableMb } = rt.memory.snapshot(found.id);
  return { backend: found.id.split(':')[0] as ChildCaps['backend'], device: found.id, freeMb: availableMb };
}

async function main(): Promise<void> {
  const start = startOf();
  process.on('disconnect', () => process.exit(0));
  const { ops, version } = opsOf((await import(start.ops)) as Record<string, unknown>, 'gpuforge worker');
  const folder = start.folder ?? undefined;
  const handler = handlerOf({ ops, version, folder, runtime: () => open(start.device) });
  const running = new Map<number, AbortController>();
  process.on('message', (order: Order) => {
    if (order.kind === 'abort') {
      running.get(order.id)?.abort();
      return;
    }
    const { id, chunk, chunkId, attempt } = order;
    const stop = new AbortController();
    running.set(id, stop);
    void handler(chunk, { chunkId, attempt, signal: stop.signal })
      .then(
        (result) => tell({ kind: 'done', id, result }),
        (error: unknown) => {
          tell({
            kind: 'failed',
            id,
            message: messageOf(error),
            stack: traceOf(error),
            code: codeOf(error),
            how: kindOf(error),
          });
        },
      )
      .finally(() => running.delete(id));
  });
  tell({ kind: 'ready', ops: Object.keys(ops), caps: await capsOf(start.device) });
}

const kindOf = (error: unknown): FailureKind =>
  error instanceof NotHere ? 'elsewhere' : error instanceof PermanentFailure ? 'permanent' : 'passing';

/** Where in the module it is: only the stack knows, and not that of every version of Node. */
function placed({ message, stack = '' }: SyntaxError): string {
  const place = /^file:\S+:\d+$/m.exec(stack)?.[0];
  return place ? `${place}: ${message}` : `${startOf().ops}, or a module that it imports: ${message}`;
}

main().catch((error: unknown) => {
  const known = error instanceof ForgeError ? error : null;
  const text = error instanceof SyntaxError ? placed(error) : messageOf(error);
  // What helps is in the text of known errors too.
  const message = (known ? text.split('\n')[0]! : text).replace(/^gpuforge worker: /, '');
  const answer: Answer = { kind: 'refused', message, fix: known?.fix ?? null };
  // Whoever started it tells why.
  process.send?.(answer, undefined, undefined, () => process.exit(1));
});
