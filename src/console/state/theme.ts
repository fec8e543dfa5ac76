/** Light or dark, as the reader has chosen it for this browser. */

import { signal, type ReadonlySignal } from '@preact/signals';
import { applyTheme, keepTheme, keptTheme, type Theme } from './kept-theme.ts';

/** The theme of the page. */
export interface ThemeChoice {
  readonly theme: ReadonlySignal<Theme>;
  choose(theme: Theme): void;
}

/**
 * Reads the choice and applies it.
 *
 * @param options `storage`: throws if it is switched off; `root`: the element that carries the choice for the style sheet
 */
export function createThemeChoice({
  storage,
  root,
}: {
  readonly storage: () => Pick<Storage, 'getItem' | 'setItem'>;
  readonly root: Pick<HTMLElement, 'dataset'>;
}): ThemeChoice {
  const theme = signal<Theme>(keptTheme(storage));
  applyTheme(root, theme.peek());
  return {
    theme,
    choose: (next) => {
      theme.value = next;
      applyTheme(root, next);
      keepTheme(storage, next);
    },
  };
}
