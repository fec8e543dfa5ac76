/**
 * Runs before anything is painted: the page waits for this script, and not for the others. Without it, the page would appear
 * in the theme of the system for a moment, and then change to that of the reader.
 */

import { applyTheme, keptTheme } from './state/kept-theme.ts';

applyTheme(
  document.documentElement,
  keptTheme(() => localStorage),
);
