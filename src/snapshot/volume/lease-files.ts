import { constants } from 'node:fs';
import { lstat, readdir, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { errorCode } from '../../platform/files/error-code.ts';
import { readBoundedFile } from '../../platform/files/files.ts';
import type { StoreRoot } from './store-root.ts';
import { mkdir, open, rm } from '../../platform/files/file-changes.ts';

export interface LeaseHolder {
  /** Names the data folder: no two running processes have the same. */
  readonly id: string;
  /** For people, such as `4711 on host-1`. */
  readonly name: string;
}

/** One file of the lease folder. */
export interface StoredLease {
  /** The number in its name; the highest is the lease, all others have ended. */
  readonly epoch: number;
  /** Changes with each renewal: the bytes of the file, or its metadata when it cannot be a lease. */
  readonly bytes: Buffer;
  /** `null` when this is not a lease, for example because its creator died before it wrote the bytes. */
  readonly content: LeaseContent | null;
}

/** Names the holder of a lease, for messages. */
export function holderNameOf({ content }: StoredLease): string {
  return content === null ? 'an unknown daemon' : `the daemon ${content.holder}`;
}

const leaseContent = z.object({
  holder_id: z.string().min(1).max(200),
  holder: z.string().min(1).max(200),
  counter: z.int().min(0),
  released: z.boolean(),
  /** Whether the holder has not yet recovered from the writes of a daemon with another data folder. */
  other_writer: z.boolean().default(false),
});

type LeaseContent = z.output<typeof leaseContent>;

/** The part of a lease that changes while a daemon holds it. */
export interface LeaseState {
  readonly counter: number;
  readonly released: boolean;
  readonly other_writer: boolean;
}

/** A listing of the lease folder names a file that is not there. Network file systems may cache a listing for a while. */
export class StaleLeaseListingError extends Error {
  constructor(path: string) {
    super(`the lease folder lists ${path}, but there is no such file; the listing of the volume is stale`);
    this.name = 'StaleLeaseListingError';
  }
}

/** A newer holder removes files between a listing and a read, but rarely twice in a row. */
const MAX_LISTINGS = 10;

/** Every file has this size, so that a renewal needs no space on a full volume. */
const LEASE_BYTES = 1024;
const LEASE_DIRECTORY = 'lease';

/** Errors of a name that is there, and which no daemon of this version wrote. */
const NOT_A_LEASE: ReadonlySet<string | null> = new Set(['EACCES', 'EIO', 'ELOOP']);
/** Errors of an open for writing when the name is not of a regular file. Source: open(2). */
const NOT_A_FILE: ReadonlySet<string | null> = new Set(['EISDIR', 'ELOOP', 'ENXIO']);
const EPOCH = /^[1-9][0-9]{0,14}$/;

/**
 * The files `lease/<epoch>` of a snapshot volume. A file is opened for each access: network file systems show the changes
 * of other hosts only after an open, and send changes only at the close. Source: nfs(5), "Close-to-open cache consistency".
 */
export class LeaseFiles {
  /** Compared before each write: another store has files of the same names. */
  readonly volume: StoreRoot;

  constructor(volume: StoreRoot) {
    this.volume = volume;
  }

  get #directory(): string {
    return join(this.volume.folder, LEASE_DIRECTORY);
  }

  /** The file with the highest number, or `null`. @throws StaleLeaseListingError; the file system error */
  async newest(): Promise<StoredLease | null> {
    let epoch: number | undefined;
    for (let listing = 0; listing < MAX_LISTINGS; listing += 1) {
      epoch = (await this.#epochs()).at(-1);
      if (epoch === undefined) return null;
      const lease = await this.read(epoch);
      // Without the file, a newer holder has just removed it.
      if (lease !== null) return lease;
    }
    throw new StaleLeaseListingError(this.#path(epoch ?? 0));
  }

  /** One file, or `null`. An entry that cannot be a lease has no content, so that it can be superseded. */
  async read(epoch: number): Promise<StoredLease | null> {
    const path = this.#path(epoch);
    try {
      const bytes = await readBoundedFile(path, LEASE_BYTES);
      return { epoch, bytes, content: parseLease(bytes) };
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return null;
      if (errorCode(error) !== null && !NOT_A_LEASE.has(errorCode(error))) throw error;
      return await readMetadata(epoch, path);
    }
  }

  /**
   * Creates a file. Exactly one of several daemons succeeds.
   *
   * @returns false when the file exists, because another daemon was faster
   * @throws StoreReplacedError; the file system error; no file of this daemon stays behind
   */
  async create(epoch: number, holder: LeaseHolder, otherWriter: boolean): Promise<boolean> {
    await this.volume.confirm();
    await this.#makeDirectory();
    let handle: FileHandle;
    try {
      handle = await this.#open(epoch, constants.O_CREAT | constants.O_EXCL);
    } catch (error) {
      if (errorCode(error) === 'EEXIST') return false;
      throw error;
    }
    try {
      await writeAndClose(
        handle,
        renderLease(holder, { counter: 0, released: false, other_writer: otherWriter }),
      );
    } catch (error) {
      // A full volume has space for the name but not for the content. The next attempt must not find the empty file.
      await rm(this.#path(epoch), { force: true });
      throw error;
    }
    return true;
  }

  /**
   * Changes a file of this holder in place.
   *
   * @returns false when there is no such file; anything else under its name is removed
   * @throws StoreReplacedError; the file system error
   */
  async write(epoch: number, holder: LeaseHolder, state: LeaseState): Promise<boolean> {
    await this.volume.confirm();
    let handle: FileHandle;
    try {
      // A symbolic link is not followed, and a named pipe does not hang the open.
      handle = await this.#open(epoch, constants.O_NOFOLLOW | constants.O_NONBLOCK);
    } catch (error) {
      if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return false;
      if (!NOT_A_FILE.has(errorCode(error))) throw error;
      await rm(this.#path(epoch), { recursive: true, force: true });
      return false;
    }
    await writeAndClose(handle, renderLease(holder, state));
    return true;
  }

  /** Removes the entries of earlier holders, as far as possible: only the newest one counts. */
  async removeOlder(epoch: number): Promise<void> {
    for (const older of await this.#epochs()) {
      if (older >= epoch) continue;
      await rm(this.#path(older), { recursive: true, force: true }).catch(() => undefined);
    }
  }

  async #makeDirectory(): Promise<void> {
    try {
      // Not recursive: on a read-only volume that reports ENOENT instead of EROFS.
      await mkdir(this.#directory);
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
      if (!(await lstat(this.#directory)).isDirectory()) {
        await rm(this.#directory);
        await mkdir(this.#directory);
      }
    }
  }

  #open(epoch: number, flags: number): Promise<FileHandle> {
    return open(this.#path(epoch), constants.O_WRONLY | flags, 0o644);
  }

  async #epochs(): Promise<number[]> {
    try {
      const names = await readdir(this.#directory);
      return names
        .filter((name) => EPOCH.test(name))
        .map(Number)
        .sort((left, right) => left - right);
    } catch (error) {
      if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return [];
      throw error;
    }
  }

  #path(epoch: number): string {
    return join(this.#directory, String(epoch));
  }
}

async function writeAndClose(handle: FileHandle, bytes: Buffer): Promise<void> {
  try {
    await handle.write(bytes, 0, bytes.length, 0);
    if ((await handle.stat()).size > bytes.length) await handle.truncate(bytes.length);
  } finally {
    await handle.close();
  }
}

function renderLease(holder: LeaseHolder, state: LeaseState): Buffer {
  const content: LeaseContent = { holder_id: holder.id, holder: holder.name, ...state };
  const json = Buffer.from(JSON.stringify(content));
  // A longer file could not be read.
  if (json.length >= LEASE_BYTES) {
    throw new RangeError(`a lease has less than ${LEASE_BYTES} bytes, this one has ${json.length}`);
  }
  const bytes = Buffer.alloc(LEASE_BYTES, ' ');
  json.copy(bytes);
  bytes[LEASE_BYTES - 1] = 0x0a;
  return bytes;
}

async function readMetadata(epoch: number, path: string): Promise<StoredLease | null> {
  try {
    const { ino, size, mtimeNs, ctimeNs } = await lstat(path, { bigint: true });
    return { epoch, bytes: Buffer.from(`${ino} ${size} ${mtimeNs} ${ctimeNs}`), content: null };
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

function parseLease(bytes: Buffer): LeaseContent | null {
  try {
    return leaseContent.parse(JSON.parse(bytes.toString('utf8')));
  } catch {
    return null;
  }
}
