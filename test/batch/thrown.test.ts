// Anything may be thrown: no value, a text, objects that cannot be read. It is told wherever work runs, and what comes after goes on.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { BatchOperationError, createBatch, handlerOf, type WireOps } from '../../src/batch/index.ts';
import { codeOf, errorOf, firstLineOf, messageOf, traceOf } from '../../src/batch/thrown.ts';
import { noRedis } from '../support/redis.ts';
import { within } from '../support/time.ts';
import { cpu, fileRedis, transportsOn } from './file-redis.ts';

const folder = mkdtempSync(join(tmpdir(), 'gpuforge-thrown-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const trap = (): never => {
  throw new Error('trap');
};

/** What is thrown, and what is told of it. */
const thrown: readonly (readonly [unknown, string])[] = [
  [undefined, 'undefined was thrown'],
  [null, 'null was thrown'],
  [0, '0 was thrown'],
  ['', 'an empty text was thrown'],
  ['a text', 'a text'],
  [Symbol('s'), 'Symbol(s) was thrown'],
  [5n, '5 was thrown'],
  [() => 1, 'a function was thrown'],
  [Object.create(null), '{} was thrown'],
  [{ code: 'E', status: 7 }, '{"code":"E","status":7} was thrown'],
  [{ message: 'of an object' }, 'of an object'],
  [new RangeError(''), 'RangeError without a message'],
  [Object.assign(new Error('m'), { message: undefined }), 'Error without a message'],
  [Object.defineProperty(new Error('no stack'), 'stack', { get: trap }), 'no stack'],
  [new Proxy({}, { get: trap }), 'a value of type object was thrown, which tells nothing'],
];

it('what was thrown has a message, a trace and a code, and can be thrown on as an error', () => {
  for (const [value, message] of thrown) {
    expect(messageOf(value)).toBe(message);
    const error = errorOf(value);
    expect(error).toBeInstanceOf(Error);
    expect(messageOf(error)).toBe(message);
    expect(typeof error.stack).toBe('string');
  }
  const error = new TypeError('two\nlines');
  expect(errorOf(error)).toBe(error);
  expect(firstLineOf(error)).toBe('two');
  expect(traceOf(error)).toContain('TypeError: two');
  expect(codeOf({ code: 'E' })).toBe('E');
  expect(codeOf(errorOf({ code: 'E' }))).toBe('E');
  for (const none of [undefined, null, { code: 7 }, new Proxy({}, { get: trap })]) expect(codeOf(none)).toBeNull();
});

it('a function that throws it fails by the index of its item, with what was thrown as the cause', async () => {
  for (const [value, message] of thrown) {
    await using batch = createBatch([0, 1, 2]);
    const fails = (n: number): number => {
      if (n === 1) throw value;
      return n;
    };
    const error = (await batch.executeParallel(fails).catch((e) => e)) as BatchOperationError;
    expect(error).toBeInstanceOf(BatchOperationError);
    expect(error).toMatchObject({ index: 1, results: [0, undefined, undefined] });
    expect(error.cause).toBe(value);
    expect(error.message).toContain(`item 1 of 3 failed: ${message}`);
  }
});

it('on worker threads too, and the thread lives on', async () => {
  const module = join(folder, 'work.mjs');
  writeFileSync(
    module,
    `import { threadId } from 'node:worker_threads';
     const values = [undefined, Object.create(null), { a: 1 }, new Proxy({}, { get() { throw 1; } }),
       Object.defineProperty(new Error('x'), 'message', { get() { throw 1; } })];
     export const work = (n) => {
       if (n === values.length + 1) throw Object.assign(new Error('coded'), { code: 'E_CODE' });
       if (n > 0) throw values[n - 1];
       return threadId;
     };`,
  );
  const unreadable = 'something was thrown that cannot be sent from a worker thread';
  await using batch = createBatch([0, 1, 2, 3, 4, 5, 6, 0]);
  const work = { module: pathToFileURL(module), export: 'work' };
  const made = await batch.executeParallel(work, { onError: 'collect' });
  expect(made.map((m) => m.ok)).toEqual([true, false, false, false, false, false, false, true]);
  const causes = made.flatMap((m) => (m.ok ? [] : [firstLineOf(m.error)]));
  expect(causes).toEqual([
    'undefined was thrown',
    '{} was thrown',
    '{"a":1} was thrown',
    unreadable,
    unreadable,
    'coded',
  ]);
  expect(made[6]).toMatchObject({ error: { code: 'E_CODE' } });
});

const redis = fileRedis();

describe.each(transportsOn(redis))('an operation on the %s transport', (kind, open) => {
  it('that throws it has a dead letter that says so, and the job ends', async (context) => {
    if (kind === 'redis' && noRedis !== null) context.skip(noRedis);
    const transport = await open();
    try {
      const ops: WireOps = {
        fails: ({ params }) => {
          throw thrown[params as number]![0];
        },
      };
      await transport.worker(handlerOf({ ops }), cpu, { concurrency: 4 });
      const chunks = thrown.map((_, i) => ({ params: i }));
      const job = await transport.submit({ op: 'fails', attempts: 2 }, chunks);
      const ended = { state: 'failed', dead: thrown.length, retries: thrown.length };
      expect(await job.finished(AbortSignal.timeout(within(5000)))).toMatchObject(ended);
      expect((await job.deadLetters()).map((d) => d.error)).toEqual(thrown.map(([, message]) => message));
    } finally {
      await transport.close();
    }
  });

  it('that answers with what is no answer is told, instead of losing it', async (context) => {
    if (kind === 'redis' && noRedis !== null) context.skip(noRedis);
    const transport = await open();
    try {
      const answers: readonly unknown[] = [undefined, null, {}, { value: 1 }, 5, [1], { vlaue: 3 }, 'text'];
      const ops: WireOps = { gives: ({ params }) => answers[params as number] as never };
      await transport.worker(handlerOf({ ops }), cpu);
      const job = await transport.submit(
        { op: 'gives' },
        answers.map((_, i) => ({ params: i })),
      );
      const got: unknown[] = [];
      for await (const o of job.results()) got.push(o.ok ? o.result.value : o.dead.error);
      const must = ': return { value, outputs }, or nothing';
      expect(got).toEqual([
        null,
        null,
        null,
        1,
        `the answer of 'gives' is number${must}`,
        `the answer of 'gives' is a plain array${must}`,
        `the answer of 'gives' has 'vlaue', which no answer has${must}`,
        `the answer of 'gives' is string${must}`,
      ]);
    } finally {
      await transport.close();
    }
  });
});
