/**
 * Numbers for texts that repeat: destinations, URLs, causes, reasons. Those that are new since the last
 * commit are written with the rows that use them.
 */
export class Words {
  readonly #ids = new Map<string, number>();
  readonly #words: string[] = [];
  #written = 0;

  /** @param known in the order of their numbers, from 0 on */
  constructor(known: readonly string[] = []) {
    for (const word of known) this.#add(word);
    this.#written = known.length;
  }

  idOf(word: string): number {
    const id = this.#ids.get(word);
    if (id !== undefined) return id;
    // Whoever may write to the topic may write any number of them: memory has an end.
    return this.#words.length < mostWords
      ? this.#add(word.slice(0, mostCharacters))
      : this.#other();
  }

  find(word: string): number | undefined {
    return this.#ids.get(word);
  }

  of(id: number): string {
    return this.#words[id] ?? otherWord;
  }

  unwritten(): readonly (readonly [id: number, word: string])[] {
    return this.#words.slice(this.#written).map((word, index) => [this.#written + index, word]);
  }

  /** So many of those that were unwritten are committed. */
  wrote(count: number): void {
    this.#written += count;
  }

  #other(): number {
    return this.#ids.get(otherWord) ?? this.#add(otherWord);
  }

  #add(word: string): number {
    const known = this.#ids.get(word);
    if (known !== undefined) return known;
    const id = this.#words.push(word) - 1;
    this.#ids.set(word, id);
    return id;
  }
}

const mostWords = 200_000;
const mostCharacters = 2_048;
const otherWord = '(others)';
