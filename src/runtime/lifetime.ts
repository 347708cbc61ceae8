// The life of tensors: who made them, who disposed of them, and what happens to those that nobody disposes of.

import { byteSize } from '../base/dtype.ts';
import { dropHandle } from '../graph/holding.ts';
import type { Node } from '../graph/node.ts';
import { callerLine, callSite } from '../tensor/core.ts';
import type { Handle } from '../tensor/host.ts';
import { Backstop } from './backstop.ts';
import type { Emitter } from './events.ts';
import type { Issuing } from './issuing.ts';
import { Lazies } from './lazies.ts';
import type { Ledger, Stats } from './ledger.ts';
import type { Scopes } from './scopes.ts';

/** Where no device can be lost, tensors up to so many bytes live on the JavaScript heap until they are known to hold more. */
const smallBytes = 4096;

export class Lifetime {
  /** Bytes from which a tensor remembers the line that made it; Infinity for none. Noting it costs microseconds. */
  siteBytes = Number.POSITIVE_INFINITY;
  readonly #development: boolean;
  readonly #ledger: Ledger;
  readonly #scopes: Scopes;
  readonly #issuing: Issuing;
  readonly #backstop: Backstop;
  readonly #lazies: Lazies;
  readonly #events: Emitter;
  /** Tensors up to this many bytes are freed by the collector alone. */
  #unwatched = 0;
  #closed = false;
  /** Told when many steps of lazy tensors were made that nobody used. */
  #manySteps: () => void = () => {};

  constructor(development: boolean, ledger: Ledger, events: Emitter, scopes: Scopes, issuing: Issuing) {
    this.#development = development;
    this.#ledger = ledger;
    this.#scopes = scopes;
    this.#issuing = issuing;
    this.#events = events;
    this.#lazies = new Lazies(
      (tensor, node) => this.#backstop.add(tensor, node, ''),
      () => this.settle(),
      (group) => {
        if (!this.#closed) group.release();
      },
      () => this.#manySteps(),
    );
    this.#backstop = new Backstop(({ node, line }) => {
      if (line) ledger.leaked(line);
      if (events.has('leak')) events.emit('leak', { shape: node.shape.values, dtype: node.dtype, line });
      if (!this.#closed) dropHandle(node);
    });
  }

  /** `mortal`: some device can be lost. `manySteps` is told of many steps of lazy tensors that nobody used. */
  opened(mortal: boolean, manySteps: () => void): void {
    this.#unwatched = mortal ? 0 : smallBytes;
    this.#manySteps = manySteps;
  }

  /** Devices are closed: there is nothing left to free. */
  close(): void {
    this.#closed = true;
  }

  adopt(tensor: Handle, node: Node): void {
    if (node.size * 8 >= this.siteBytes && !node.site) this.#markSite(node);
    if (node.tracked || this.#isLarge(node)) this.#watch(tensor, node);
    if (this.#scopes.active > 0) this.#scopes.current()?.add(tensor);
    if (this.#issuing.on && !node.storage) this.#issuing.note(node);
  }

  #isLarge({ size, dtype }: Node): boolean {
    return size * 8 > this.#unwatched && size * byteSize(dtype) > this.#unwatched;
  }

  /** Who wants to hear of leaks hears of lazy tensors one by one. */
  #watch(tensor: Handle, node: Node): void {
    if (node.storage || this.#development || this.#events.heard.leak)
      this.#backstop.add(tensor, node, this.#development ? callerLine() : '');
    else this.#lazies.add(tensor, node);
  }

  forget(tensor: Handle, node: Node): void {
    if (!this.#lazies.remove(tensor, node)) this.#backstop.remove(tensor);
    if (this.#scopes.active > 0) this.#scopes.current()?.delete(tensor);
  }

  /** Hands what was made lately to the collector. */
  settle(): void {
    this.#lazies.settle();
    this.#backstop.settle();
  }

  stats(): Stats {
    this.settle();
    return this.#ledger.snapshot(this.#lazies.count + this.#backstop.count);
  }

  #markSite(node: Node): void {
    if (node.size * byteSize(node.dtype) < this.siteBytes) return;
    // The stack is only looked at if somebody asks for it.
    node.site = this.#development ? callerLine() : callSite();
    if (node.storage) node.storage.site ??= node.site;
  }
}
