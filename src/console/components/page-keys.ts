import { useLayoutEffect } from 'preact/hooks';
import { useApp } from '../state/app.ts';
import type { PageKey } from '../state/keyboard.ts';

/** Gives a page its keys while it is shown. The dialog that `?` opens lists them. */
export function usePageKeys(keys: readonly PageKey[]): void {
  const { keyboard } = useApp();
  // As soon as the page is drawn: a key must not run what an older drawing of it meant.
  useLayoutEffect(() => keyboard.add(keys));
}
