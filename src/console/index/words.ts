import { idIn } from '../../event/uid.ts';

export type NumberedWord = readonly [id: number, word: string];

/**
 * Numbers for texts that repeat: destinations, URLs, causes, reasons. Those that are new since the last
 * commit are written with the rows that use them.
 */
export class Words {
  readonly #ids = new Map<string, number>();
  readonly #words = new Map<number, string>();
  #unwritten: NumberedWord[] = [];
  /** No number is used twice, because a query may still have rows with the number of a forgotten word. */
  #nextId = 0;

  constructor(known: readonly NumberedWord[] = []) {
    for (const [id, word] of known) {
      this.#ids.set(word, id);
      this.#words.set(id, word);
      this.#nextId = Math.max(this.#nextId, id + 1);
    }
  }

  /** True if the words that no row uses should be forgotten. */
  get isNearlyFull(): boolean {
    return this.#words.size > 0.75 * mostWords;
  }

  idOf(word: string): number {
    const id = this.#ids.get(word);
    if (id !== undefined) return id;
    // Whoever may write to the topic may write any number of them: memory has an end.
    return this.#words.size < mostWords ? this.#add(word.slice(0, mostCharacters)) : this.#other();
  }

  find(word: string): number | undefined {
    return this.#ids.get(word);
  }

  /** The words of destinations with this id, the present one and earlier ones; see `identityText`. */
  ofId(id: string): number[] {
    return Array.from(this.#ids).flatMap(([word, number]) => (idIn(word) === id ? number : []));
  }

  of(id: number): string {
    return this.#words.get(id) ?? otherWord;
  }

  unwritten(): readonly NumberedWord[] {
    return this.#unwritten;
  }

  /** Called once the unwritten words are committed. */
  wrote(): void {
    this.#unwritten = [];
  }

  /** Forgets the written words that are not among these. */
  keep(ids: ReadonlySet<number>): void {
    const unwritten = new Set(this.#unwritten.map(([id]) => id));
    for (const [id, word] of this.#words) {
      if (ids.has(id) || unwritten.has(id)) continue;
      this.#words.delete(id);
      this.#ids.delete(word);
    }
  }

  #other(): number {
    return this.#ids.get(otherWord) ?? this.#add(otherWord);
  }

  #add(word: string): number {
    const known = this.#ids.get(word);
    if (known !== undefined) return known;
    const id = this.#nextId;
    this.#nextId += 1;
    this.#ids.set(word, id);
    this.#words.set(id, word);
    this.#unwritten.push([id, word]);
    return id;
  }
}

const mostWords = 200_000;
const mostCharacters = 2_048;
const otherWord = '(others)';
