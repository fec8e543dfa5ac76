import { bytesSource, type ByteSource } from '../../../formats/byte-source.ts';
import { joinPieces, type OutputPiece } from '../../../formats/patch/output-pieces.ts';
import { PatchError } from '../../../formats/patch/patch-error.ts';
import type { PatchEntry } from '../../../formats/zip/patch-zip.ts';
import { COMPRESSED_ENTRY, nestedEntry } from '../../parse/container/container-run.ts';
import { containerKind, openContainer } from './open-container.ts';
import { passwordOf, pathOf, type Passwords } from './part-reader.ts';
import type { PartPlace } from './release-files.ts';

/** An archive, and the path to it; `entry` is `null` for a file of the release. */
interface ArchivePlace {
  readonly destination: string;
  readonly entry: string | null;
  readonly entries: readonly string[];
}

export function filePlace(destination: string): ArchivePlace {
  return { destination, entry: null, entries: [] };
}

/**
 * The files that a patched archive has with other contents than the official one, those in archives in it too, each archive
 * before its files. Nothing where one of both is no archive.
 *
 * @throws FormatError when one of the archives cannot be read
 */
export function* changedEntries(
  official: ByteSource,
  patched: ByteSource,
  place: ArchivePlace,
  passwords: Passwords,
): Generator<PartPlace> {
  const path = pathOf(place.destination, place.entry);
  const [before, after] = [openContainer(official, path), openContainer(patched, path)];
  if (before === null || after === null) return;
  const byName = new Map(before.entries.map((entry) => [entry.name, entry]));
  for (const entry of after.entries) {
    const old = byName.get(entry.name);
    if (old === undefined || old.fingerprint() === entry.fingerprint()) continue;
    const inner = innerPlace(place, entry.name);
    // No catalog names the file in a compressed file without a name of its own.
    if (entry.name !== COMPRESSED_ENTRY) yield { path: pathOf(inner.destination, inner.entry), ...inner };
    const password = passwordOf(passwords, place.destination, place.entry, entry.name) ?? undefined;
    const content = bytesSource(entry.read(password));
    if (containerKind(content, entry.name) === null) continue;
    yield* changedEntries(bytesSource(old.read(password)), content, inner, passwords);
  }
}

/**
 * The content of a file in an archive.
 *
 * @param entries the names on the path, at least one
 * @throws FormatError when it cannot be read; PatchError `catalog_not_rewritten` when the archive does not have it
 */
export function readEntryAt(
  source: ByteSource,
  place: ArchivePlace,
  entries: readonly string[],
  passwords: Passwords,
): Buffer {
  const [name, ...rest] = entries;
  const container = openContainer(source, pathOf(place.destination, place.entry));
  const entry = container?.entries.find((each) => each.name === name);
  if (entry === undefined) {
    const path = pathOf(place.destination, nestedEntry(place.entry, name ?? ''));
    throw new PatchError('catalog_not_rewritten', path, 'the new archive does not have it');
  }
  const password = passwordOf(passwords, place.destination, place.entry, entry.name) ?? undefined;
  const content = entry.read(password);
  return rest.length === 0
    ? content
    : readEntryAt(bytesSource(content), innerPlace(place, entry.name), rest, passwords);
}

type NewContents = readonly { readonly entries: readonly string[]; readonly bytes: Uint8Array }[];

/**
 * The pieces of an archive with new contents of some files, innermost archives first.
 *
 * @throws FormatError, PatchError when it cannot be written
 */
export function writeEntries(
  source: ByteSource,
  place: ArchivePlace,
  contents: NewContents,
  passwords: Passwords,
): Iterable<OutputPiece> {
  const path = pathOf(place.destination, place.entry);
  const container = openContainer(source, path);
  if (container === null) throw new PatchError('catalog_not_rewritten', path, 'it is no archive any longer');
  const byName = Map.groupBy(contents, ({ entries: [name] }) => name ?? '');
  const patches = new Map<string, PatchEntry>();
  for (const [name, group] of byName) {
    patches.set(name, (content) => {
      const own = group.find(({ entries }) => entries.length === 1);
      if (own !== undefined) return own.bytes;
      const inside = group.map(({ entries, bytes }) => ({ entries: entries.slice(1), bytes }));
      return joinPieces(writeEntries(bytesSource(content), innerPlace(place, name), inside, passwords));
    });
  }
  return container.write(patches, (name) => passwordOf(passwords, place.destination, place.entry, name));
}

/** A file in archives, and the archives around it, from the file of the release on. */
export function placesAround({ destination, entries }: PartPlace): readonly PartPlace[] {
  let place = filePlace(destination);
  const places = [place];
  for (const name of entries) {
    place = innerPlace(place, name);
    places.push(place);
  }
  return places.map((each) => ({
    path: pathOf(destination, each.entry),
    destination,
    entries: each.entries,
  }));
}

function innerPlace({ destination, entry, entries }: ArchivePlace, name: string): ArchivePlace {
  return {
    destination,
    entry: nestedEntry(entry, name),
    entries: [...entries, name],
  };
}
