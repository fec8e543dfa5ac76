import type { CatalogPlugin, FileChange } from '../../../formats/catalogs/catalog-plugin.ts';
import { FormatError } from '../../../formats/format-error.ts';
import { PatchError } from '../../../formats/patch/patch-error.ts';
import { baseName, type PartPlace } from './release-files.ts';
import { bufferOf } from '../../../platform/buffer-of.ts';
import type { ChangeSet } from './change-set.ts';
import { isSidecar, rewriteSidecar, sidecarStem, stemsOf, type SidecarSubject } from './sidecars.ts';
import { statedFigure } from './stated-figures.ts';

export interface CatalogContext {
  readonly plugins: readonly CatalogPlugin[];
  readonly changes: ChangeSet;
  readonly sameNames: SameNames;
  /** A file that did not change, with its figures as both forms. */
  readonly unchanged: (place: PartPlace) => FileChange;
  readonly isAboutUnchanged: (path: string, bytes: Buffer) => boolean;
}

/** Bytes of a file that is read whole for its sidecar; a larger one is compared by the checksums that are computed while it is read. */
export const MOST_CONTENT_BYTES = 64 * 1024 * 1024;

const NEXT_STEP =
  'Describe the file as a list in localized.catalogs.lists, or name it in localized.catalogs.ignore if the game does not check by it.';

const CORRECT_IT =
  'Write its new figures, leave it out so that it is rewritten, or name it in localized.catalogs.ignore if the game does not check by it.';

/**
 * Writes the figures of all changed files that a catalog or a sidecar states.
 *
 * @param path of the catalog
 * @param names of changed files that occur in it
 * @throws PatchError `catalog_not_rewritten` when it states a figure of the official form of a changed file that nothing rewrites
 */
export async function rewriteCatalog(
  path: string,
  bytes: Buffer,
  names: ReadonlySet<string>,
  context: CatalogContext,
): Promise<Uint8Array> {
  const subjects = subjectsOf(path, bytes, names, context);
  const { bytes: next, rewritten } = await applyPlugins(path, bytes, subjects, context);
  if (subjects.isOfFile) return writeSidecar(path, bytes, subjects.beside, context);
  checkRest(path, next, subjects.mentioned, rewritten, NEXT_STEP);
  return next;
}

/**
 * Checks a catalog or a sidecar that people have changed for the changed files, and that stays as it is.
 *
 * @throws PatchError `catalog_not_rewritten` when it states a figure of the official form of a changed file
 */
export function checkCatalog(
  path: string,
  bytes: Buffer,
  names: ReadonlySet<string>,
  context: CatalogContext,
): void {
  const { mentioned, beside, isOfFile } = subjectsOf(path, bytes, names, context);
  if (!isOfFile) checkRest(path, bytes, mentioned, new Set(), CORRECT_IT);
  const patched = isOfFile ? rewriteSidecar(bytes, sidecarSubjects(beside, context)) : null;
  if (patched === null || bytes.equals(patched.bytes)) return;
  throw notRewritten(path, `it states a checksum of the official form of ${patched.path}. ${CORRECT_IT}`);
}

/** Whether a catalog can state something about a changed file. @param names of changed files that occur in it */
export function concerns(path: string, names: ReadonlySet<string>, changed: string): boolean {
  return isMentioned(names, changed) || standsBeside(path, changed);
}

function isMentioned(names: ReadonlySet<string>, changed: string): boolean {
  return names.has(baseName(changed));
}

function standsBeside(path: string, changed: string): boolean {
  const stem = sidecarStem(path);
  return stem === null ? path === `${changed}.manifest` : stemsOf(changed).includes(stem);
}

interface CatalogSubjects {
  readonly mentioned: readonly FileChange[];
  readonly beside: readonly FileChange[];
  readonly isOfFile: boolean;
}

function subjectsOf(
  path: string,
  bytes: Buffer,
  names: ReadonlySet<string>,
  { changes }: CatalogContext,
): CatalogSubjects {
  const beside: FileChange[] = [];
  const mentioned: FileChange[] = [];
  for (const changed of changes.paths) {
    const [isBeside, isNamed] = [standsBeside(path, changed), isMentioned(names, changed)];
    // The figures of a file cost a read of it.
    if (!isBeside && !isNamed) continue;
    const change = changes.changeOf(changed);
    if (isBeside) beside.push(change);
    if (isNamed) mentioned.push(change);
  }
  return { mentioned, beside, isOfFile: sidecarStem(path) !== null && beside.length > 0 && isSidecar(bytes) };
}

function sidecarSubjects(
  beside: readonly FileChange[],
  { changes }: CatalogContext,
): readonly SidecarSubject[] {
  return beside.map((change) => ({
    change,
    contents: () => changes.contentsOf(change.path, MOST_CONTENT_BYTES),
  }));
}

async function applyPlugins(
  path: string,
  official: Buffer,
  { mentioned, beside }: CatalogSubjects,
  { plugins, sameNames, unchanged }: CatalogContext,
): Promise<{ readonly bytes: Uint8Array; readonly rewritten: ReadonlySet<string> }> {
  let bytes: Uint8Array = official;
  const rewritten = new Set<string>();
  const all = [...new Set([...mentioned, ...beside])];
  for (const plugin of plugins.filter((each) => each.recognizes(path))) {
    const meant = plugin.namesOnly ? changesFor(path, mentioned, sameNames, unchanged) : all;
    try {
      const result = await plugin.rewrite(path, bytes, meant);
      ({ bytes } = result);
      for (const each of result.rewritten) rewritten.add(each);
    } catch (error) {
      if (!(error instanceof PatchError || error instanceof FormatError)) throw error;
      throw notRewritten(path, `${error.message}. ${NEXT_STEP}`);
    }
  }
  return { bytes, rewritten };
}

function writeSidecar(
  path: string,
  bytes: Buffer,
  beside: readonly FileChange[],
  context: CatalogContext,
): Uint8Array {
  const patched = rewriteSidecar(bytes, sidecarSubjects(beside, context));
  if (patched !== null) return patched.bytes;
  if (context.isAboutUnchanged(path, bytes)) return bytes;
  const files = beside.map((change) => change.path).join(', ');
  const message = `no known algorithm gives its value for the official form of ${files}, beside which it stands`;
  throw notRewritten(path, `${message}. ${NEXT_STEP}`);
}

function checkRest(
  path: string,
  bytes: Uint8Array,
  mentioned: readonly FileChange[],
  rewritten: ReadonlySet<string>,
  nextStep: string,
): void {
  const done = mentioned.filter((change) => rewritten.has(change.path));
  for (const change of mentioned) {
    if (rewritten.has(change.path) || done.some((each) => isTwin(each, change))) continue;
    const stated = statedFigure(bufferOf(bytes), baseName(change.path), change);
    if (stated === null) continue;
    throw notRewritten(
      path,
      `it states ${stated} of ${change.path}, which changes, and nothing rewrites it. ${nextStep}`,
    );
  }
}

/** Whether both have one name and the same official bytes, so that a catalog can mean either. */
function isTwin(left: FileChange, right: FileChange): boolean {
  return (
    baseName(left.path) === baseName(right.path) &&
    left.before.checksums.sha256 === right.before.checksums.sha256
  );
}

function notRewritten(path: string, message: string): PatchError {
  return new PatchError('catalog_not_rewritten', path, message);
}

/** Files of a release with the name of a changed file, by that name. */
export type SameNames = ReadonlyMap<string, readonly PartPlace[]>;

/**
 * The changes that a catalog can mean. A catalog names a bundle without its folder, and the releases for Android and iOS have
 * bundles of one name: of those, the catalog means the nearest, which is the one with the most folders in common. Where a
 * file that is not changed is as near, it is among the results with the same figures before and after, so that the figures
 * in the catalog tell which one is meant.
 *
 * @param sameNames every file of the release with the name of a changed bundle
 * @param unchanged gives a file that is not changed as one that stays
 */
function changesFor(
  catalog: string,
  changes: readonly FileChange[],
  sameNames: SameNames,
  unchanged: (place: PartPlace) => FileChange,
): readonly FileChange[] {
  const result: FileChange[] = [];
  const byName = Map.groupBy(changes, ({ path, bundle }) => (bundle === undefined ? '' : baseName(path)));
  for (const [name, group] of byName) {
    const all = name === '' ? [] : (sameNames.get(name) ?? []);
    if (all.length < 2) {
      result.push(...group);
      continue;
    }
    const byPath = new Map(group.map((change) => [change.path, change]));
    const distances = all.map(({ path }) => commonFolders(catalog, path));
    const nearest = Math.max(...distances);
    const near = all.filter((_path, index) => distances[index] === nearest);
    if (!near.some(({ path }) => byPath.has(path))) continue;
    for (const place of near) result.push(byPath.get(place.path) ?? unchanged(place));
  }
  return result;
}

function commonFolders(left: string, right: string): number {
  const [one, other] = [left.split('/').slice(0, -1), right.split('/').slice(0, -1)];
  const first = one.findIndex((folder, index) => folder !== other[index]);
  return first === -1 ? one.length : first;
}
