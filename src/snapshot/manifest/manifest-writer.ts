import { createHash, type Hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  headerProblem,
  MANIFEST_MAX_BYTES,
  renderManifestEntry,
  renderManifestHeader,
} from '../../contract/formats/manifest-format.ts';
import { snapshotIdOf, type Blake3Hex, type SnapshotId } from '../../domain/release/digest.ts';
import {
  MANIFEST_MAX_LINE_BYTES,
  type ManifestEntry,
  type ManifestHeader,
} from '../../domain/release/manifest.ts';
import { fsyncDirectory, makeDirectory } from '../../platform/files/files.ts';
import { createBlake3, type Blake3 } from '../../platform/hashing/blake3.ts';
import { manifestPath } from '../volume/layout.ts';
import { renameIntoPlace } from '../volume/store-directories.ts';
import type { WriteSteps } from '../volume/write-steps.ts';
import { EntryCheck, ManifestContentError } from './entry-check.ts';
import { open, rm } from '../../platform/files/file-changes.ts';

export interface WrittenManifest {
  readonly snapshotId: SnapshotId;
  /** SHA-256 of the same bytes, lower-case hexadecimal. */
  readonly sha256: string;
  readonly header: ManifestHeader;
  readonly size: number;
}

interface ManifestToWrite {
  readonly root: string;
  /** A directory on the same file system for the file while it grows. */
  readonly staging: string;
  readonly header: ManifestHeader;
  /** In the byte order of the destinations. */
  readonly entries: Iterable<ManifestEntry> | AsyncIterable<ManifestEntry>;
  readonly steps: WriteSteps;
}

/** Bytes hashed and written at a time; keeps each stay on the event loop short. */
const WRITE_BYTES = 64 * 1024;

/**
 * Writes a manifest as it is iterated over, whatever its length, and puts it in place once it is whole and durable.
 *
 * @throws ManifestContentError; the file system error with its `code`
 */
export async function writeManifestFile(manifest: ManifestToWrite): Promise<WrittenManifest> {
  const { root, staging, header, entries, steps } = manifest;
  const headerFault = headerProblem({ ...header });
  if (headerFault !== null) throw new ManifestContentError(`manifest header: ${headerFault}`);
  const temporary = join(staging, 'manifest.ndjson');
  await rm(temporary, { force: true });
  try {
    const file = await open(temporary, 'wx', 0o444);
    let written: { readonly blake3: Blake3Hex; readonly sha256: string; readonly size: number };
    try {
      const sink = new ManifestSink(file);
      const check = new EntryCheck(header);
      sink.add(renderManifestHeader(header));
      for await (const entry of entries) {
        check.next(entry);
        sink.add(renderManifestEntry(entry));
        if (sink.isFull) await sink.drain();
      }
      check.end();
      written = await sink.finish();
      steps.passed('snapshot.manifest.written');
      await file.chmod(0o444);
      await file.sync();
      steps.passed('snapshot.manifest.synced');
    } finally {
      await file.close();
    }
    const target = manifestPath(root, written.blake3);
    await makeDirectory(dirname(target));
    await renameIntoPlace(root, temporary, target);
    steps.passed('snapshot.manifest.renamed');
    await fsyncDirectory(dirname(target));
    steps.passed('snapshot.manifest.durable');
    return { snapshotId: snapshotIdOf(written.blake3), sha256: written.sha256, header, size: written.size };
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

class ManifestSink {
  readonly #file: FileHandle;
  readonly #blake3: Blake3 = createBlake3();
  readonly #sha256: Hash = createHash('sha256');
  readonly #buffer = Buffer.allocUnsafe(WRITE_BYTES + MANIFEST_MAX_LINE_BYTES + 1);
  #filled = 0;
  #size = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  get isFull(): boolean {
    return this.#filled >= WRITE_BYTES;
  }

  add(line: string): void {
    if (Buffer.byteLength(line) > MANIFEST_MAX_LINE_BYTES) {
      throw new ManifestContentError(`a manifest line is longer than ${MANIFEST_MAX_LINE_BYTES} bytes`);
    }
    this.#filled += this.#buffer.write(line, this.#filled);
    this.#buffer[this.#filled] = 0x0a;
    this.#filled += 1;
  }

  async drain(): Promise<void> {
    const bytes = this.#buffer.subarray(0, this.#filled);
    this.#size += bytes.length;
    if (this.#size > MANIFEST_MAX_BYTES) {
      throw new ManifestContentError(`the manifest would have more than ${MANIFEST_MAX_BYTES} bytes`);
    }
    this.#blake3.update(bytes);
    this.#sha256.update(bytes);
    await this.#file.writeFile(bytes);
    this.#filled = 0;
  }

  async finish(): Promise<{ readonly blake3: Blake3Hex; readonly sha256: string; readonly size: number }> {
    await this.drain();
    return {
      blake3: this.#blake3.digest().toString('hex') as Blake3Hex,
      sha256: this.#sha256.digest('hex'),
      size: this.#size,
    };
  }
}
