import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { UnsavedNote } from '../translate/editor/save-state.tsx';

/** Sends the texts of translators that this browser kept, on every page, and says so. Its file is loaded after the page. */
export function UnsavedTexts(): JSX.Element | null {
  const [Note, setNote] = useState<typeof UnsavedNote | null>(null);
  useEffect(() => {
    // Without its file the texts stay in the browser, and the editor loads it, too.
    void import('../translate/editor/save-state.tsx')
      .then((file) => setNote(() => file.UnsavedNote))
      .catch(() => undefined);
  }, []);
  return Note === null ? null : <Note />;
}
