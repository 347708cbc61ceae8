// `gpuforge worker`: takes chunks from a queue and computes them in a process of its own, until it is told to stop.

import { checkConcurrency } from '../chunk-id.ts';
import type { Transport, WorkerCaps, WorkerStats } from '../transport.ts';
import { type RedisOptions, redisTransport } from './bullmq.ts';
import { Executor } from './executor.ts';

export interface WorkerSettings extends RedisOptions {
  readonly redis: string;
  /** The file of the module with the operations. */
  readonly ops: string;
  readonly folder?: string | undefined;
  readonly device?: string | undefined;
  readonly concurrency?: number | undefined;
}

export interface RunningWorker {
  readonly caps: WorkerCaps;
  readonly id: string;
  /** What it can be asked for. */
  readonly ops: readonly string[];
  stats(): WorkerStats & { readonly crashes: number; readonly quarantined: boolean };
  /** Resolves with the reason when it has stopped by itself: its computing process died again and again. */
  readonly quarantine: Promise<string>;
  close(): Promise<void>;
}

export async function startWorker(settings: WorkerSettings): Promise<RunningWorker> {
  let quarantined: (why: string) => void = () => {};
  const quarantine = new Promise<string>((resolve) => {
    quarantined = resolve;
  });
  const { ops, folder, device } = settings;
  const concurrency = checkConcurrency(settings);
  const executor = new Executor({ ops, folder, device, onQuarantine: quarantined });
  let transport: Transport | null = null;
  try {
    // First what is quickly found out: an address that is wrong should not cost a device that was opened for nothing.
    transport = await redisTransport(settings.redis, settings);
    const found = await executor.start();
    const caps: WorkerCaps = { ...found, itemsPerSecond: {} };
    const worker = await transport.worker(executor.handler, caps, { concurrency });
    const close = async (): Promise<void> => {
      await worker.close();
      await transport!.close();
      await executor.close();
    };
    // Chunks of a worker that cannot compute are for others.
    void quarantine.then(close);
    return {
      caps,
      id: worker.id,
      ops: executor.ops,
      quarantine,
      close,
      stats: () => ({ ...worker.stats(), crashes: executor.crashes, quarantined: executor.quarantined }),
    };
  } catch (error) {
    await transport?.close();
    await executor.close();
    throw error;
  }
}
