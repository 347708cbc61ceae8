// The memory of a device in another process, as far as it is known here.
//
// The other process reports now and then, and says up to which allocation its figures go; what was asked of it since is
// added. `grants` decides whether an allocation needs to be asked for: only far from the limit is the answer certain.

/** Share of the free memory up to which a single allocation is granted without asking; pools and drivers round up. */
const certainPart = 0.25;
/** Share of the total that is left alone. */
const reserve = 0.1;

export class Books {
  total = 0;
  pool = { reserved: 0, inUse: 0, idle: 0 };
  /** Asked for and given back here, since the start. */
  allocated = 0;
  released = 0;
  #free = 0;
  #asOf = 0;

  /** Figures of the other process, which had seen these sums of allocations and releases. */
  report(total: number, free: number, allocated: number, released: number): void {
    this.total = total;
    this.#free = free;
    this.#asOf = allocated - released;
  }

  get free(): number {
    const since = this.allocated - this.released - this.#asOf;
    return Math.min(this.total, Math.max(0, this.#free - since));
  }

  grants(bytes: number): boolean {
    const { free } = this;
    return bytes <= certainPart * free && free - bytes >= reserve * this.total;
  }
}
