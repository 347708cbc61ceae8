// What the CPU device needs of the platform: threads, their number, and optional native libraries.

/** A running worker thread. */
export interface Thread {
  /** Ends it; resolves when it is gone. */
  terminate(): Promise<void>;
}

export interface ThreadHost {
  /** Threads that can run at the same time. */
  readonly parallelism: number;
  /** Starts a worker that does not keep the process alive; null where there are no workers. */
  spawn(source: string, data: unknown, onExit: () => void): Thread | null;
  /** Loads an installed package synchronously; throws if there is none. Null in browsers. */
  readonly require: ((name: string) => unknown) | null;
}

export interface NodeProcess {
  readonly versions?: { readonly node?: string };
  getBuiltinModule?(name: string): unknown;
}

const nodeProcess = (): NodeProcess | null => (globalThis as { process?: NodeProcess }).process ?? null;

/** The platform this runs on: Node if there is such a process, else a browser. */
export async function openHost(node: NodeProcess | null = nodeProcess()): Promise<ThreadHost> {
  if (!node?.versions?.node) return browserHost();
  const { nodeHost } = await import('./node-host.ts');
  return nodeHost(node);
}

const terminationMs = 500;

function browserHost(): ThreadHost {
  const scope = globalThis as { Worker?: typeof Worker; navigator?: { hardwareConcurrency?: number } };
  return {
    parallelism: scope.navigator?.hardwareConcurrency ?? 1,
    spawn: (source, data, onExit) => {
      if (!scope.Worker) return null;
      const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
      const worker = new scope.Worker(url);
      worker.onerror = onExit;
      worker.postMessage(data);
      return {
        terminate: async () => {
          worker.terminate();
          URL.revokeObjectURL(url);
          // Browsers do not say when the thread has ended; it stops at its next loop turn or call.
          setTimeout(onExit, terminationMs);
        },
      };
    },
    require: null,
  };
}
