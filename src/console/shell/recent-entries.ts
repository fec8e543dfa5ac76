import type { PaletteEntry } from './palette-entries.ts';

/** Entries that are offered again. */
const MOST_RECENT = 6;

/** The entries that were opened last. */
export interface RecentEntries {
  /** The last one first. */
  list(): readonly PaletteEntry[];
  add(entry: PaletteEntry): void;
  clear(): void;
}

/** Makes an empty memory of opened entries. It lasts as long as the page. */
export function createRecentEntries(): RecentEntries {
  let recent: readonly PaletteEntry[] = [];
  return {
    list: () => recent,
    add: (entry) => {
      recent = [entry, ...recent.filter(({ id }) => id !== entry.id)].slice(0, MOST_RECENT);
    },
    clear: () => {
      recent = [];
    },
  };
}
