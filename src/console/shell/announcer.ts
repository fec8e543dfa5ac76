import { signal, type ReadonlySignal } from '@preact/signals';

/** Tells screen readers what changed. */
export interface Announcer {
  readonly text: ReadonlySignal<string>;
  /** Tells a text, unless it is the last one about the same thing. */
  readonly announce: (about: string, text: string) => void;
  /** The last text about a thing. */
  last(about: string): string | undefined;
  forget(about: string): void;
}

/** Makes the announcer of a page. */
export function createAnnouncer(): Announcer {
  const text = signal('');
  const told = new Map<string, string>();
  return {
    text,
    announce: (about, next) => {
      if (told.get(about) === next) return;
      told.set(about, next);
      text.value = next;
    },
    last: (about) => told.get(about),
    forget: (about) => void told.delete(about),
  };
}
