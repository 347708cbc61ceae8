// How many sources a device takes at a time.

import type { OperationType, Runtime } from '../../index.ts';
import type { Session } from '../session.ts';

/** Doubles and ages of both passes, old and new: bytes per vertex and source. */
const bytesPerPlace = 48;

/** What the fields of all columns may take on a host, so that they stay in its caches. */
const hostBytes = 8 * 2 ** 20;

/** At most `sources`; as many as a quarter of the free memory holds. */
export function columnsFor(
  rt: Runtime,
  session: Session,
  vertices: number,
  sources: number,
  where: string,
  op: OperationType = 'graph_algorithm',
): number {
  const host = rt.device(session.chosen(rt, op, where)).caps.host === true;
  const room = host ? hostBytes : session.freeBytes(rt, op, where) / 4;
  const most = Math.min(sources, room / (bytesPerPlace * vertices), 2 ** 30 / vertices);
  return Math.max(1, Math.floor(most));
}
