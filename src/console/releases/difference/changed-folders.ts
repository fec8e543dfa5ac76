/** Folds the changed entries of two releases to folders, in bounded memory; pure. */

import { destinationOf, isSame, type EntryPair, type Place } from './entry-cursor.ts';

/** Folders that are kept. The changes of further folders count for the folder that contains them. */
const MAX_FOLDERS = 20_000;

export interface Totals {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  /** Bytes of the entries that the right side has and the left one does not, or has otherwise. */
  readonly newBytes: number;
  /** By how many bytes the right side is larger. */
  readonly growth: number;
}

const NO_CHANGES: Totals = { added: 0, changed: 0, removed: 0, newBytes: 0, growth: 0 };

export interface ChangedFolder {
  /** With a slash at its end; empty for the release itself. */
  readonly path: string;
  readonly totals: Totals;
  readonly files: number;
  readonly firstFile: Place | null;
  readonly end: Place;
  readonly folders: readonly string[];
}

interface OpenFolder {
  readonly path: string;
  record: Mutable | null;
}

type Mutable = { -readonly [Name in keyof ChangedFolder]: ChangedFolder[Name] } & { folders: string[] };

/** The folders that have changes. Entries must come in the order of their destinations. */
export class ChangedFolders {
  readonly #most: number;
  readonly #kept = new Map<string, Mutable>();
  readonly #root: Mutable = recordOf('');
  #open: OpenFolder[] = [{ path: '', record: this.#root }];

  constructor(most = MAX_FOLDERS) {
    this.#most = most;
    this.#kept.set('', this.#root);
  }

  get root(): ChangedFolder {
    return this.#root;
  }

  get size(): number {
    return this.#kept.size;
  }

  folder(path: string): ChangedFolder | undefined {
    return this.#kept.get(path);
  }

  add(pair: EntryPair, place: Place): void {
    this.#enter(destinationOf(pair), place);
    if (isSame(pair)) return;
    let innermost = this.#root;
    let isFull = false;
    for (const each of this.#open) {
      if (each.record === null && !isFull) each.record = this.#keep(each.path, innermost);
      if (each.record === null) isFull = true;
      else if (!isFull) {
        innermost = each.record;
        innermost.totals = withChange(innermost.totals, pair);
      }
    }
    innermost.files += 1;
    innermost.firstFile ??= place;
  }

  finish(place: Place): void {
    this.#close(0, place);
  }

  #enter(destination: string, place: Place): void {
    let depth = this.#open.length - 1;
    while (!destination.startsWith(this.#open[depth]?.path ?? '')) depth -= 1;
    this.#close(depth + 1, place);
    let from = this.#open[depth]?.path.length ?? 0;
    for (let slash = destination.indexOf('/', from); slash !== -1; slash = destination.indexOf('/', from)) {
      from = slash + 1;
      this.#open.push({ path: destination.slice(0, from), record: null });
    }
  }

  #close(depth: number, place: Place): void {
    for (const { record } of this.#open.splice(depth)) if (record !== null) record.end = place;
  }

  #keep(path: string, parent: Mutable): Mutable | null {
    if (this.#kept.size >= this.#most) return null;
    const record = recordOf(path);
    this.#kept.set(path, record);
    parent.folders.push(path);
    return record;
  }
}

function recordOf(path: string): Mutable {
  return { path, totals: NO_CHANGES, files: 0, firstFile: null, end: { left: 0, right: 0 }, folders: [] };
}

function withChange(totals: Totals, { left, right }: EntryPair): Totals {
  return {
    added: totals.added + (left === null ? 1 : 0),
    changed: totals.changed + (left !== null && right !== null ? 1 : 0),
    removed: totals.removed + (right === null ? 1 : 0),
    newBytes: totals.newBytes + (right?.size ?? 0),
    growth: totals.growth + (right?.size ?? 0) - (left?.size ?? 0),
  };
}
