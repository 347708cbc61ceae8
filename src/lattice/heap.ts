// A binary heap of vertices by distance, for Dijkstra. A vertex may be in it several times; the reader skips what is settled.

export class VertexHeap {
  #keys = new Float64Array(64);
  #vertices = new Int32Array(64);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(key: number, vertex: number): void {
    if (this.#size === this.#keys.length) this.#grow();
    const [keys, vertices] = [this.#keys, this.#vertices];
    let i = this.#size++;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (keys[parent]! <= key) break;
      keys[i] = keys[parent]!;
      vertices[i] = vertices[parent]!;
      i = parent;
    }
    keys[i] = key;
    vertices[i] = vertex;
  }

  /** The vertex with the lowest key, which must exist; `key` is read before. */
  pop(): number {
    const [keys, vertices] = [this.#keys, this.#vertices];
    const top = vertices[0]!;
    const size = --this.#size;
    const [key, vertex] = [keys[size]!, vertices[size]!];
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= size) break;
      if (child + 1 < size && keys[child + 1]! < keys[child]!) child++;
      if (keys[child]! >= key) break;
      keys[i] = keys[child]!;
      vertices[i] = vertices[child]!;
      i = child;
    }
    keys[i] = key;
    vertices[i] = vertex;
    return top;
  }

  #grow(): void {
    const [keys, vertices] = [this.#keys, this.#vertices];
    this.#keys = new Float64Array(2 * keys.length);
    this.#vertices = new Int32Array(2 * keys.length);
    this.#keys.set(keys);
    this.#vertices.set(vertices);
  }
}
