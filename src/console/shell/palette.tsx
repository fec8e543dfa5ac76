import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useApp } from '../state/app.ts';
import type { RecentEntries } from './page.ts';
import { findUnits, fixedEntries, loadEntries, matchEntries, type PaletteEntry } from './palette-entries.ts';

/** Pause in typing after which units are searched, milliseconds. */
const SEARCH_AFTER_MS = 250;
/** Fewer characters would match too many units. */
const LEAST_CHARACTERS = 2;

/** Finds pages, actions, releases, tasks and units by a few characters, and opens one. */
export function Palette({ recent, onClosed }: { recent: RecentEntries; onClosed: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [active, setActive] = useState(0);
  const { found, isLoading } = useFound(text, recent);
  const current = Math.min(active, found.length - 1);
  const close = (): void => dialog.current?.close();
  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    document.getElementById(`palette-${current}`)?.scrollIntoView({ block: 'nearest' });
  }, [current]);

  const open = (entry: PaletteEntry | undefined): void => {
    if (entry === undefined) return;
    close();
    recent.add(entry);
    entry.open();
  };
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && found.length > 0) {
      setActive((current + step + found.length) % found.length);
    } else if (event.key === 'Enter' && !event.isComposing) {
      open(found[current]);
    } else return;
    event.preventDefault();
  };
  return (
    <dialog class="palette" aria-label="Search" ref={dialog} onClose={onClosed}>
      <input
        type="text"
        role="combobox"
        aria-label="Search pages, actions, releases, tasks and units"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-autocomplete="list"
        {...(current < 0 ? {} : { 'aria-activedescendant': `palette-${current}` })}
        placeholder="Page, action, release, task, text"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setActive(0);
        }}
        onKeyDown={press}
      />
      <ul id="palette-list" role="listbox" aria-label="Found">
        {found.map((entry, index) => (
          <li
            id={`palette-${index}`}
            role="option"
            aria-selected={index === current}
            key={entry.id}
            onPointerMove={() => setActive(index)}
            onClick={() => open(entry)}
          >
            <span class="kind">{entry.kind}</span> <span>{entry.text}</span>
            {entry.detail === undefined ? null : <bdi class="muted">{entry.detail}</bdi>}
          </li>
        ))}
      </ul>
      <p class="empty" role="status">
        {isLoading ? 'Searching …' : found.length === 0 ? 'No results.' : ''}
      </p>
      <p class="palette-note muted">
        Units are found by a part of their source or translation, by their id, and by a part of their file’s
        path.
      </p>
    </dialog>
  );
}

/** The entries that match the text. Units follow a moment later, because the server searches them. */
function useFound(
  text: string,
  recent: RecentEntries,
): { readonly found: readonly PaletteEntry[]; readonly isLoading: boolean } {
  const app = useApp();
  const [loaded, setLoaded] = useState<readonly PaletteEntry[] | null>(null);
  /** `null` while the server searches. */
  const [units, setUnits] = useState<readonly PaletteEntry[] | null>([]);
  useEffect(() => {
    const leaving = new AbortController();
    void loadEntries(app, leaving.signal).then((entries) => {
      if (!leaving.signal.aborted) setLoaded(entries);
    });
    return () => leaving.abort();
  }, []);
  useEffect(() => {
    const name = text.trim();
    if (name.length < LEAST_CHARACTERS) {
      setUnits([]);
      return undefined;
    }
    setUnits(null);
    const leaving = new AbortController();
    const timer = setTimeout(() => {
      void findUnits(app, name, leaving.signal).then((entries) => {
        if (!leaving.signal.aborted) setUnits(entries);
      });
    }, SEARCH_AFTER_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [text]);
  const found = useMemo(
    () => [...matchEntries(recent.list, [...fixedEntries(app), ...(loaded ?? [])], text), ...(units ?? [])],
    [text, loaded, units],
  );
  return { found, isLoading: loaded === null || units === null };
}
