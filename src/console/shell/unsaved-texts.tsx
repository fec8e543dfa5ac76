import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useApp } from '../state/app.ts';
import { hasDrafts } from '../translate/editor/draft-prefix.ts';
import type { UnsavedNote } from '../translate/editor/save-state.tsx';

/** Pages on which a person writes texts. */
const WRITING: ReadonlySet<string> = new Set(['translate-task', 'review']);

/**
 * Sends the texts of translators that this browser kept, on every page, and says so. Its file is loaded when the browser keeps
 * some, and with the first page that makes some.
 */
export function UnsavedTexts(): JSX.Element | null {
  const { view } = useApp().route;
  const [Note, setNote] = useState<typeof UnsavedNote | null>(null);
  const [isKept, setKept] = useState(() => hasDrafts(() => localStorage));
  const isWanted = Note === null && (isKept || WRITING.has(view));
  useEffect(() => {
    // Another tab has kept one, which this one sends when that tab ends.
    const look = (): void => setKept(hasDrafts(() => localStorage));
    addEventListener('storage', look);
    return () => removeEventListener('storage', look);
  }, []);
  useEffect(() => {
    if (!isWanted) return;
    // Without its file the texts stay in the browser, and the editor loads it, too.
    void import('../translate/editor/save-state.tsx')
      .then((file) => setNote(() => file.UnsavedNote))
      .catch(() => undefined);
  }, [isWanted]);
  return Note === null ? null : <Note />;
}
