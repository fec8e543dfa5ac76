import type { ByteSource } from '../byte-source.ts';
import { PatchError } from '../patch/patch-error.ts';
import { isSameRange, type ByteRange } from '../patch/same-bytes.ts';
import type { ReadLimits } from '../value-visitor.ts';
import { openZip, type ZipArchive } from './open-zip.ts';
import type { ZipEntry } from './zip-directory.ts';
import { descriptorBytes } from './zip-layout.ts';
import { changedLocalHeader, changedRecord } from './zip-records.ts';

interface CompareZipOptions {
  /** The names of the entries that an edit changed. */
  readonly changed: ReadonlySet<string>;
  readonly compareContent: (name: string, before: Buffer, after: Buffer) => void;
  readonly passwordOf: (name: string) => Uint8Array | null;
  readonly limits: ReadLimits;
}

interface Opened extends ZipArchive {
  readonly source: ByteSource;
}

/**
 * Checks that a patched archive has changed contents of some entries, and is else the same: the raw bytes of all other
 * entries, names, times, extra fields, comments and their order.
 *
 * @returns the number of entries that are unchanged
 * @throws PatchError `round_trip_failed` for the first difference, and what `compareContent` throws; FormatError when an
 *   archive cannot be read
 */
export function compareZip(before: ByteSource, after: ByteSource, options: CompareZipOptions): number {
  const left: Opened = { source: before, ...openZip(before, options.limits) };
  const right: Opened = { source: after, ...openZip(after, options.limits) };
  if (left.entries.length !== right.entries.length) throw differs('', 'the archives have other entries');
  const [start, otherStart] = [left, right].map(({ entries, directory }) =>
    Math.min(directory.start, ...firstOffset(entries)),
  );
  const lead = (opened: Opened, length = 0) => ({ source: opened.source, offset: 0, length });
  if (!isSameRange(lead(left, start), lead(right, otherStart))) {
    throw differs('', 'the bytes before the first entry differ');
  }
  let untouched = 0;
  for (const [number, entry] of left.entries.entries()) {
    const other = right.entries[number];
    if (other === undefined || !isSameEntry(left, entry, right, other)) {
      throw differs(entry.name, 'the entry differs in the directory');
    }
    if (options.changed.has(entry.name)) compareChanged(left, entry, right, other, options);
    else {
      untouched += 1;
      const [raw, otherRaw] = [rawOf(left, entry), rawOf(right, other)];
      if (!isSameRange(raw, otherRaw)) throw differs(entry.name, 'the bytes of the entry differ');
    }
  }
  compareEnd(left, right);
  return untouched;
}

function firstOffset(entries: readonly ZipEntry[]): readonly number[] {
  const first = entries.reduce((least, { localOffset }) => Math.min(least, localOffset), Infinity);
  return [first];
}

/** Whether two records differ only in what a new content or a new place changes. */
function isSameEntry(left: Opened, entry: ZipEntry, right: Opened, other: ZipEntry): boolean {
  if (entry.name !== other.name || entry.flaw !== other.flaw || entry.flags !== other.flags) return false;
  if (entry.method !== other.method || entry.modifiedTime !== other.modifiedTime) return false;
  const record = left.source.read(entry.recordOffset, entry.recordLength);
  const values = { ...other, localOffset: other.localOffset - right.directory.shift };
  return changedRecord(record, values).equals(right.source.read(other.recordOffset, other.recordLength));
}

function rawOf(opened: Opened, entry: ZipEntry): ByteRange {
  const { start, end } = opened.locate(entry);
  return { source: opened.source, offset: start, length: end - start };
}

function compareChanged(
  left: Opened,
  entry: ZipEntry,
  right: Opened,
  other: ZipEntry,
  { passwordOf, compareContent }: CompareZipOptions,
): void {
  const [place, otherPlace] = [left.locate(entry), right.locate(other)];
  const header = left.source.read(place.start, place.dataStart - place.start);
  const expected = changedLocalHeader(header, other, place.descriptor !== null);
  const found = right.source.read(otherPlace.start, otherPlace.dataStart - otherPlace.start);
  if (!expected.equals(found)) throw differs(entry.name, 'the local header differs');
  const behind = ({ dataEnd, descriptor, end }: typeof place, { source }: Opened) => {
    const offset = dataEnd + (descriptor === null ? 0 : descriptorBytes(descriptor));
    return { source, offset, length: end - offset };
  };
  if (!isSameRange(behind(place, left), behind(otherPlace, right))) {
    throw differs(entry.name, 'the bytes behind the entry differ');
  }
  const password = passwordOf(entry.name) ?? undefined;
  compareContent(entry.name, left.readEntry(entry, password), right.readEntry(other, password));
}

/** Compares the comment of the archive, and what else no edit changes behind the directory. */
function compareEnd(left: Opened, right: Opened): void {
  const COMMENT = 22;
  const commentOf = ({ source, directory: { endRecord } }: Opened) => {
    const offset = endRecord + COMMENT;
    return { source, offset, length: source.size - offset };
  };
  if (!isSameRange(commentOf(left), commentOf(right)))
    throw differs('', 'the comments of the archives differ');
}

function differs(name: string, message: string): PatchError {
  return new PatchError('round_trip_failed', name, message);
}
