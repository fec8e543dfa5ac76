/** Light or dark, as the reader has chosen it for this browser. */

import { signal, type ReadonlySignal } from '@preact/signals';
import { attempt } from '../api/attempt.ts';

const KEY = 'slipway.theme';

/** The choices; `system` follows the browser. */
export const THEMES = ['system', 'light', 'dark'] as const;

/** One of {@link THEMES}. */
export type Theme = (typeof THEMES)[number];

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
  const kept = attempt(() => storage().getItem(KEY));
  const theme = signal<Theme>(THEMES.find((each) => each === kept) ?? 'system');
  const apply = (): void => {
    if (theme.peek() === 'system') delete root.dataset['theme'];
    else root.dataset['theme'] = theme.peek();
  };
  apply();
  return {
    theme,
    choose: (next) => {
      theme.value = next;
      apply();
      attempt(() => storage().setItem(KEY, next));
    },
  };
}
