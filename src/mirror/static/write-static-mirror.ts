import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, copyFile, lstat, mkdir, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  RELEASE_FILE,
  RELEASE_FILE_END,
  renderReleaseFileEntry,
  releaseFileVersion,
  renderReleaseFileHead,
} from '../../contract/formats/release-file-format.ts';
import {
  renderStaticMirror,
  STATIC_MIRROR_FILE,
  staticFilePath,
  staticManifestPath,
  staticServerInfoPath,
} from '../../contract/formats/static-mirror-format.ts';
import { manifestDigestOf, type Blake3Hex } from '../../domain/release/digest.ts';
import { encodePath } from '../../domain/release/encode-path.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { fsyncDirectory } from '../../platform/files/files.ts';
import type { HashPool } from '../../platform/hashing/digests.ts';
import { forEachConcurrently } from '../../platform/process/concurrently.ts';
import { ObjectFault } from '../../snapshot/objects/object-fault.ts';
import { openObject } from '../../snapshot/objects/object-reader.ts';
import { manifestPath, objectPath } from '../../snapshot/volume/layout.ts';
import { requireStaticFolder, UNFINISHED } from './static-folder.ts';
import type { StaticPlan } from './static-plan.ts';

/** Files written at a time: each is copied, hashed and made durable, and the disk likes several. */
const CONCURRENCY = 16;
const PIECE_BYTES = 64 * 1024;

interface WriteStaticMirrorOptions {
  readonly plan: StaticPlan;
  readonly directory: string;
  readonly pool: HashPool;
  /** @param bytes of the files that are there */
  readonly onProgress: (bytes: number) => void;
  readonly signal: AbortSignal;
}

/** Files of the release that a static mirror did not have before; its manifest and documents are not among them. */
export interface AddedFiles {
  readonly files: number;
  readonly bytes: number;
}

/**
 * Writes the static mirror of a release into a folder, or brings the folder to it. Files that are there stay untouched: a path holds the digest of
 * its content, and a file gets its path when its digest was compared and it is durable. What is written in its place, `release.json` and
 * `mirror.json`, comes last, so that at each instant the folder is a whole mirror of one release.
 *
 * @throws BundleError when the folder is of something else; ObjectFault when an object is missing or damaged; the file system error; the
 *   signal's reason
 */
export async function writeStaticMirror(options: WriteStaticMirrorOptions): Promise<AddedFiles> {
  const { plan, directory, onProgress, signal } = options;
  const { index, root, serverInfo, release } = plan;
  await requireStaticFolder(directory, plan);
  const folder = new StaticFolder(directory, options.pool);
  try {
    await folder.begin();
    let done = 0;
    await forEachConcurrently(
      Array.from({ length: index.length }).keys(),
      CONCURRENCY,
      signal,
      async (at) => {
        const [blake3, size] = [index.blake3(at), index.size(at)];
        await folder.addObject(root, staticFilePath(index.destination(at), blake3), blake3, size);
        done += size;
        onProgress(done);
      },
    );
    const added = { ...folder.added };
    if (serverInfo !== null) {
      const path = staticServerInfoPath(serverInfo.blake3);
      await folder.addObject(root, path, serverInfo.blake3, serverInfo.size);
    }
    const digest = manifestDigestOf(release.snapshot_id);
    if (digest === null) throw new RangeError(`not a snapshot id: ${release.snapshot_id}`);
    await folder.add(manifestPath(root, digest), staticManifestPath(digest), digest);
    await folder.settle();
    await folder.replace(RELEASE_FILE, async (file) => {
      await writeReleaseFile(file, plan);
    });
    await folder.replace(STATIC_MIRROR_FILE, async (file) => {
      await file.writeFile(renderStaticMirror(plan));
    });
    return added;
  } finally {
    await folder.end();
  }
}

async function writeReleaseFile(file: FileHandle, { index, release, serverInfo }: StaticPlan): Promise<void> {
  const { app_version: appVersion = null } = index.header;
  let text = renderReleaseFileHead({
    releaseId: release.release_id,
    appVersion: releaseFileVersion(appVersion),
    serverInfo:
      serverInfo === null
        ? null
        : { path: staticServerInfoPath(serverInfo.blake3), blake3: serverInfo.blake3 },
  });
  for (let at = 0; at < index.length; at += 1) {
    const [destination, blake3] = [index.destination(at), index.blake3(at)];
    const url = encodePath(staticFilePath(destination, blake3));
    text += renderReleaseFileEntry({ destination, size: index.size(at), blake3, url }, at === 0);
    if (text.length < PIECE_BYTES) continue;
    await file.writeFile(text);
    text = '';
  }
  await file.writeFile(text + RELEASE_FILE_END);
}

/** The files of a static mirror that is being written. */
class StaticFolder {
  readonly added = { files: 0, bytes: 0 };
  readonly #directory: string;
  readonly #pool: HashPool;
  readonly #made = new Map<string, Promise<unknown>>();
  readonly #changed = new Set<string>();

  constructor(directory: string, pool: HashPool) {
    this.#directory = directory;
    this.#pool = pool;
  }

  /** Removes what an export left that was killed. */
  async begin(): Promise<void> {
    await this.end();
    await mkdir(join(this.#directory, UNFINISHED), { recursive: true });
  }

  async end(): Promise<void> {
    await rm(join(this.#directory, UNFINISHED), { recursive: true, force: true });
  }

  async addObject(root: string, path: string, blake3: Blake3Hex, size: number): Promise<void> {
    if ((await this.#sizeOf(path)) === size) return;
    // Says what is wrong with the object.
    await (await openObject({ root, blake3, size })).close();
    await this.add(objectPath(root, blake3), path, blake3);
  }

  /** Adds a copy of a file of the store, unless it is there. */
  async add(source: string, path: string, blake3: Blake3Hex): Promise<void> {
    const copy = this.#unfinished();
    await copyFile(source, copy, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    await chmod(copy, 0o644);
    const handle = await open(copy, 'r');
    try {
      const found = await this.#pool.hashContent(handle.fd, { blocks: false, fromDisk: false });
      if (found.blake3 !== blake3)
        throw new ObjectFault(
          'digest_mismatch',
          blake3,
          `${source} has the digest ${found.blake3}, and ${blake3} was signed`,
        );
      if ((await this.#sizeOf(path)) === found.size) return;
      await handle.sync();
      await this.#place(copy, path);
      this.added.files += 1;
      this.added.bytes += found.size;
    } finally {
      await handle.close();
    }
  }

  /** Makes the names of all added files durable. */
  async settle(): Promise<void> {
    for (const path of this.#changed) await fsyncDirectory(path);
    this.#changed.clear();
  }

  /** Replaces a file at the root, unless its content is the same: a new modification time would make tools upload it again. */
  async replace(name: string, fill: (file: FileHandle) => Promise<void>): Promise<void> {
    const copy = this.#unfinished();
    const file = await open(copy, 'wx+', 0o644);
    try {
      await fill(file);
      if (await this.#isSame(file, name)) return;
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(copy, join(this.#directory, name));
    await fsyncDirectory(this.#directory);
  }

  async #isSame(file: FileHandle, name: string): Promise<boolean> {
    if ((await this.#sizeOf(name)) !== (await file.stat()).size) return false;
    const present = await open(join(this.#directory, name), 'r');
    try {
      const digests = await Promise.all(
        [file.fd, present.fd].map((fd) => this.#pool.hashContent(fd, { blocks: false, fromDisk: false })),
      );
      return digests[0]?.blake3 === digests[1]?.blake3;
    } finally {
      await present.close();
    }
  }

  async #place(copy: string, path: string): Promise<void> {
    const target = join(this.#directory, path);
    const folder = dirname(target);
    // Its parents: their new names must be durable, too.
    let making = this.#made.get(folder);
    if (making === undefined) {
      making = this.#make(folder);
      this.#made.set(folder, making);
    }
    await making;
    await rename(copy, target);
    this.#changed.add(folder);
  }

  async #make(folder: string): Promise<void> {
    const first = await mkdir(folder, { recursive: true });
    if (first === undefined) return;
    for (let made = folder; made.length >= first.length; made = dirname(made))
      this.#changed.add(dirname(made));
  }

  /** @returns `null` when no regular file is there */
  async #sizeOf(path: string): Promise<number | null> {
    try {
      const stats = await lstat(join(this.#directory, path));
      return stats.isFile() ? stats.size : null;
    } catch (error) {
      if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return null;
      throw error;
    }
  }

  #unfinished(): string {
    return join(this.#directory, UNFINISHED, randomUUID());
  }
}
