/** Light or dark, as the reader has chosen it for this browser. */

import { signal } from '@preact/signals';
import { applyTheme, keepTheme, keptTheme, type Theme } from './kept-theme.ts';

/** Reads the choice and applies it. */
export class ThemeChoice {
  readonly theme;
  readonly #storage: () => Storage;
  readonly #root: HTMLElement;

  /** @param storage throws if it is switched off @param root the element that carries the choice for the style sheet */
  constructor(storage: () => Storage, root: HTMLElement) {
    this.#storage = storage;
    this.#root = root;
    this.theme = signal<Theme>(keptTheme(storage));
    applyTheme(root, this.theme.peek());
  }

  choose(next: Theme): void {
    this.theme.value = next;
    applyTheme(this.#root, next);
    keepTheme(this.#storage, next);
  }
}
