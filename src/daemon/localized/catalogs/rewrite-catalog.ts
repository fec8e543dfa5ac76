import type { CatalogPlugin, FileChange } from '../../formats/catalogs/catalog-plugin.ts';
import { FormatError } from '../../formats/format-error.ts';
import { PatchError } from '../../formats/patch/patch-error.ts';
import { baseName } from './base-name.ts';
import { bufferOf } from '../../../platform/buffer-of.ts';
import type { ChangeSet } from './change-set.ts';
import { isSidecar, rewriteSidecar, sidecarStem, stemsOf, type SidecarSubject } from './sidecars.ts';
import type { PartPlace } from './release-files.ts';
import { changesFor, type SameNames } from './same-names.ts';
import { statedFigure } from './stated-figures.ts';

/** The facts that a catalog is rewritten with. */
export interface CatalogContext {
  readonly plugins: readonly CatalogPlugin[];
  readonly changes: ChangeSet;
  readonly sameNames: SameNames;
  /** A file that did not change, with its figures as both forms. */
  readonly unchanged: (place: PartPlace) => FileChange;
  /** Whether a sidecar states a checksum of a file beside it that did not change. */
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
 * @param names of changed files that stand in it
 * @throws PatchError `catalog_not_rewritten` when it states a figure of the official form of a changed file that nothing rewrites
 */
export async function rewriteCatalog(
  path: string,
  bytes: Buffer,
  names: ReadonlySet<string>,
  context: CatalogContext,
): Promise<Uint8Array> {
  const { mentioned, beside, isOfFile } = subjectsOf(path, bytes, names, context);
  const { bytes: next, rewritten } = await applyPlugins(path, bytes, { mentioned, beside }, context);
  if (isOfFile) return writeSidecar(path, bytes, beside, context);
  checkRest(path, next, { mentioned, rewritten }, NEXT_STEP);
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
  if (!isOfFile) checkRest(path, bytes, { mentioned, rewritten: new Set() }, CORRECT_IT);
  const patched = isOfFile ? rewriteSidecar(bytes, sidecarSubjects(beside, context)) : null;
  if (patched === null || bytes.equals(patched.bytes)) return;
  throw notRewritten(path, `it states a checksum of the official form of ${patched.path}. ${CORRECT_IT}`);
}

/**
 * Whether a catalog can state something about a changed file.
 *
 * @param names of changed files that stand in it
 */
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

/** The changed files that a catalog can state something about. */
interface CatalogSubjects {
  /** Those whose names stand in it. */
  readonly mentioned: readonly FileChange[];
  /** Those beside which it stands. */
  readonly beside: readonly FileChange[];
  /** Whether it is the sidecar of one of them. */
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
  { changes }: Pick<CatalogContext, 'changes'>,
): readonly SidecarSubject[] {
  return beside.map((change) => ({
    change,
    contents: () => changes.contentsOf(change.path, MOST_CONTENT_BYTES),
  }));
}

async function applyPlugins(
  path: string,
  official: Buffer,
  {
    mentioned,
    beside,
  }: { readonly mentioned: readonly FileChange[]; readonly beside: readonly FileChange[] },
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

/** Refuses a catalog that states a figure of a file which nothing rewrote. */
function checkRest(
  path: string,
  bytes: Uint8Array,
  {
    mentioned,
    rewritten,
  }: { readonly mentioned: readonly FileChange[]; readonly rewritten: ReadonlySet<string> },
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
