import { addressPath } from '../../../formats/catalogs/bundle-change.ts';
import type { CatalogPlugin, FileChange, MeantBy } from '../../../formats/catalogs/catalog-plugin.ts';
import { FormatError } from '../../../formats/format-error.ts';
import { PatchError } from '../../../formats/patch/patch-error.ts';
import { baseName, type PartPlace } from './release-files.ts';
import { bufferOf } from '../../../platform/buffer-of.ts';
import type { ChangeSet } from './change-set.ts';
import { isSidecar, rewriteSidecar, sidecarStem, stemsOf, type SidecarSubject } from './sidecars.ts';
import { statedContentCrc, statedFigure } from './stated-figures.ts';

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

const NOT_IGNORED =
  'It is in localized.catalogs.ignore, so it would stay as it is, and clients would refuse the new bundle. Take it out of localized.catalogs.ignore so that it is rewritten, or leave the texts of this bundle out.';

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
  const { bytes: next, ...covered } = await applyPlugins(path, bytes, subjects, context);
  if (subjects.isOfFile) return writeSidecar(path, bytes, subjects.beside, context);
  checkRest(path, next, subjects.mentioned, covered, NEXT_STEP);
  return next;
}

/**
 * Checks a file that stays as it is because the operator says that it is no catalog. Clients load bundles by the CRC that a catalog
 * states, so one that states it would make the game refuse the patched bundle.
 *
 * @throws PatchError `catalog_not_rewritten` when it is a catalog of a changed bundle after all
 */
export async function checkIgnored(
  path: string,
  bytes: Buffer,
  names: ReadonlySet<string>,
  context: CatalogContext,
): Promise<void> {
  const subjects = subjectsOf(path, bytes, names, context);
  const bundles = subjects.mentioned.filter(({ bundle }) => bundle !== undefined);
  if (bundles.length === 0) return;
  const plugins = context.plugins.filter(({ isOfBundles }) => isOfBundles);
  const isCatalog = await statesOfficial(path, bytes, { ...subjects, beside: [] }, { ...context, plugins });
  const stated = bundles.find((change) => statedContentCrc(bytes, baseName(change.path), change) !== null);
  const named = stated ?? (isCatalog ? bundles[0] : undefined);
  if (named === undefined) return;
  throw notRewritten(path, `it is a catalog that names ${named.path}, which changes. ${NOT_IGNORED}`);
}

/** Whether a plug-in would change it, or finds figures in it that are not known. */
async function statesOfficial(
  path: string,
  bytes: Buffer,
  subjects: CatalogSubjects,
  context: CatalogContext,
): Promise<boolean> {
  try {
    const { bytes: next, unread } = await applyPlugins(path, bytes, subjects, context);
    return (unread !== null && unread.size > 0) || !bytes.equals(next);
  } catch (error) {
    if (error instanceof PatchError) return true;
    throw error;
  }
}

/**
 * Checks a catalog or a sidecar that people have changed for the changed files, and that stays as it is.
 *
 * @throws PatchError `catalog_not_rewritten` when it states a figure of the official form of a changed file
 */
export async function checkCatalog(
  path: string,
  bytes: Buffer,
  names: ReadonlySet<string>,
  context: CatalogContext,
): Promise<void> {
  const subjects = subjectsOf(path, bytes, names, context);
  const { mentioned, beside, isOfFile } = subjects;
  if (!isOfFile) checkRest(path, bytes, mentioned, await kept(path, bytes, subjects, context), CORRECT_IT);
  const patched = isOfFile ? rewriteSidecar(bytes, sidecarSubjects(beside, context)) : null;
  if (patched === null || bytes.equals(patched.bytes)) return;
  throw notRewritten(path, `it states a checksum of the official form of ${patched.path}. ${CORRECT_IT}`);
}

/** What a catalog that stays as it is surely does not state: a plug-in that would change nothing in it has read it. */
async function kept(
  path: string,
  bytes: Buffer,
  subjects: CatalogSubjects,
  context: CatalogContext,
): Promise<Covered> {
  const nothing = { rewritten: new Set<string>(), unread: null };
  try {
    const { bytes: next, unread } = await applyPlugins(path, bytes, subjects, context);
    return bytes.equals(next) ? { ...nothing, unread } : nothing;
  } catch (error) {
    if (error instanceof PatchError) return nothing;
    throw error;
  }
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

/** What plug-ins have dealt with in a catalog. */
interface Covered {
  /** The paths of files whose new figures it states. */
  readonly rewritten: ReadonlySet<string>;
  /** The names of bundles about which it can state something else; `null` where it was not read whole. */
  readonly unread: ReadonlySet<string> | null;
}

async function applyPlugins(
  path: string,
  official: Buffer,
  { mentioned, beside }: CatalogSubjects,
  { plugins, sameNames, unchanged }: CatalogContext,
): Promise<Covered & { readonly bytes: Uint8Array }> {
  let bytes: Uint8Array = official;
  const rewritten = new Set<string>();
  let unread: ReadonlySet<string> | null = null;
  const all = [...new Set([...mentioned, ...beside])];
  const meantBy = addressReader(path, mentioned, sameNames, unchanged);
  for (const plugin of plugins.filter((each) => each.recognizes(path))) {
    try {
      const result = await plugin.rewrite(path, bytes, all, meantBy);
      ({ bytes } = result);
      for (const each of result.rewritten) rewritten.add(each);
      unread ??= result.unread ?? null;
    } catch (error) {
      if (!(error instanceof PatchError || error instanceof FormatError)) throw error;
      throw notRewritten(path, `${error.message}. ${NEXT_STEP}`);
    }
  }
  return { bytes, rewritten, unread };
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
  { rewritten, unread }: Covered,
  nextStep: string,
): void {
  const done = mentioned.filter((change) => rewritten.has(change.path));
  for (const change of mentioned) {
    if (rewritten.has(change.path) || done.some((each) => isTwin(each, change))) continue;
    // A catalog that was read whole has other numbers near the name, such as positions in itself.
    if (change.bundle !== undefined && unread !== null && !unread.has(baseName(change.path))) continue;
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
 * Reads the addresses of a catalog: which bundles of the release each can mean. The releases for Android and iOS have bundles of one
 * name. Of those, an address means the one whose folders it names, and the one with the most folders in common with the catalog.
 * Where these differ, or several are as near, all of them are the nearest, so that the figures in the catalog tell which one is meant.
 * An address can have other folders than its file, so the changed ones are others where none of the nearest changes.
 *
 * @param changes those that occur in the catalog
 * @param sameNames every file of the release with the name of a changed bundle
 * @param unchanged gives a file that is not changed as one that stays
 */
function addressReader(
  catalog: string,
  changes: readonly FileChange[],
  sameNames: SameNames,
  unchanged: (place: PartPlace) => FileChange,
): MeantBy {
  const bundles = changes.filter(({ bundle }) => bundle !== undefined);
  const byName = Map.groupBy(bundles, ({ path }) => baseName(path));
  return (address) => {
    const named = addressPath(address);
    const group = byName.get(baseName(named));
    if (group === undefined) return null;
    const all = sameNames.get(baseName(named)) ?? [];
    if (all.length < 2) return { nearest: group, others: [] };
    const near = largest(all, ({ path }) => commonFolders(catalog, path));
    const meant = largest(all, ({ path }) => commonEnd(named, path));
    const both = near.filter((place) => meant.includes(place));
    const places = both.length > 0 ? both : [...near, ...meant];
    const byPath = new Map(group.map((change) => [change.path, change]));
    return {
      nearest: places.map((place) => byPath.get(place.path) ?? unchanged(place)),
      others: places.some(({ path }) => byPath.has(path)) ? [] : group,
    };
  };
}

function largest<T>(all: readonly T[], valueOf: (each: T) => number): readonly T[] {
  const values = all.map(valueOf);
  const most = Math.max(...values);
  return all.filter((_each, index) => values[index] === most);
}

/** The number of folders from the root on that two paths have in common. */
function commonFolders(left: string, right: string): number {
  return commonSteps(left.split('/').slice(0, -1), right.split('/').slice(0, -1));
}

/** The number of folders in front of the file name that two paths have in common. */
function commonEnd(left: string, right: string): number {
  return commonSteps(left.split('/').toReversed().slice(1), right.split('/').toReversed().slice(1));
}

function commonSteps(left: readonly string[], right: readonly string[]): number {
  const first = left.findIndex((folder, index) => folder !== right[index]);
  return first === -1 ? left.length : first;
}
