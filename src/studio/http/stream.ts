// Live data as server-sent events: `snapshot` as often as was asked for, `events` as they come, each message with the number of the
// newest event as its id. A browser that lost the connection says which id it saw last, and is told what it missed.

import type { ServerResponse } from 'node:http';
import { eventsJson, type Hub } from '../watch/hub.ts';
import { securityHeaders } from './guard.ts';
import type { StreamReply } from './reply.ts';

/** A reader that does not read: first it misses messages, then it is let go. */
const slowBytes = 2 ** 20;
const deadBytes = 8 * 2 ** 20;
const resumeMost = 2000;

export interface StreamOptions {
  readonly everyMs: number;
  /** Events after this one. */
  readonly after: number;
}

export function liveStream(hub: Hub, { everyMs, after }: StreamOptions): StreamReply {
  return {
    stream: (response) => {
      response.writeHead(200, { ...securityHeaders, 'content-type': 'text/event-stream; charset=utf-8' });
      response.flushHeaders();
      const send = sender(response);
      // The browser tries again after this time; the page has its own, longer ones.
      response.write('retry: 1000\n\n');
      const { entries, skipped } = hub.ring.after(after, resumeMost);
      if (entries.length > 0) send('events', eventsJson(entries, skipped), entries.at(-1)!.seq);
      return hub.view({
        everyMs,
        snapshot: (json) => send('snapshot', json, null),
        events: (json, seq) => send('events', json, seq),
      });
    },
  };
}

function sender(response: ServerResponse): (event: string, json: string, id: number | null) => void {
  return (event, json, id) => {
    if (response.destroyed) return;
    const waiting = response.writableLength;
    if (waiting > deadBytes) response.destroy();
    if (waiting > slowBytes) return;
    response.write(`event: ${event}\n${id === null ? '' : `id: ${id}\n`}data: ${json}\n\n`);
  };
}
