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
  /** The entry lines, in pieces. */
  readonly lines: AsyncIterable<Uint8Array>;
  readonly steps: WriteSteps;
}

/** Bytes rendered, hashed and written at a time; keeps each stay on the event loop short. */
const WRITE_BYTES = 64 * 1024;

/**
 * Renders the entry lines of a manifest as they are iterated over.
 *
 * @param entries in the byte order of their destinations
 * @throws ManifestContentError when they are not those that the header announces
 */
export async function* renderedLines(
  header: ManifestHeader,
  entries: Iterable<ManifestEntry> | AsyncIterable<ManifestEntry>,
): AsyncGenerator<Uint8Array, void> {
  const check = new EntryCheck(header);
  const buffer = Buffer.allocUnsafe(WRITE_BYTES + MANIFEST_MAX_LINE_BYTES + 1);
  let filled = 0;
  for await (const entry of entries) {
    check.next(entry);
    const line = renderManifestEntry(entry);
    if (Buffer.byteLength(line) > MANIFEST_MAX_LINE_BYTES) {
      throw new ManifestContentError(`a manifest line is longer than ${MANIFEST_MAX_LINE_BYTES} bytes`);
    }
    filled += buffer.write(line, filled);
    buffer[filled] = 0x0a;
    filled += 1;
    if (filled < WRITE_BYTES) continue;
    yield buffer.subarray(0, filled);
    filled = 0;
  }
  check.end();
  if (filled > 0) yield buffer.subarray(0, filled);
}

/**
 * Writes a manifest as it is iterated over, whatever its length, and puts it in place once it is whole and durable.
 *
 * @throws ManifestContentError; the file system error with its `code`
 */
export async function writeManifestFile(manifest: ManifestToWrite): Promise<WrittenManifest> {
  const { root, staging, header, lines, steps } = manifest;
  const headerFault = headerProblem({ ...header });
  if (headerFault !== null) throw new ManifestContentError(`manifest header: ${headerFault}`);
  const temporary = join(staging, 'manifest.ndjson');
  await rm(temporary, { force: true });
  try {
    const file = await open(temporary, 'wx', 0o444);
    let written: { readonly blake3: Blake3Hex; readonly sha256: string; readonly size: number };
    try {
      const sink = new ManifestSink(file);
      await sink.add(Buffer.from(`${renderManifestHeader(header)}\n`));
      for await (const piece of lines) await sink.add(piece);
      written = sink.finish();
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
  #size = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  async add(bytes: Uint8Array): Promise<void> {
    this.#size += bytes.length;
    if (this.#size > MANIFEST_MAX_BYTES) {
      throw new ManifestContentError(`the manifest would have more than ${MANIFEST_MAX_BYTES} bytes`);
    }
    this.#blake3.update(bytes);
    this.#sha256.update(bytes);
    await this.#file.writeFile(bytes);
  }

  finish(): { readonly blake3: Blake3Hex; readonly sha256: string; readonly size: number } {
    return {
      blake3: this.#blake3.digest().toString('hex') as Blake3Hex,
      sha256: this.#sha256.digest('hex'),
      size: this.#size,
    };
  }
}
