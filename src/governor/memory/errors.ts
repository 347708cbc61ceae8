// Errors of borrowed memory.

import { show } from '../../base/shape.ts';
import { ForgeError } from '../../errors.ts';
import type { Node } from '../../graph/node.ts';

/** Lent memory did not come back as it was; the buffers named are marked, and cannot be read any more. */
export class BorrowViolation extends ForgeError {
  override name = 'BorrowViolation';
}

/** Memory that is lent to a reversible program, or came back changed, cannot be read, used or lent again. */
export class BufferLent extends ForgeError {
  override name = 'BufferLent';
}

/** For owners of lendable memory: why nobody may use it now. */
export function refuseLent(name: string, state: 'lent' | 'corrupt', where: string): BufferLent {
  if (state === 'lent')
    return new BufferLent({
      code: 'BUFFER_LENT',
      message: `${where}: ${name} is lent to a program and holds other data at the moment`,
      fix: 'Wait for memory.borrow() to finish.',
      where,
    });
  return new BufferLent({
    code: 'BUFFER_CORRUPT',
    message: `${where}: ${name} came back changed from memory.borrow()`,
    fix: 'Make the data again; the error of memory.borrow() tells what went wrong.',
    where,
  });
}

/** As `refuseLent`, for the bytes of a tensor. */
export function lent(node: Node, where = 'compute'): BufferLent {
  return refuseLent(`${node.dtype} ${show(node.shape.values)}`, node.storage?.lent ?? 'lent', where);
}
