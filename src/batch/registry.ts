// Operations on the wire: names in a registry that a worker was started with. A job can name one; it cannot bring code.

import { checked } from '../base/signatures.ts';
import { type DType, dtypes, type Runtime } from '../index.ts';
import { type HostTensor, readBlob, tensorBytes, writeBlob } from './blobs.ts';
import { badArgument } from './failures.ts';
import { wired } from './json.ts';
import { kindOf } from './lists.ts';
import { batchKinds } from './signatures.ts';
import {
  type BlobRef,
  type ChunkDescriptor,
  type ChunkHandler,
  type ChunkResult,
  type Json,
  mostValueLength,
  NotHere,
  PermanentFailure,
  type WorkerContext,
} from './transport.ts';

/** What an operation is called with. */
export interface WireCall {
  /** The data of the chunk, read and checked. */
  readonly inputs: readonly HostTensor[];
  readonly params: Json;
  readonly chunk: ChunkDescriptor;
  readonly attempt: number;
  readonly signal: AbortSignal;
  /** The runtime of this worker, opened when it is first asked for. */
  runtime(): Promise<Runtime>;
}

export interface WireAnswer {
  readonly value?: Json | undefined;
  /** Written to the shared folder; the result holds references to them. */
  readonly outputs?: readonly HostTensor[] | undefined;
}

export type WireOp = (call: WireCall) => WireAnswer | Promise<WireAnswer>;

export type WireOps = Readonly<Record<string, WireOp>>;

/** The operations a module exports: functions, or an object `ops` of them. */
export function opsOf(module: Readonly<Record<string, unknown>>, where: string): { ops: WireOps; version: string } {
  const source =
    typeof module.ops === 'object' && module.ops !== null ? (module.ops as Record<string, unknown>) : module;
  const ops = Object.fromEntries(Object.entries(source).filter(([, f]) => typeof f === 'function')) as WireOps;
  if (Object.keys(ops).length === 0)
    throw badArgument(where, 'the module exports no function', 'Export functions, or an object `ops` of functions.');
  return { ops, version: typeof module.version === 'string' ? module.version : '' };
}

export interface HandlerOptions {
  readonly ops: WireOps;
  /** What chunks must have been submitted for; '' for any. */
  readonly version?: string | undefined;
  /** The shared folder, or `s3://bucket/prefix`: inputs are read from within it, outputs are written to it. */
  readonly folder?: string | undefined;
  readonly runtime?: (() => Promise<Runtime>) | undefined;
}

/** Runs chunks with the operations of a registry. */
export const handlerOf = checked(
  'handlerOf',
  'options:{ops:object!,version:text,folder:text,runtime:function}',
  (options: HandlerOptions): ChunkHandler => {
    const { ops, version = '', folder, runtime = noRuntime } = options;
    return async (chunk: ChunkDescriptor, context: WorkerContext): Promise<ChunkResult> => {
      const op = Object.hasOwn(ops, chunk.op) ? ops[chunk.op] : undefined;
      if (!op)
        throw new NotHere(
          'NO_OPERATION',
          `there is no operation '${chunk.op}' here; there are ${Object.keys(ops).join(', ')}`,
        );
      if (version !== '' && chunk.codeVersion !== '' && chunk.codeVersion !== version)
        throw new NotHere(
          'OTHER_VERSION',
          `the chunk is for version ${chunk.codeVersion} of the code, and this worker has ${version}`,
        );
      const inputs = await Promise.all(chunk.inputs.map((ref) => readBlob(ref, folder)));
      const given = await op({
        inputs,
        params: chunk.params,
        chunk,
        attempt: context.attempt,
        get signal() {
          return context.signal;
        },
        runtime,
      });
      const { value = null, outputs = [] } = checkedAnswer(chunk.op, given);
      return { value: checkedValue(chunk.op, value), outputs: await written(outputs, folder) };
    };
  },
  batchKinds,
);

const noRuntime = (): Promise<Runtime> =>
  Promise.reject(new PermanentFailure('this worker has no runtime for its operations'));

const answerKeys: ReadonlySet<string> = new Set(['value', 'outputs']);

/** What else an operation gave would be lost without a word. */
function checkedAnswer(op: string, given: WireAnswer | null | undefined): WireAnswer {
  if (given === null || given === undefined) return {};
  const isAnswer = typeof given === 'object' && !Array.isArray(given);
  const other = isAnswer ? Object.keys(given).find((key) => !answerKeys.has(key)) : undefined;
  if (isAnswer && other === undefined) return given;
  const what = isAnswer ? `has '${other}', which no answer has` : `is ${kindOf(given)}`;
  throw new PermanentFailure(`the answer of '${op}' ${what}: return { value, outputs }, or nothing`);
}

/** Results travel as JSON on every transport; what would be lost on the way is refused where it was made. */
function checkedValue(op: string, value: Json): Json {
  const made = wired(value, 'value');
  if ('wrong' in made)
    throw new PermanentFailure(
      `the answer of '${op}' cannot travel as JSON: ${made.wrong}. Return plain data, and arrays of numbers as outputs`,
    );
  if (made.text.length <= mostValueLength) return value;
  throw new PermanentFailure(
    `the value of '${op}' is ${made.text.length} letters long, more than ${mostValueLength}: return data as outputs`,
  );
}

function written(outputs: readonly HostTensor[], folder: string | undefined): Promise<BlobRef[]> {
  if (outputs.length > 0 && folder === undefined)
    throw new PermanentFailure('the operation gave outputs, and this worker has no shared folder to put them in');
  return Promise.all(outputs.map((o) => writeBlob(folder!, checkedOutput(o))));
}

function checkedOutput(o: HostTensor): HostTensor {
  if (!(o?.bytes instanceof Uint8Array && (dtypes as readonly DType[]).includes(o.dtype) && Array.isArray(o.shape)))
    throw new PermanentFailure('an output of the operation is not { dtype, shape, bytes }');
  const expected = tensorBytes(o);
  if (o.bytes.length === expected) return o;
  throw new PermanentFailure(
    `an output of the operation has ${o.bytes.length} bytes, and ${o.dtype} [${o.shape.join(', ')}] has ${expected}`,
  );
}
