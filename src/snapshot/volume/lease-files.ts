import { constants } from 'node:fs';
import { mkdir, open, readdir, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { errorCode } from '../../platform/files/error-code.ts';
import { readBoundedFile } from '../../platform/files/files.ts';

/** A daemon that may hold a lease. */
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
  readonly bytes: Buffer;
  /** `null` when the bytes are not a lease, for example because its creator died before it wrote them. */
  readonly content: LeaseContent | null;
}

const leaseContent = z.object({
  holder_id: z.string().min(1).max(200),
  holder: z.string().min(1).max(200),
  counter: z.int().min(0),
  released: z.boolean(),
});

type LeaseContent = z.output<typeof leaseContent>;

/** Every file has this size, so that a renewal needs no space on a full volume. */
const LEASE_BYTES = 1024;
const LEASE_DIRECTORY = 'lease';
const EPOCH = /^[1-9][0-9]{0,14}$/;

/**
 * The files `lease/<epoch>` of a snapshot volume. A file is opened for each access: network file systems show the changes
 * of other hosts only after an open, and send changes only at the close. Source: nfs(5), "Close-to-open cache consistency".
 */
export class LeaseFiles {
  readonly #directory: string;

  constructor(root: string) {
    this.#directory = join(root, LEASE_DIRECTORY);
  }

  /** The file with the highest number, or `null`. */
  async newest(): Promise<StoredLease | null> {
    for (;;) {
      const epoch = (await this.#epochs()).at(-1);
      if (epoch === undefined) return null;
      const lease = await this.read(epoch);
      // Without the file, a newer holder has just removed it.
      if (lease !== null) return lease;
    }
  }

  /** One file, or `null`. */
  async read(epoch: number): Promise<StoredLease | null> {
    try {
      const bytes = await readBoundedFile(this.#path(epoch), LEASE_BYTES);
      return { epoch, bytes, content: parseLease(bytes) };
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return null;
      throw error;
    }
  }

  /**
   * Creates a file. Exactly one of several daemons succeeds.
   *
   * @returns false when the file exists, because another daemon was faster
   * @throws the file system error; no file of this daemon stays behind
   */
  async create(epoch: number, holder: LeaseHolder): Promise<boolean> {
    await mkdir(this.#directory, { recursive: true });
    let handle: FileHandle;
    try {
      handle = await this.#open(epoch, constants.O_CREAT | constants.O_EXCL);
    } catch (error) {
      if (errorCode(error) === 'EEXIST') return false;
      throw error;
    }
    try {
      await writeAndClose(handle, renderLease(holder, 0, false));
    } catch (error) {
      // A full volume has space for the name but not for the content. The next attempt must not find the empty file.
      await rm(this.#path(epoch), { force: true });
      throw error;
    }
    return true;
  }

  /** Changes a file of this holder in place. */
  async write(epoch: number, holder: LeaseHolder, counter: number, released: boolean): Promise<void> {
    await writeAndClose(await this.#open(epoch, 0), renderLease(holder, counter, released));
  }

  /** Removes the files of earlier holders. */
  async removeOlder(epoch: number): Promise<void> {
    for (const older of await this.#epochs()) {
      if (older < epoch) await rm(this.#path(older), { force: true });
    }
  }

  #open(epoch: number, flags: number): Promise<FileHandle> {
    return open(this.#path(epoch), constants.O_WRONLY | flags, 0o644);
  }

  /** The numbers of all files, ascending. */
  async #epochs(): Promise<number[]> {
    try {
      const names = await readdir(this.#directory);
      return names
        .filter((name) => EPOCH.test(name))
        .map(Number)
        .sort((left, right) => left - right);
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return [];
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
  } finally {
    await handle.close();
  }
}

function renderLease(holder: LeaseHolder, counter: number, released: boolean): Buffer {
  const content: LeaseContent = { holder_id: holder.id, holder: holder.name, counter, released };
  return Buffer.from(`${JSON.stringify(content).padEnd(LEASE_BYTES - 1)}\n`);
}

function parseLease(bytes: Buffer): LeaseContent | null {
  try {
    return leaseContent.parse(JSON.parse(bytes.toString('utf8')));
  } catch {
    return null;
  }
}
