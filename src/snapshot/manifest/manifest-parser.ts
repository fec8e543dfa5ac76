import { fstatSync, readSync } from 'node:fs';
import {
  MANIFEST_MAX_BYTES,
  parseManifestEntry,
  parseManifestHeader,
} from '../../contract/formats/manifest-format.ts';
import { manifestDigestOf, type SnapshotId } from '../../domain/release/digest.ts';
import { MANIFEST_MAX_LINE_BYTES, type ManifestHeader } from '../../domain/release/manifest.ts';
import { createBlake3 } from '../../platform/hashing/blake3.ts';
import { SnapshotFault } from '../volume/snapshot-fault.ts';
import { ManifestColumnsBuilder } from './manifest-columns.ts';
import type { ManifestColumns } from './manifest-index.ts';
import { ManifestScanner } from './manifest-scanner.ts';

const READ_BYTES = 256 * 1024;
const LINE_FEED = 0x0a;
/** No entry line is shorter; so a header cannot make us allot memory for entries that the file has no room for. */
const MIN_ENTRY_LINE_BYTES = 128;

/**
 * Reads, verifies and parses the manifest behind an open descriptor, synchronously and in pieces: for a worker thread.
 *
 * @param seed of the hash table, 1 to 2^32 - 1
 * @returns the columns, whose bytes had exactly the digest that the snapshot id names
 * @throws SnapshotFault `damaged`, or the file system error
 */
export function parseManifestFile(fd: number, snapshotId: SnapshotId, seed: number): ManifestColumns {
  const stats = fstatSync(fd);
  if (!stats.isFile()) throw new SnapshotFault('damaged', snapshotId, 'the manifest is not a regular file');
  if (stats.size > MANIFEST_MAX_BYTES) {
    throw new SnapshotFault('damaged', snapshotId, `the manifest has more than ${MANIFEST_MAX_BYTES} bytes`);
  }
  const parser = new ManifestLines(stats.size);
  const hasher = createBlake3();
  const window = Buffer.allocUnsafe(READ_BYTES + MANIFEST_MAX_LINE_BYTES);
  let carried = 0;
  let problem: string | null = null;
  for (;;) {
    const bytesRead = readSync(fd, window, carried, READ_BYTES, null);
    if (bytesRead === 0) break;
    const filled = carried + bytesRead;
    hasher.update(window.subarray(carried, filled));
    // After the first problem only the digest is still of interest: it tells damage from a wrong writer.
    carried = problem === null ? parser.take(window, filled) : 0;
    problem ??= parser.problem;
    if (problem !== null) carried = 0;
  }
  if (problem === null && carried > 0) problem = 'the last line does not end in a line feed';
  problem ??= parser.endProblem();
  if (hasher.digest().toString('hex') !== manifestDigestOf(snapshotId)) {
    const detail = problem === null ? '' : ` (${problem})`;
    throw new SnapshotFault(
      'damaged',
      snapshotId,
      `the digest of the manifest does not match its name${detail}`,
    );
  }
  if (problem !== null || parser.builder === null) {
    throw new SnapshotFault('damaged', snapshotId, `the manifest is malformed: ${problem ?? 'it is empty'}`);
  }
  return parser.builder.finish(snapshotId, seed);
}

class ManifestLines {
  readonly #fileBytes: number;
  #scanner = new ManifestScanner();
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  #header: ManifestHeader | null = null;
  #line = 0;
  builder: ManifestColumnsBuilder | null = null;
  problem: string | null = null;

  constructor(fileBytes: number) {
    this.#fileBytes = fileBytes;
  }

  /** Parses every whole line in `window[0, filled)` and moves the rest to the front; returns its length. */
  take(window: Buffer, filled: number): number {
    let start = 0;
    while (this.problem === null) {
      const end = window.indexOf(LINE_FEED, start);
      if (end < 0 || end >= filled) break;
      this.#takeLine(window, start, end);
      start = end + 1;
    }
    const rest = filled - start;
    if (rest > MANIFEST_MAX_LINE_BYTES) this.#fail(`is longer than ${MANIFEST_MAX_LINE_BYTES} bytes`, 1);
    window.copyWithin(0, start, filled);
    return rest;
  }

  /** What is wrong with the whole once every line is there, or `null`. */
  endProblem(): string | null {
    if (this.#header === null || this.builder === null) return 'it has no header';
    const { entry_count: entryCount, total_bytes: totalBytes } = this.#header;
    if (this.builder.length !== entryCount) {
      return `it has ${this.builder.length} entries, the header says ${entryCount}`;
    }
    if (this.builder.totalBytes !== totalBytes) {
      return `its entries have ${this.builder.totalBytes} bytes, the header says ${totalBytes}`;
    }
    return null;
  }

  #takeLine(window: Buffer, start: number, end: number): void {
    this.#line += 1;
    if (end - start > MANIFEST_MAX_LINE_BYTES) {
      this.#fail(`is longer than ${MANIFEST_MAX_LINE_BYTES} bytes`);
    } else if (this.builder === null) {
      this.#takeHeader(window.subarray(start, end));
    } else {
      const problem = this.#scanner.scan(window, start, end)
        ? this.builder.appendRaw(window, this.#scanner.entry)
        : this.#takeEntry(this.builder, window.subarray(start, end));
      if (problem !== null) this.#fail(problem);
      else if (this.#header?.channel === 'official' && this.builder.lastIsLocalized) {
        this.#fail('a localized entry in an official release');
      }
    }
  }

  #takeHeader(bytes: Buffer): void {
    const text = this.#decode(bytes);
    if (text === null) return;
    const header = parseManifestHeader(text);
    if (!header.ok) {
      this.#fail(header.error);
    } else if (header.value.entry_count * MIN_ENTRY_LINE_BYTES > this.#fileBytes) {
      this.#fail(`the header says ${header.value.entry_count} entries, but the file is too short for them`);
    } else {
      this.#header = header.value;
      this.builder = new ManifestColumnsBuilder(header.value);
      this.#scanner = new ManifestScanner(this.builder.destinations);
    }
  }

  #takeEntry(builder: ManifestColumnsBuilder, bytes: Buffer): string | null {
    const text = this.#decode(bytes);
    if (text === null) return this.problem;
    const entry = parseManifestEntry(text);
    return entry.ok ? builder.append(entry.value) : entry.error;
  }

  #decode(bytes: Buffer): string | null {
    try {
      return this.#decoder.decode(bytes);
    } catch {
      this.#fail('is not UTF-8');
      return null;
    }
  }

  #fail(problem: string, ahead = 0): void {
    this.problem ??= `line ${this.#line + ahead}: ${problem}`;
  }
}
