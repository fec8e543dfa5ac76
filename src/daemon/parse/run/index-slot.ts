import { statSync } from 'node:fs';
import { findPlaceholders } from '../../../domain/text/placeholders.ts';
import { messageOf } from '../../../platform/errors.ts';
import { errorCode } from '../../../platform/files/error-code.ts';
import { systemClock } from '../../../platform/process/clock.ts';
import { isDatabaseDamage } from '../../database/storage-failure.ts';
import { unitIdOf } from '../container/unit-emitter.ts';
import { setIndexAside } from '../index/index-database.ts';
import { openParseIndex, type ParseIndex } from '../index/parse-index.ts';

/** Why an empty index took the place of another one. */
export interface IndexReplacement {
  /** Unix milliseconds. */
  readonly at: number;
  readonly reason: string;
}

/** The code of the error that says that the index was replaced during this call. */
const INDEX_REPLACED = 'index_replaced';
/** The code of the error that says that no run has filled the new index yet. */
export const INDEX_EMPTY = 'index_empty';

/** An open index. */
export interface OpenIndex {
  readonly index: ParseIndex;
  readonly identity: string | null;
  /** Aborted when another index takes its place. */
  readonly lost: AbortController;
}

/** The place of the open index. */
export interface IndexSlot {
  /**
   * The open index; opens it when none is. Gives the error `index_replaced` when the file of the open one is no longer the
   * one with its name; the next call opens that.
   *
   * @throws DatabaseError when the file cannot be opened or written
   */
  current(): OpenIndex | Error;
  /** Closes the damaged index and renames its file; gives the error `index_replaced`. */
  setAside(damage: unknown): Error;
  /** The last replacement, or `null`. */
  replacement(): IndexReplacement | null;
  close(): void;
}

/** Creates the place of the index at a path. */
export function createIndexSlot(path: string): IndexSlot {
  let opened: OpenIndex | null = null;
  let replacement: IndexReplacement | null = null;

  const open = (): OpenIndex => {
    const index = openParseIndex({ path, clock: systemClock, unitIdOf, placeholdersOf: findPlaceholders });
    if (index.rebuilt !== null) replacement = { at: systemClock.now(), reason: index.rebuilt };
    opened = { index, identity: identityOf(path), lost: new AbortController() };
    return opened;
  };
  const lose = (reason: string): Error => {
    replacement = { at: systemClock.now(), reason };
    const error = indexError(INDEX_REPLACED, reason);
    opened?.lost.abort(error);
    opened?.index.close();
    opened = null;
    return error;
  };
  const setAside = (error: unknown): Error => {
    const lost = lose(`the index ${path} was damaged (${messageOf(error)}) and was set aside`);
    setIndexAside(path, new Date(systemClock.now()));
    return lost;
  };
  /** The open index, or the error of an index whose file is no longer the one with its name. */
  const current = (): OpenIndex | Error => {
    try {
      if (opened === null) return open();
      if (opened.identity === identityOf(path)) return opened;
      return lose(`the file ${path} was deleted or replaced while the daemon ran`);
    } catch (error) {
      if (!isDatabaseDamage(error)) throw error;
      return setAside(error);
    }
  };
  return {
    current,
    setAside,
    replacement: () => replacement,
    close: () => {
      opened?.index.close();
      opened = null;
    },
  };
}

/** Device and number of a file; `null` when there is none. */
function identityOf(path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}

/** An error of an index that was replaced. */
export function indexError(code: string, reason: string): Error {
  return Object.assign(new Error(`${reason}; the next parse run fills the new index`), { code });
}

/** Whether an error says that the index was replaced during the call. */
export function isIndexReplaced(error: unknown): boolean {
  return errorCode(error) === INDEX_REPLACED;
}
