import { MAX_TEXT_CHARACTERS } from '../../contract/formats/text-limit.ts';

/** Collects the text of a cell, or of several cells: the runs of a rich text are joined, and reading aids are left out. */
export class RichText {
  #text = '';
  #isText = false;
  #isAid = false;

  open(name: string): void {
    if (name === 'rPh') this.#isAid = true;
    this.#isText = name === 'v' || name === 't';
  }

  /** @returns whether the text is no longer than one of a unit may be */
  add(part: string): boolean {
    if (this.#isText && !this.#isAid) this.#text += part;
    return this.#text.length <= MAX_TEXT_CHARACTERS;
  }

  close(name: string): void {
    this.#isText = false;
    if (name === 'rPh') this.#isAid = false;
  }

  /** The text so far, once. */
  take(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }
}
