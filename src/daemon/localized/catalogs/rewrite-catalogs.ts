import { createWriteStream, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { newPiece, pieceChunks, type OutputPiece } from '../../formats/patch/output-pieces.ts';
import { PatchError } from '../../formats/patch/patch-error.ts';
import type { CatalogPlugin } from '../../formats/catalogs/catalog-plugin.ts';
import { changedEntries, filePlace, placesAround, writeEntries } from './archive-entries.ts';
import { ChangeSet, usePart } from './change-set.ts';
import { FoundCatalogs, type SearchState } from './found-catalogs.ts';
import { isArchive, type Passwords } from './part-reader.ts';
import { bufferOf } from '../../../platform/buffer-of.ts';
import { openReleaseFile, type PartPlace, type ReleaseFile } from './release-files.ts';
import { checkCatalog, concerns, rewriteCatalog } from './rewrite-catalog.ts';
import { createUnchangedFiles, type UnchangedFiles } from './unchanged-files.ts';

/** Catalogs to rewrite. */
export interface RewriteJob {
  /** All files of the release, in its order; read several times. */
  readonly files: Iterable<ReleaseFile>;
  readonly plugins: readonly CatalogPlugin[];
  /** Whether a file is known not to be a catalog. */
  readonly isIgnored: (path: string) => boolean;
  readonly passwords: Passwords;
  /** The state of earlier searches, and the files of the last one; `null` for these when they are the same. */
  readonly known: { readonly state: SearchState; readonly files: Iterable<ReleaseFile> | null } | null;
  /** Whether catalogs that the patched files change stay as they are; they are only checked. */
  readonly keepsChanged: boolean;
  /** An existing and empty folder for the new files. */
  readonly outputDirectory: string;
}

/** A file of the release that was rewritten. */
export interface RewrittenFile {
  readonly destination: string;
  /** Its name in the folder for the new files. */
  readonly name: string;
}

/** The result of a rewrite. */
export interface RewrittenCatalogs {
  /** A patched archive with a catalog is among them. */
  readonly files: readonly RewrittenFile[];
  /** Spares the next rewrite for the same official files the search. */
  readonly state: SearchState | null;
}

/** Catalogs of catalogs of catalogs: more levels than any game has. */
const MOST_ROUNDS = 16;
/** Bytes of all catalogs that are rewritten, which are in memory. */
const MOST_REWRITTEN_BYTES = 256 * 1024 * 1024;

/**
 * Rewrites the catalogs of the changed files, those in archives too. A rewritten catalog is a changed file, and so is the archive
 * around it, which other catalogs and sidecars can list; so this is repeated until nothing changes.
 *
 * @throws PatchError `catalog_not_rewritten`, `file_too_large`; FormatError when a patched archive cannot be read
 */
export async function rewriteCatalogs(job: RewriteJob): Promise<RewrittenCatalogs> {
  const changes = patchedFiles(job);
  const kept = new Set(job.keepsChanged ? changes.paths : []);
  const found = new FoundCatalogs(job.known?.state);
  const contents = new Map<string, NewContent>();
  const output = createOutput(job);
  const unchanged = createUnchangedFiles(job, changes);
  const filter = {
    isCatalogName: (path: string) => job.plugins.some((plugin) => plugin.recognizes(path)),
    isIgnored: job.isIgnored,
  };
  const before = job.known?.files ?? null;
  if (before !== null) found.follow(job.files, before, job.passwords, filter);
  const late = new Set<string>();
  let fresh: readonly string[] = [...changes.paths];
  for (let round = 0; ; round += 1) {
    found.search(job.files, changes.paths, job.passwords, filter);
    const touched = await rewriteFound(job, changes, found, { kept, contents, unchanged, fresh });
    if (touched.length === 0) break;
    if (round > MOST_ROUNDS / 2) for (const { place } of touched) late.add(place.path);
    if (round === MOST_ROUNDS) throw circle([...late].toSorted());
    fresh = await writeTouched(job, changes, contents, { touched, output });
  }
  return { files: output.files(), state: found.state() };
}

/** The new bytes of a catalog. */
interface NewContent {
  readonly place: PartPlace;
  readonly bytes: Buffer;
}

/** A catalog whose bytes changed, and the file of the release that has it. */
interface TouchedCatalog {
  readonly place: PartPlace;
  readonly file: ReleaseFile;
}

/** The files that the patcher changed, and what changed in archives. */
function patchedFiles({ files, passwords }: RewriteJob): ChangeSet {
  const changes = new ChangeSet(passwords);
  for (const { destination, official, patched } of files) {
    if (patched === null) continue;
    changes.setForms(destination, { official, current: patched });
    changes.add({ path: destination, destination, entries: [] });
    using before = openReleaseFile(official);
    using after = openReleaseFile(patched);
    if (!isArchive(before.source) || !isArchive(after.source)) continue;
    const inside = changedEntries(before.source, after.source, filePlace(destination), passwords);
    for (const place of inside) changes.add(place);
  }
  return changes;
}

/** The files of the release that have catalogs, by destination. */
function filesOf(files: Iterable<ReleaseFile>, found: FoundCatalogs): ReadonlyMap<string, ReleaseFile> {
  const wanted = new Set(Array.from(found.all, ({ place }) => place.destination));
  const byDestination = new Map<string, ReleaseFile>();
  if (wanted.size === 0) return byDestination;
  for (const file of files) if (wanted.has(file.destination)) byDestination.set(file.destination, file);
  return byDestination;
}

/**
 * Rewrites the catalogs that can state something about fresh changes, each from its own bytes; returns those whose result is another
 * one than in the last round.
 */
async function rewriteFound(
  job: RewriteJob,
  changes: ChangeSet,
  found: FoundCatalogs,
  {
    kept,
    contents,
    unchanged,
    fresh,
  }: {
    /** The catalogs that stay as they are. */
    readonly kept: ReadonlySet<string>;
    readonly contents: Map<string, NewContent>;
    readonly unchanged: UnchangedFiles;
    /** The paths of files that changed since the last round. */
    readonly fresh: readonly string[];
  },
): Promise<readonly TouchedCatalog[]> {
  const context = { plugins: job.plugins, changes, sameNames: found.sameNames, ...unchanged };
  const files = filesOf(job.files, found);
  const touched: TouchedCatalog[] = [];
  for (const { place, names } of found.all) {
    if (!fresh.some((changed) => concerns(place.path, names, changed))) continue;
    const file = files.get(place.destination);
    if (file === undefined) throw new Error(`${place.destination} is not in the release`);
    const base = usePart(file.patched ?? file.official, place, job.passwords, (source) =>
      source.read(0, source.size),
    );
    if (kept.has(place.path)) {
      checkCatalog(place.path, base, names, context);
      continue;
    }
    const bytes = bufferOf(await rewriteCatalog(place.path, base, names, context));
    if (bytes.equals(contents.get(place.path)?.bytes ?? base)) continue;
    contents.set(place.path, { place, bytes });
    touched.push({ place, file });
  }
  const total = contents.values().reduce((sum, { bytes }) => sum + bytes.length, 0);
  if (total > MOST_REWRITTEN_BYTES) {
    const message = `the catalogs that change have ${total} bytes together, more than ${MOST_REWRITTEN_BYTES}`;
    throw new PatchError('file_too_large', '', message);
  }
  return touched;
}

/** Writes the files of catalogs that changed, and notes all that changed with them. @returns the paths of all that changed */
async function writeTouched(
  { passwords }: RewriteJob,
  changes: ChangeSet,
  contents: ReadonlyMap<string, NewContent>,
  { touched, output }: { readonly touched: readonly TouchedCatalog[]; readonly output: Output },
): Promise<readonly string[]> {
  const fresh: string[] = [];
  const byFile = Map.groupBy(touched, ({ file }) => file);
  for (const [file, catalogs] of byFile) {
    const { destination, official, patched } = file;
    const own = contents.get(destination);
    using base = openReleaseFile(patched ?? official);
    const inside = Array.from(contents.values()).flatMap(({ place, bytes }) =>
      place.destination === destination ? [{ entries: place.entries, bytes }] : [],
    );
    const pieces =
      own === undefined
        ? writeEntries(base.source, filePlace(destination), inside, passwords)
        : [newPiece(own.bytes)];
    changes.setForms(destination, { official, current: await output.write(destination, pieces) });
    for (const { place } of catalogs) {
      for (const each of placesAround(place)) {
        changes.add(each);
        fresh.push(each.path);
      }
    }
  }
  return fresh;
}

/** The folder for the new files. */
interface Output {
  /**
   * Writes a file, and removes the one that was written for this destination before.
   *
   * @returns its path
   */
  write(destination: string, pieces: Iterable<OutputPiece>): Promise<string>;
  files(): readonly RewrittenFile[];
}

function createOutput({ outputDirectory }: RewriteJob): Output {
  const written = new Map<string, RewrittenFile>();
  let count = 0;
  const pathOf = (name: string): string => join(outputDirectory, name);
  return {
    write: async (destination, pieces) => {
      count += 1;
      const name = String(count);
      const stream = createWriteStream(pathOf(name), { flags: 'wx' });
      await pipeline(Readable.from(pieceChunks(pieces)), stream);
      const old = written.get(destination);
      if (old !== undefined) rmSync(pathOf(old.name));
      written.set(destination, { destination, name });
      return pathOf(name);
    },
    files: () => [...written.values()],
  };
}

function circle(paths: readonly string[]): PatchError {
  const message = `these catalogs state checksums of each other in a circle, so no values fit: ${paths.join(', ')}`;
  return new PatchError('catalog_not_rewritten', paths[0] ?? '', message);
}
