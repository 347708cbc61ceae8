// The queue on Redis, loaded when an address asks for it: this file and what it needs are for Node alone.

export { type RedisOptions, redisTransport } from './bullmq.ts';
export { Executor, type ExecutorOptions } from './executor.ts';
export { type RunningWorker, startWorker, type WorkerSettings } from './worker.ts';
