import { signal, type ReadonlySignal } from '@preact/signals';
import { ApiFailure } from '../../api/api-client.ts';
import { ChangedFolders, type ChangedFolder } from './changed-folders.ts';
import {
  EntryCursor,
  ReleaseMoved,
  type ReadEntries,
  mergeEntries,
  type EntryPair,
  type Place,
  destinationOf,
  isSame,
} from './entry-cursor.ts';

const PART = 500;

interface ComparisonState {
  readonly phase: 'reading' | 'done' | 'cancelled' | 'failed';
  /** Entries of both sides that were read, and all of them; `null` before the first page. */
  readonly read: number;
  readonly total: number | null;
  readonly failure: ApiFailure | ReleaseMoved | null;
  readonly revision: number;
}

export interface FolderEntries {
  readonly pairs: readonly EntryPair[];
  readonly hasMore: boolean;
  readonly isLoading: boolean;
  readonly failure: ApiFailure | ReleaseMoved | null;
}

/** The difference of two releases. It is kept as counts of folders; the entries of a folder are read when it is opened. */
export interface Comparison {
  readonly state: ReadonlySignal<ComparisonState>;
  readonly folders: ChangedFolders;
  /** The entries of a folder that is open; `undefined` before {@link open}. */
  entries(path: string): FolderEntries | undefined;
  open(folder: ChangedFolder): void;
  close(path: string): void;
  readonly cancel: () => void;
  readonly stop: () => void;
}

interface OpenFolder extends FolderEntries {
  readonly next: Place | null;
}

const READING: ComparisonState = { phase: 'reading', read: 0, total: null, failure: null, revision: 0 };

/** Starts to compare two releases. */
export function startComparison(sides: {
  readonly left: ReadEntries;
  readonly right: ReadEntries;
}): Comparison {
  const state = signal(READING);
  const folders = new ChangedFolders();
  const [comparing, opening] = [new AbortController(), new AbortController()];
  const opened = new Map<string, OpenFolder>();

  const change = (part: Partial<ComparisonState>): void => {
    state.value = { ...state.peek(), ...part, revision: state.peek().revision + 1 };
  };
  const set = (path: string, entries: OpenFolder): void => {
    opened.set(path, entries);
    change({});
  };

  const readAll = async (): Promise<void> => {
    const left = new EntryCursor(sides.left, comparing.signal);
    const right = new EntryCursor(sides.right, comparing.signal);
    const read = (): number => left.position + right.position;
    const finish = (part: Partial<ComparisonState>): void => {
      folders.finish({ left: left.position, right: right.position });
      change({ ...part, read: read() });
    };
    try {
      await mergeEntries(
        left,
        right,
        (pair, place) => {
          folders.add(pair, place);
          return 'next';
        },
        () => {
          comparing.signal.throwIfAborted();
          const isKnown = left.total !== null && right.total !== null;
          change({ read: read(), total: isKnown ? (left.total ?? 0) + (right.total ?? 0) : null });
        },
      );
      finish({ phase: 'done' });
    } catch (error) {
      finish(
        comparing.signal.aborted ? { phase: 'cancelled' } : { phase: 'failed', failure: failureOf(error) },
      );
    }
  };
  void readAll();

  return {
    state,
    folders,
    entries: (path) => opened.get(path),
    open: (folder) => {
      const { path, firstFile } = folder;
      const before = opened.get(path) ?? { pairs: [], hasMore: false, next: firstFile };
      const from = before.next;
      if (from === null) return;
      set(path, { ...before, next: null, isLoading: true, failure: null });
      const isOpen = (): boolean => opened.has(path);
      readFolder(sides, folders, folder, { from, most: PART, signal: opening.signal }).then(
        ({ pairs, next }) => {
          if (!isOpen()) return;
          const all = [...before.pairs, ...pairs];
          set(path, { pairs: all, next, hasMore: next !== null, isLoading: false, failure: null });
        },
        (error: unknown) => {
          if (!isOpen() || opening.signal.aborted) return;
          set(path, { ...before, next: from, hasMore: true, isLoading: false, failure: failureOf(error) });
        },
      );
    },
    close: (path) => {
      opened.delete(path);
      change({});
    },
    cancel: () => comparing.abort(),
    stop: () => {
      comparing.abort();
      opening.abort();
    },
  };
}

function failureOf(error: unknown): ApiFailure | ReleaseMoved {
  return error instanceof ApiFailure || error instanceof ReleaseMoved ? error : new ApiFailure(String(error));
}

interface FolderPart {
  readonly pairs: readonly EntryPair[];
  /** Where the next part begins; `null` after the last one. */
  readonly next: Place | null;
}

/**
 * Reads changed entries of a folder again: the folders keep only counts, so that their memory is bounded.
 *
 * @param from where to begin
 * @param most entries
 * @throws ApiFailure, ReleaseMoved
 */
export async function readFolder(
  read: { readonly left: ReadEntries; readonly right: ReadEntries },
  folders: ChangedFolders,
  folder: ChangedFolder,
  { from, most, signal }: { from: Place; most: number; signal: AbortSignal },
): Promise<FolderPart> {
  const pairs: EntryPair[] = [];
  let next: Place | null = null;
  const left = new EntryCursor(read.left, signal, { from: from.left, to: folder.end.left });
  const right = new EntryCursor(read.right, signal, { from: from.right, to: folder.end.right });
  await mergeEntries(left, right, (pair, place) => {
    const inner = folderBelow(folders, folder.path, destinationOf(pair));
    if (inner !== undefined) return { skipTo: inner.end };
    if (isSame(pair)) return 'next';
    if (pairs.length === most) {
      next = place;
      return 'stop';
    }
    pairs.push(pair);
    return 'next';
  });
  return { pairs, next };
}

function folderBelow(folders: ChangedFolders, path: string, destination: string): ChangedFolder | undefined {
  const slash = destination.indexOf('/', path.length);
  return slash === -1 ? undefined : folders.folder(destination.slice(0, slash + 1));
}
