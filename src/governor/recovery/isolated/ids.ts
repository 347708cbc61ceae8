// Small numbers for objects of the other process: taken, freed, taken again.

export class Ids {
  readonly #free: number[] = [];
  #next = 0;

  take(): number {
    return this.#free.pop() ?? this.#next++;
  }

  free(id: number): void {
    this.#free.push(id);
  }
}
