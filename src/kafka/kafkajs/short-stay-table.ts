/**
 * Replaces a Map whose keys come and go. V8 moves such a Map to a new table every few keys, and the old table
 * refers to the new one. After one full collection, all later tables, and with them every value that was ever
 * in one, survive young collections until the next full one.
 */
export class ShortStayTable<K extends string | number, V> {
  #values = noValues<V>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: K): V | undefined {
    return this.#values[key];
  }

  has(key: K): boolean {
    return key in this.#values;
  }

  set(key: K, value: V): this {
    if (!this.has(key)) this.#size += 1;
    this.#values[key] = value;
    return this;
  }

  delete(key: K): boolean {
    if (!this.has(key)) return false;
    this.#size -= 1;
    return Reflect.deleteProperty(this.#values, key);
  }

  clear(): void {
    this.#values = noValues<V>();
    this.#size = 0;
  }

  values(): IterableIterator<V> {
    return Object.values<V>(this.#values).values();
  }

  forEach(callback: (value: V) => void): void {
    for (const value of this.values()) callback(value);
  }
}

function noValues<V>(): Record<string | number, V> {
  return Object.create(null) as Record<string | number, V>;
}
