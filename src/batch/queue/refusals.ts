// What Redis refuses, in words that help: it is full, a replica, without a disk, or lets this user do less than it takes.

import { ForgeError } from '../../index.ts';

interface Refusal {
  readonly begins: RegExp;
  readonly code: string;
  readonly message: string;
  readonly fix: string;
  /** Somebody may mend it while what is refused waits. */
  readonly passes: boolean;
}

const refusals: readonly Refusal[] = [
  {
    begins: /^OOM /,
    code: 'REDIS_FULL',
    message: 'Redis has no memory left',
    fix: 'Give it more (maxmemory), or remove old jobs: gpuforge jobs remove. What it has taken is kept, and goes on then.',
    passes: true,
  },
  {
    begins: /^READONLY /,
    code: 'REDIS_READONLY',
    message: 'this Redis is a replica, and takes no changes',
    fix: 'Give the address of the primary one.',
    passes: true,
  },
  {
    begins: /^MISCONF /,
    code: 'REDIS_DISK',
    message: 'Redis cannot write to its disk, and takes no changes',
    fix: 'Make room on its disk; the log of Redis says more.',
    passes: true,
  },
  {
    begins: /^NOPERM /,
    code: 'REDIS_DENIED',
    message: 'Redis does not let this user do what a queue needs',
    fix: 'Allow its user all commands on the keys of the queue: ACL SETUSER … ~gpuforge:* &gpuforge:* +@all, or with another prefix if you gave one.',
    passes: false,
  },
];

/** A transaction tells only why its parts were refused. */
function refusalOf(error: unknown): Refusal | undefined {
  const { message = '', previousErrors } = (error ?? {}) as Partial<Error> & { previousErrors?: readonly Error[] };
  const texts = [message, ...(previousErrors ?? []).map((e) => e.message)];
  return refusals.find(({ begins }) => texts.some((text) => begins.test(text)));
}

/** Whether Redis refused something that it may take later. */
export const mayPass = (error: unknown): boolean => refusalOf(error)?.passes === true;

/** The error as it is, or what Redis refused. */
export function refusal(where: string, error: unknown): unknown {
  const found = refusalOf(error);
  if (!found) return error;
  const { code, message: what, fix } = found;
  return new ForgeError({ code, message: `${where}: ${what}`, fix, where, cause: error });
}

/** Makes methods that ask Redis fail in these words. */
export function tellRefusals(of: object, names: readonly string[]): void {
  for (const name of names) {
    const run = (of as Record<string, (...args: readonly unknown[]) => Promise<unknown>>)[name]!;
    const told = function (this: unknown, ...args: readonly unknown[]): Promise<unknown> {
      return Reflect.apply(run, this, args).catch((error: unknown) => {
        throw refusal(name, error);
      });
    };
    Object.defineProperty(of, name, { value: told, writable: true, configurable: true });
  }
}
