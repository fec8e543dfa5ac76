import { messageOf } from '../../../platform/errors.ts';
import { isDatabaseDamage, storageFailureOf } from '../../database/storage-failure.ts';
import type { ParseIndex } from '../index/parse-index.ts';
import {
  createIndexSlot,
  INDEX_EMPTY,
  indexError,
  isIndexReplaced,
  type IndexReplacement,
} from './index-slot.ts';

/**
 * The open parse index. It is opened with the first use. When SQLite finds damage in it, its file is set aside and an empty
 * one takes its place. A file that was deleted or replaced while it was open is left alone, and the one with its name is
 * opened. Work on the old index then ends: nothing is written to it anymore.
 */
export interface IndexHolder {
  /**
   * @throws Error with the code `index_replaced` when the index was replaced now; Error with the code of a storage
   *   failure
   */
  read<T>(use: (index: ParseIndex) => T): T;
  /**
   * Reads an index that a run has filled, or that never had anything.
   *
   * @throws as `read`; Error with the code `index_empty` as long as no run has filled an index that replaced another one
   */
  readFilled<T>(use: (index: ParseIndex) => T): T;
  /**
   * Runs work that starts from the beginning when the index is replaced meanwhile, once.
   *
   * @param work gets a signal that also says that its index was replaced
   * @throws Error with the code `index_replaced` or of a storage failure; the error of the work; the signal's reason
   */
  run<T>(work: (index: ParseIndex, signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T>;
  /** The last replacement, or `null`. */
  replacement(): IndexReplacement | null;
  close(): void;
}

/** Work begins again once; an index that is lost twice has a cause that a third attempt does not mend. */
const MAX_ATTEMPTS = 2;

/** Creates the holder of the index at a path. */
export function createIndexHolder(path: string): IndexHolder {
  const slot = createIndexSlot(path);
  const attempt = async <T>(
    work: (index: ParseIndex, signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> => {
    let active = slot.current();
    // Nothing of this attempt is lost yet.
    if (active instanceof Error) active = slot.current();
    if (active instanceof Error) throw active;
    try {
      return await work(active.index, AbortSignal.any([signal, active.lost.signal]));
    } catch (error) {
      signal.throwIfAborted();
      if (active.lost.signal.aborted) throw active.lost.signal.reason;
      throw isDatabaseDamage(error) ? slot.setAside(error) : error;
    }
  };
  const read = <T>(use: (index: ParseIndex) => T): T => {
    try {
      const active = slot.current();
      if (active instanceof Error) throw active;
      return use(active.index);
    } catch (error) {
      throw isDatabaseDamage(error) ? slot.setAside(error) : namedError(error);
    }
  };
  return {
    read,
    readFilled: (use) =>
      read((index) => {
        const replacement = slot.replacement();
        if (replacement !== null && index.status().release_id === null) {
          throw indexError(INDEX_EMPTY, replacement.reason);
        }
        return use(index);
      }),
    run: async (work, signal) => {
      for (let number = 1; ; number += 1) {
        try {
          return await attempt(work, signal);
        } catch (error) {
          signal.throwIfAborted();
          if (!isIndexReplaced(error) || number === MAX_ATTEMPTS) throw namedError(error);
        }
      }
    },
    replacement: () => slot.replacement(),
    close: () => {
      slot.close();
    },
  };
}

/** An error whose code survives the way to the other thread, with the advice for its failure. */
function namedError(error: unknown): unknown {
  if (isIndexReplaced(error)) return error;
  const failure = storageFailureOf(error);
  if (failure === null) return error;
  return Object.assign(new Error(`${messageOf(error)}; ${failure.advice}`), { code: failure.code });
}
