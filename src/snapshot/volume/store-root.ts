import { close, constants, open } from 'node:fs';
import { stat } from 'node:fs/promises';
import process from 'node:process';
import { promisify } from 'node:util';
import { messageOf } from '../../platform/errors.ts';
import { literalPattern } from '../../platform/literal-pattern.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { listAttestationVersions } from './attestation-files.ts';
import { holdsStore, isFormatLost, readStoreFormat, StoreFormatError } from './snapshot-store.ts';
import { makeDirectoriesDurably } from '../../platform/files/files.ts';

/** The folder at the path of the volume is not the store that this process writes to. It may come back. */
export class StoreReplacedError extends Error {
  readonly code = 'ESTORE';
  /** What is there instead, without the path, such as `it holds another store`. */
  readonly finding: string;

  constructor(path: string, finding: string) {
    super(`the snapshot volume ${path} is not the one that this daemon opened: ${finding}`);
    this.name = 'StoreReplacedError';
    this.finding = finding;
  }
}

/** Decides about a folder before anything is written to it. @throws to refuse it */
type AcceptFolder = (folder: string) => Promise<void>;

/** Gives an open descriptor a path, which may not exist. */
type PathOfDescriptor = (descriptor: number) => string;

/** With the number of the process, because child processes write staged files, too. Source: proc(5), /proc/[pid]/fd. */
const pathInProc: PathOfDescriptor = (descriptor) => `/proc/${process.pid}/fd/${descriptor}`;

interface OpenedFolder {
  readonly descriptor: number;
  /** A path below this one leads into the folder that was opened, whatever has its former path now. */
  readonly path: string;
  readonly identity: string;
}

/** Descriptors of replaced folders that stay open: a task may still use their paths, and a number must not be reused meanwhile. */
const MAX_REPLACED = 16;
/** Errors of a path where no folder is. Source: stat(2). */
const NO_FOLDER: ReadonlySet<string | null> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);

const openDescriptor = promisify(open);
const closeDescriptor = promisify(close);

/**
 * The root of a snapshot volume, for its writer. Every write goes below {@link folder}, which is the folder that was opened and
 * identified: a volume that is put at the path later is never written. {@link confirm} compares the path with that folder. Without
 * /proc (macOS) the folder is the path itself, so that only the comparison protects another volume.
 */
export class StoreRoot {
  /** The configured path: for readers and messages. */
  readonly path: string;
  readonly #accept: AcceptFolder;
  readonly #pathOf: PathOfDescriptor;
  readonly #replacedFolders: OpenedFolder[] = [];
  #opened: OpenedFolder;
  #storeId: string | null;
  /** The newest attestation that was seen on the volume, or written to it. */
  #version: number;
  #replaced: StoreReplacedError | null = null;
  #comparing: Promise<void> | null = null;

  private constructor(
    path: string,
    how: { readonly accept: AcceptFolder; readonly pathOf: PathOfDescriptor },
    opened: OpenedFolder,
    found: { readonly storeId: string | null; readonly version: number },
  ) {
    this.path = path;
    this.#accept = how.accept;
    this.#pathOf = how.pathOf;
    this.#opened = opened;
    this.#storeId = found.storeId;
    this.#version = found.version;
  }

  /**
   * Opens the root of a volume, and makes the folder when it is missing.
   *
   * @param accept called with each folder that is opened, until the store of this writer is known
   * @param pathOf gives a descriptor its path; tests can use another one
   * @throws what `accept` throws; the file system error
   */
  static async open(
    path: string,
    accept: AcceptFolder = () => Promise.resolve(),
    pathOf: PathOfDescriptor = pathInProc,
  ): Promise<StoreRoot> {
    const opened = await openFolder(path, pathOf).catch(async (error: unknown) => {
      if (errorCode(error) !== 'ENOENT') throw error;
      await makeDirectoriesDurably(path);
      return await openFolder(path, pathOf);
    });
    try {
      await accept(opened.path);
      const found = { storeId: await storeIdIn(opened.path), version: await newestVersionIn(opened.path) };
      return new StoreRoot(path, { accept, pathOf }, opened, found);
    } catch (error) {
      await closeDescriptor(opened.descriptor);
      throw withPath(error, [opened.path], path);
    }
  }

  /** Where to write. It changes when the same store comes back as another folder. */
  get folder(): string {
    return this.#opened.path;
  }

  /** Whether {@link folder} stays the folder that was opened when another one is put at the path. */
  get isPinned(): boolean {
    return this.#opened.path !== this.path;
  }

  /** What the last comparison found at the path instead of the store, or `null`. */
  get replaced(): StoreReplacedError | null {
    return this.#replaced;
  }

  /**
   * From now on only this store is written.
   *
   * @throws StoreReplacedError when the volume was another store before; the file system error
   */
  async bind(storeId: string): Promise<void> {
    if (this.#storeId !== null && this.#storeId !== storeId) throw this.#another(storeId);
    this.#storeId = storeId;
    this.#version = await newestVersionIn(this.folder);
  }

  /** Remembers the version of an attestation as durable on the volume. */
  noteVersion(version: number): void {
    this.#version = Math.max(this.#version, version);
  }

  /**
   * Compares what is at the path with the store that was opened. When the same store has come back as another folder, that one is
   * opened.
   *
   * @throws StoreReplacedError when it is another store, an older copy, or nothing; what `accept` throws; the file system error
   */
  async confirm(): Promise<void> {
    this.#comparing ??= this.#compare().finally(() => {
      this.#comparing = null;
    });
    await this.#comparing;
  }

  /** @throws StoreReplacedError when nothing of a store is left, for example because the volume was unmounted */
  async refuseEmpty(): Promise<void> {
    if (!(await holdsStore(this.folder))) throw this.#empty();
  }

  /** Gives an error of the file system the path that people know, also one of a task that began before the folder was replaced. */
  named(error: unknown): unknown {
    return withPath(
      error,
      [this.#opened, ...this.#replacedFolders].map(({ path }) => path),
      this.path,
    );
  }

  async close(): Promise<void> {
    for (const { descriptor } of [this.#opened, ...this.#replacedFolders.splice(0)]) {
      await closeDescriptor(descriptor);
    }
  }

  async #compare(): Promise<void> {
    try {
      await this.#identify();
      this.#replaced = null;
    } catch (error) {
      if (error instanceof StoreReplacedError) this.#replaced = error;
      throw this.named(error);
    }
  }

  async #identify(): Promise<void> {
    if ((await this.#identityAtPath()) === this.#opened.identity) {
      // FORMAT that was lost is written again, as long as something of the store is left.
      if (this.#storeId === null) return;
      if (await isFormatLost(this.folder)) await this.refuseEmpty();
      else await this.#requireStore(this.folder, this.#storeId);
      return;
    }
    const candidate = await openFolder(this.path, this.#pathOf);
    try {
      await this.#requireSuccessor(candidate.path);
    } catch (error) {
      await closeDescriptor(candidate.descriptor);
      throw withPath(error, [candidate.path], this.path);
    }
    this.#replacedFolders.push(this.#opened);
    this.#opened = candidate;
    for (const { descriptor } of this.#replacedFolders.splice(
      0,
      this.#replacedFolders.length - MAX_REPLACED,
    )) {
      await closeDescriptor(descriptor);
    }
  }

  async #identityAtPath(): Promise<string> {
    try {
      return await identityOf(this.path);
    } catch (error) {
      if (!NO_FOLDER.has(errorCode(error))) throw error;
      throw new StoreReplacedError(this.path, 'no folder is there; check the mount of the volume');
    }
  }

  /** Refuses another folder than the one that was opened, unless it is the same store and not older. */
  async #requireSuccessor(folder: string): Promise<void> {
    if (this.#storeId === null) {
      await this.#accept(folder);
      this.#storeId = await storeIdIn(folder);
      this.#version = await newestVersionIn(folder);
      return;
    }
    if (await isFormatLost(folder)) throw this.#empty();
    await this.#requireStore(folder, this.#storeId);
    const version = await newestVersionIn(folder);
    if (version >= this.#version) return;
    throw new StoreReplacedError(
      this.path,
      `it holds an older copy of the store, with attestation version ${version} where version ${this.#version} was written; put the newer volume back, or restart the daemon to continue from the copy`,
    );
  }

  async #requireStore(folder: string, storeId: string): Promise<void> {
    let found: string;
    try {
      found = (await readStoreFormat(folder)).store_id;
    } catch (error) {
      if (!(error instanceof StoreFormatError)) throw error;
      throw new StoreReplacedError(this.path, messageOf(withPath(error, [folder], this.path)));
    }
    if (found !== storeId) throw this.#another(found);
  }

  #another(found: string): StoreReplacedError {
    return new StoreReplacedError(
      this.path,
      `it holds another store (${found}) than that of this daemon (${this.#storeId}); put the volume of this daemon back`,
    );
  }

  #empty(): StoreReplacedError {
    return new StoreReplacedError(this.path, 'it holds no store anymore; check the mount of the volume');
  }
}

/** Opens a folder so that it can be written by a path that stays the same folder. @throws the file system error */
async function openFolder(path: string, pathOf: PathOfDescriptor): Promise<OpenedFolder> {
  const descriptor = await openDescriptor(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    const pinned = pathOf(descriptor);
    const identity = await identityOf(pinned).catch(() => null);
    if (identity !== null) return { descriptor, path: pinned, identity };
    return { descriptor, path, identity: await identityOf(path) };
  } catch (error) {
    await closeDescriptor(descriptor);
    throw error;
  }
}

async function identityOf(path: string): Promise<string> {
  const { dev, ino } = await stat(path, { bigint: true });
  return `${dev}:${ino}`;
}

async function storeIdIn(folder: string): Promise<string | null> {
  return (await isFormatLost(folder)) ? null : (await readStoreFormat(folder)).store_id;
}

async function newestVersionIn(folder: string): Promise<number> {
  try {
    return (await listAttestationVersions(folder))[0] ?? 0;
  } catch (error) {
    if (NO_FOLDER.has(errorCode(error))) return 0;
    throw error;
  }
}

/** Where an error of the file system names paths. Source: Node.js, class SystemError. */
const PATH_FIELDS = ['message', 'stack', 'path', 'dest'] as const;

function withPath(error: unknown, paths: readonly string[], path: string): unknown {
  if (!(error instanceof Error)) return error;
  for (const opened of paths) {
    if (opened === path) continue;
    // Descriptor 21 is no part of descriptor 217.
    const whole = new RegExp(`${literalPattern(opened)}(?!\\w)`, 'g');
    for (const field of PATH_FIELDS) {
      const text: unknown = Reflect.get(error, field);
      if (typeof text === 'string')
        Reflect.set(
          error,
          field,
          text.replaceAll(whole, () => path),
        );
    }
  }
  return error;
}
