import { statfsSync, statSync } from 'node:fs';
import { messageOf } from '../../../platform/errors.ts';
import { systemClock } from '../../../platform/process/clock.ts';
import { DATA_FULL, isDatabaseDamage, storageFailureOf } from '../../../engine/database/storage-failure.ts';
import { setIndexAside } from '../index/index-database.ts';
import { INDEX_REPLACED, isIndexReplaced, type IndexReplacement } from './index-replaced.ts';
import { openParseIndex, type ParseIndex } from '../index/parse-index.ts';

/** The code of the error that says that no run has filled the new index yet. */
const INDEX_EMPTY = 'index_empty';
/** Work begins again once; an index that is lost twice has a cause that a third attempt does not fix. */
const MAX_ATTEMPTS = 2;

interface OpenIndex {
  readonly index: ParseIndex;
  readonly identity: string | null;
  /** Aborted when another index takes its place. */
  readonly lost: AbortController;
}

/**
 * The open parse index. It is opened with the first use. When SQLite finds damage in it, its file is set aside and an empty
 * one takes its place. A file that was deleted or replaced while it was open is left alone, and the one with its name is
 * opened. Work on the old index then ends: nothing is written to it anymore.
 */
export class IndexHolder {
  readonly #path: string;
  #opened: OpenIndex | null = null;
  #replacement: IndexReplacement | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  get replacement(): IndexReplacement | null {
    return this.#replacement;
  }

  /** @throws Error with the code `index_replaced` when the index was replaced now; Error with the code of a storage failure */
  read<T>(use: (index: ParseIndex) => T): T {
    try {
      const active = this.#current();
      if (active instanceof Error) throw active;
      return use(active.index);
    } catch (error) {
      throw isDatabaseDamage(error) ? this.#setAside(error) : namedError(error);
    }
  }

  /**
   * Reads an index that a run has filled, or that never had anything.
   *
   * @throws as `read`; Error with the code `index_empty` as long as no run has filled an index that replaced another one
   */
  readFilled<T>(use: (index: ParseIndex) => T): T {
    return this.read((index) => {
      if (this.#replacement !== null && index.status().release_id === null) {
        throw indexError(INDEX_EMPTY, this.#replacement.reason);
      }
      return use(index);
    });
  }

  /**
   * Runs work that starts from the beginning when the index is replaced meanwhile, once.
   *
   * @param work gets a signal that also says that its index was replaced
   * @throws Error with the code `index_replaced` or of a storage failure; the error of the work; the signal's reason
   */
  async run<T>(
    work: (index: ParseIndex, signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    for (let number = 1; ; number += 1) {
      try {
        return await this.#attempt(work, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (!isIndexReplaced(error) || number === MAX_ATTEMPTS) throw namedError(error);
      }
    }
  }

  close(): void {
    this.#opened?.index.close();
    this.#opened = null;
  }

  async #attempt<T>(
    work: (index: ParseIndex, signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    let active = this.#current();
    // Nothing of this attempt is lost yet.
    if (active instanceof Error) active = this.#current();
    if (active instanceof Error) throw active;
    try {
      return await work(active.index, AbortSignal.any([signal, active.lost.signal]));
    } catch (error) {
      signal.throwIfAborted();
      if (active.lost.signal.aborted) throw active.lost.signal.reason;
      throw isDatabaseDamage(error) ? this.#setAside(error) : error;
    }
  }

  /**
   * The open index; opens it when none is. Returns the error `index_replaced` when the file of the open one is no longer the
   * one with its name; the next call opens that.
   *
   * @throws DatabaseError when the file cannot be opened or written
   */
  #current(): OpenIndex | Error {
    try {
      if (this.#opened === null) return this.#open();
      if (this.#opened.identity === identityOf(this.#path)) return this.#opened;
      return this.#lose(`the file ${this.#path} was deleted or replaced while the daemon ran`);
    } catch (error) {
      if (!isDatabaseDamage(error)) throw error;
      return this.#setAside(error);
    }
  }

  #open(): OpenIndex {
    const index = openParseIndex(this.#path, systemClock);
    if (index.rebuilt !== null) this.#replacement = { at: systemClock.now(), reason: index.rebuilt };
    this.#opened = { index, identity: identityOf(this.#path), lost: new AbortController() };
    return this.#opened;
  }

  /** Closes the damaged index and renames its file; returns the error `index_replaced`. */
  #setAside(damage: unknown): Error {
    const lost = this.#lose(`the index ${this.#path} was damaged (${messageOf(damage)}) and was set aside`);
    setIndexAside(this.#path, new Date(systemClock.now()));
    return lost;
  }

  #lose(reason: string): Error {
    this.#replacement = { at: systemClock.now(), reason };
    const error = indexError(INDEX_REPLACED, reason);
    this.#opened?.lost.abort(error);
    this.close();
    return error;
  }
}

/** An error whose code survives the call from the other thread, with the advice for its failure. */
function namedError(error: unknown): unknown {
  if (isIndexReplaced(error)) return error;
  const failure = storageFailureOf(error);
  if (failure === null) return error;
  return Object.assign(new Error(`${messageOf(error)}; ${failure.advice}`), { code: failure.code });
}

/** Bytes that the index leaves for the daemon's own database, which has to record how the run ended. */
const RESERVED_BYTES = 8 * 1024 * 1024;

/**
 * Checks that the index does not fill the file system.
 *
 * @param directory on the file system of the index
 * @throws Error with the code `data_full`
 */
export function checkSpace(
  directory: string,
  statfs: (path: string) => { readonly bavail: number; readonly bsize: number } = statfsSync,
): void {
  const { bavail, bsize } = statfs(directory);
  const free = bavail * bsize;
  if (free >= RESERVED_BYTES) return;
  const message = `${directory} has ${free} free bytes, and the index leaves ${RESERVED_BYTES} to the daemon`;
  throw Object.assign(new Error(`${message}; ${DATA_FULL.advice}`), { code: DATA_FULL.code });
}

function identityOf(path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}

function indexError(code: string, reason: string): Error {
  return Object.assign(new Error(`${reason}; the next parse run fills the new index`), { code });
}
