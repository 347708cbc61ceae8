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
  /** Whether a worker that is started answers; undefined where it always does. */
  readonly answers?: () => Promise<boolean>;
  /** Loads an installed package synchronously; throws if there is none. Null in browsers. */
  readonly require: ((name: string) => unknown) | null;
  /** Loads something with variables of the environment that nobody has set, and takes them back. Missing where libraries see none. */
  readonly withVariables?: <T>(variables: Readonly<Record<string, string>>, load: () => T) => T;
  /** Asks the system for large pages under a memory, of which the first bytes are in use. Missing where it gives none. */
  readonly largePages?: (memory: Uint8Array, used: number) => void;
}

export interface NodeProcess {
  readonly versions?: { readonly node?: string };
  readonly platform?: string;
  readonly env?: Record<string, string | undefined>;
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
  const start = (source: string): { readonly worker: Worker; end(): void } | null => {
    if (!scope.Worker) return null;
    const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
    const release = (): void => URL.revokeObjectURL(url);
    try {
      const worker = new scope.Worker(url);
      const end = (): void => {
        worker.terminate();
        release();
      };
      return { worker, end };
    } catch {
      // Forbidden by the page's policy.
      release();
      return null;
    }
  };
  return {
    parallelism: scope.navigator?.hardwareConcurrency ?? 1,
    answers: () => {
      const started = start('postMessage(0)');
      if (!started) return Promise.resolve(false);
      const { worker, end } = started;
      return new Promise<boolean>((resolve) => {
        worker.onmessage = () => resolve(true);
        worker.onerror = () => resolve(false);
      }).finally(end);
    },
    spawn: (source, data, onExit) => {
      const started = start(source);
      if (!started) return null;
      const { worker, end } = started;
      worker.onerror = onExit;
      worker.postMessage(data);
      return {
        terminate: async () => {
          end();
          // Browsers do not say when the thread has ended; it stops at its next loop turn or call.
          setTimeout(onExit, terminationMs);
        },
      };
    },
    require: null,
  };
}
