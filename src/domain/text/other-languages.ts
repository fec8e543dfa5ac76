/** Names that a message lists. */
const LISTED = 12;
/** Names that are counted; a file can have any number of them. */
const MOST_NAMES = 200;

/** Counts the languages of the entries of a file that are not of the wanted pair. */
export class OtherLanguages {
  readonly #wanted: string;
  readonly #counts = new Map<string, number>();
  #firstLine: number | null = null;
  #hasWanted = false;

  constructor(sourceLanguage: string, targetLanguage: string) {
    this.#wanted = `${sourceLanguage} to ${targetLanguage}`;
  }

  /** Hears of an entry of the pair, or of one that cannot be read. */
  sawWanted(): void {
    this.#hasWanted = true;
  }

  /** Hears of an entry of others. @param names its languages, as the file writes them */
  sawOther(line: number, names: readonly string[]): void {
    this.#firstLine ??= line;
    for (const name of new Set(names)) {
      if (name === '' || (this.#counts.size === MOST_NAMES && !this.#counts.has(name))) continue;
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    }
  }

  /** Says what the file has where nothing of it is wanted; `null` when something is, or when the file has no entry. */
  issue(): { readonly line: number; readonly message: string } | null {
    if (this.#hasWanted || this.#firstLine === null) return null;
    const found = [...this.#counts].toSorted(([, left], [, right]) => right - left);
    const listed = found
      .slice(0, LISTED)
      .map(([name, count]) => `${name.slice(0, 40)} (${count})`)
      .join(', ');
    const more = found.length > LISTED ? ' and others' : '';
    const has = listed === '' ? 'entries without a language' : `${listed}${more}`;
    return {
      line: this.#firstLine,
      message: `0 taken: no entry is of ${this.#wanted}; the file has ${has}`,
    };
  }
}
