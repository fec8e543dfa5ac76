import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { newPiece, pieceChunks, type OutputPiece } from '../../../formats/patch/output-pieces.ts';
import { PatchError } from '../../../formats/patch/patch-error.ts';
import type { CatalogPlugin, FileChange } from '../../../formats/catalogs/catalog-plugin.ts';
import { changedEntries, filePlace, placesAround, writeEntries } from './archive-entries.ts';
import { ChangeSet, usePart, partFigures } from './change-set.ts';
import { FoundCatalogs, type SearchState } from './found-catalogs.ts';
import type { Passwords } from './part-reader.ts';
import { bufferOf } from '../../../platform/buffer-of.ts';
import {
  openReleaseFile,
  type PartPlace,
  type PatchedReleaseFile,
  type ReleaseFile,
} from './release-files.ts';
import {
  checkCatalog,
  checkIgnored,
  concerns,
  rewriteCatalog,
  MOST_CONTENT_BYTES,
  type CatalogContext,
} from './rewrite-catalog.ts';
import { patchSidecar } from '../../../formats/catalogs/checksum-sidecar.ts';
import { sidecarStem, stemsOf } from './sidecars.ts';
import { createWriteStream, rmSync } from '../../../platform/files/file-changes.ts';

interface RewriteJob {
  /** All files of the release, in its order; read several times, and not at all when nothing is to be searched. */
  readonly files: Iterable<ReleaseFile>;
  /** Those that are patched. */
  readonly changed: readonly PatchedReleaseFile[];
  readonly plugins: readonly CatalogPlugin[];
  readonly isIgnored: (path: string) => boolean;
  readonly passwords: Passwords;
  /** The state of earlier searches, and the files of the last one; `null` for these when they are the same. */
  readonly known: { readonly state: SearchState; readonly files: Iterable<ReleaseFile> | null } | null;
  readonly keepsChanged: boolean;
  readonly outputDirectory: string;
}

export interface RewrittenFile {
  readonly destination: string;
  readonly name: string;
}

export interface RewrittenCatalogs {
  /** A patched archive with a catalog is among them. */
  readonly files: readonly RewrittenFile[];
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
  return await new Rewrite(job).run();
}

interface NewContent {
  readonly place: PartPlace;
  readonly file: ReleaseFile;
  readonly bytes: Buffer;
}

class Rewrite {
  readonly #job: RewriteJob;
  readonly #changes: ChangeSet;
  readonly #found: FoundCatalogs;
  /** The catalogs that stay as they are. */
  readonly #kept: ReadonlySet<string>;
  /** Those that are patched, and those that have catalogs, by destination. */
  readonly #files: Map<string, ReleaseFile>;
  readonly #contents = new Map<string, NewContent>();
  readonly #unchanged = new Map<string, FileChange>();
  /** The names of the new files, by destination. */
  readonly #written = new Map<string, string>();
  #count = 0;

  constructor(job: RewriteJob) {
    const { files, known, plugins, passwords } = job;
    this.#job = job;
    this.#files = new Map(job.changed.map((file) => [file.destination, file]));
    this.#changes = patchedFiles(job);
    this.#kept = new Set(job.keepsChanged ? this.#changes.paths : []);
    const isCatalogName = (path: string): boolean => plugins.some((plugin) => plugin.recognizes(path));
    this.#found = new FoundCatalogs({ passwords, isCatalogName }, known?.state);
    const before = known?.files ?? null;
    if (before !== null) this.#found.follow(files, before);
  }

  async run(): Promise<RewrittenCatalogs> {
    const late = new Set<string>();
    let fresh: readonly string[] = [...this.#changes.paths];
    for (let round = 0; ; round += 1) {
      this.#found.search(this.#job.files, this.#changes.paths);
      const touched = await this.#rewriteFound(fresh);
      if (touched.length === 0) break;
      if (round > MOST_ROUNDS / 2) for (const { place } of touched) late.add(place.path);
      if (round === MOST_ROUNDS) throw circle([...late].toSorted());
      fresh = await this.#writeTouched(touched);
    }
    const files = Array.from(this.#written, ([destination, name]) => ({ destination, name }));
    return { files, state: this.#found.state() };
  }

  /**
   * Rewrites the catalogs that can state something about fresh changes, each from its own bytes; returns those whose result is another
   * one than in the last round.
   */
  async #rewriteFound(fresh: readonly string[]): Promise<readonly NewContent[]> {
    const { plugins, passwords } = this.#job;
    const context: CatalogContext = {
      plugins,
      changes: this.#changes,
      sameNames: this.#found.sameNames,
      unchanged: (place) => this.#unchangedAt(place),
      isAboutUnchanged: (path, bytes) => this.#isAboutUnchanged(path, bytes),
    };
    const touched: NewContent[] = [];
    for (const { place, official, names } of this.#found.all) {
      if (!fresh.some((changed) => concerns(place.path, names, changed))) continue;
      const { destination } = place;
      const file = this.#files.get(destination) ?? { destination, official, patched: null };
      this.#files.set(destination, file);
      const base = usePart(file.patched ?? file.official, place, passwords, (source) =>
        source.read(0, source.size),
      );
      if (placesAround(place).some(({ path }) => this.#job.isIgnored(path))) {
        await checkIgnored(place.path, base, names, context);
        continue;
      }
      if (this.#kept.has(place.path)) {
        await checkCatalog(place.path, base, names, context);
        continue;
      }
      const bytes = bufferOf(await rewriteCatalog(place.path, base, names, context));
      if (bytes.equals(this.#contents.get(place.path)?.bytes ?? base)) continue;
      const content = { place, file, bytes };
      this.#contents.set(place.path, content);
      touched.push(content);
    }
    const total = this.#contents.values().reduce((sum, { bytes }) => sum + bytes.length, 0);
    if (total > MOST_REWRITTEN_BYTES) {
      const message = `the catalogs that change have ${total} bytes together, more than ${MOST_REWRITTEN_BYTES}`;
      throw new PatchError('file_too_large', '', message);
    }
    return touched;
  }

  /** Writes the files of catalogs that changed, and notes all that changed with them. @returns the paths of all that changed */
  async #writeTouched(touched: readonly NewContent[]): Promise<readonly string[]> {
    const fresh: string[] = [];
    for (const [file, catalogs] of Map.groupBy(touched, (each) => each.file)) {
      const { destination, official, patched } = file;
      const own = this.#contents.get(destination);
      using base = openReleaseFile(patched ?? official);
      const inside = Array.from(this.#contents.values()).flatMap(({ place, bytes }) =>
        place.destination === destination ? [{ entries: place.entries, bytes }] : [],
      );
      const pieces =
        own === undefined
          ? writeEntries(base.source, filePlace(destination), inside, this.#job.passwords)
          : [newPiece(own.bytes)];
      this.#changes.setForms(destination, { official, current: await this.#write(destination, pieces) });
      for (const place of catalogs.flatMap((each) => placesAround(each.place))) {
        this.#changes.add(place);
        fresh.push(place.path);
      }
    }
    return fresh;
  }

  /** Writes a file, and removes the one that was written for this destination before. @returns its path */
  async #write(destination: string, pieces: Iterable<OutputPiece>): Promise<string> {
    const { outputDirectory } = this.#job;
    this.#count += 1;
    const path = join(outputDirectory, String(this.#count));
    await pipeline(Readable.from(pieceChunks(pieces)), createWriteStream(path, { flags: 'wx' }));
    const old = this.#written.get(destination);
    if (old !== undefined) rmSync(join(outputDirectory, old));
    this.#written.set(destination, String(this.#count));
    return path;
  }

  #unchangedAt(place: PartPlace): FileChange {
    const change = this.#unchanged.get(place.path) ?? readUnchanged(this.#job, place);
    this.#unchanged.set(place.path, change);
    return change;
  }

  #isAboutUnchanged(path: string, bytes: Buffer): boolean {
    const stem = sidecarStem(path);
    for (const { destination, official } of this.#job.files) {
      if (stem === null || this.#changes.has(destination) || destination === path) continue;
      if (!stemsOf(destination).includes(stem)) continue;
      using file = openReleaseFile(official);
      const { source } = file;
      if (source.size > MOST_CONTENT_BYTES) continue;
      const content = source.read(0, source.size);
      if (patchSidecar(bytes, content, content) !== null) return true;
    }
    return false;
  }
}

function patchedFiles({ changed, passwords }: RewriteJob): ChangeSet {
  const changes = new ChangeSet(passwords);
  for (const { destination, official, patched } of changed) {
    changes.setForms(destination, { official, current: patched });
    changes.add({ path: destination, destination, entries: [] });
    using before = openReleaseFile(official);
    using after = openReleaseFile(patched);
    const inside = changedEntries(before.source, after.source, filePlace(destination), passwords);
    for (const place of inside) changes.add(place);
  }
  return changes;
}

function circle(paths: readonly string[]): PatchError {
  const message = `these catalogs state checksums of each other in a circle, so no values fit: ${paths.join(', ')}`;
  return new PatchError('catalog_not_rewritten', paths[0] ?? '', message);
}

function readUnchanged({ files, passwords }: RewriteJob, place: PartPlace): FileChange {
  for (const { destination, official, patched } of files) {
    if (destination !== place.destination) continue;
    const { figures, bundle } = usePart(patched ?? official, place, passwords, partFigures);
    const digests = bundle === null ? {} : { bundle: { before: bundle, after: bundle } };
    return { path: place.path, before: figures, after: figures, ...digests };
  }
  throw new Error(`${place.destination} is not in the release`);
}
