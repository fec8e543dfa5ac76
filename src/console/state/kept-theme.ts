/** The theme that the reader has chosen for this browser, and where it is applied. */

import { attempt } from '../api/attempt.ts';

const KEY = 'slipway.theme';

/** The choices; `system` follows the browser. */
export const THEMES = ['system', 'light', 'dark'] as const;

export type Theme = (typeof THEMES)[number];

/** Reads the choice. @param storage throws if it is switched off @returns `system` without a choice */
export function keptTheme(storage: () => Storage): Theme {
  const kept = attempt(() => storage().getItem(KEY));
  return THEMES.find((each) => each === kept) ?? 'system';
}

/** Keeps the choice for the next visit, where the browser has storage. @param storage throws if it is switched off */
export function keepTheme(storage: () => Storage, theme: Theme): void {
  attempt(() => storage().setItem(KEY, theme));
}

/** Tells the style sheet the choice. @param root the element that carries it */
export function applyTheme(root: HTMLElement, theme: Theme): void {
  if (theme === 'system') delete root.dataset['theme'];
  else root.dataset['theme'] = theme;
}
