import { notRewritten, type PatchError } from '../patch/patch-error.ts';

interface BundleFigures {
  readonly size: number;
  /** CRC-32 of its decompressed data; `null` where it is not known. */
  readonly crc32: number | null;
}

/** A bundle that was patched, or one of the same name that was not. */
export interface BundleChange {
  /** Its destination, or only its file name. */
  readonly path: string;
  readonly before: BundleFigures;
  /** The hash is 16 bytes over the new content; `null` for a bundle that only has the name of a patched one. */
  readonly after: (BundleFigures & { readonly contentHash: Uint8Array }) | null;
}

export interface CatalogFigures {
  /** 32 hexadecimal digits; empty where clients do not cache the bundle. */
  readonly hash: string;
  /** 0 where clients do not check it. */
  readonly crc: number;
  readonly size: number;
}

export interface PatchedCatalog {
  readonly bytes: Uint8Array;
  /** The paths of the changed bundles that the catalog lists; each has its new figures. */
  readonly listed: ReadonlySet<string>;
  /** The file names of bundles for which the catalog states something in a form that is not known. All else of it was read. */
  readonly unread: ReadonlySet<string>;
}

/** The bundles of one file name that an address in a catalog can mean. */
export interface Meant<Change> {
  /** Those that the folders of the address and of the catalog tell. */
  readonly nearest: readonly Change[];
  /** Where none of the nearest changes, those that do: the address means one of them where the catalog states its figures. */
  readonly others: readonly Change[];
}

/** Finds the bundles that a path or an address in a catalog can mean; `null` where it means no changed one. */
export type ChangesOf = (address: string) => Meant<BundleChange> | null;

/**
 * The new values of a bundle in a catalog. A value that the catalog leaves empty stays empty. The hash is made from the new
 * content: clients cache a bundle by its name and hash, so the old hash would give them the old bundle.
 *
 * @throws PatchError `catalog_not_rewritten` when the catalog states other figures than those of the official bundle, so that its
 *   values mean something that is not known
 */
export function changedFigures(old: CatalogFigures, { path, before, after }: BundleChange): CatalogFigures {
  if (after === null) return old;
  const fileName = fileNameOf(path);
  // A catalog that states the new figures already stays as it is.
  if (old.size !== 0 && old.size !== before.size && old.size !== after.size) {
    throw unknownFigure(fileName, `the size ${old.size}`, before.size);
  }
  if (old.crc !== 0 && old.crc !== before.crc32 && old.crc !== after.crc32) {
    throw unknownFigure(fileName, `the CRC ${old.crc}`, before.crc32);
  }
  if (old.crc !== 0 && after.crc32 === null) throw unknownFigure(fileName, `the CRC ${old.crc}`, null);
  return {
    hash: isEmptyHash(old.hash) ? old.hash : Buffer.from(after.contentHash).toString('hex'),
    crc: old.crc === 0 ? 0 : (after.crc32 ?? 0),
    size: old.size === 0 ? 0 : after.size,
  };
}

/** Finds the bundles that an address can mean by its last part alone. */
export function changesByName(changes: readonly BundleChange[]): ChangesOf {
  const byName = Map.groupBy(changes, ({ path }) => fileNameOf(path));
  return (address) => {
    const nearest = byName.get(fileNameOf(addressPath(address)));
    return nearest === undefined ? null : { nearest, others: [] };
  };
}

/** The path of an address in a catalog, with slashes and without a query. */
export function addressPath(address: string): string {
  return address.replace(/[?#].*$/s, '').replaceAll('\\', '/');
}

export function fileNameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/**
 * Chooses the bundle that a catalog means among those of one file name: the one whose official figures the catalog states.
 *
 * @throws PatchError `catalog_not_rewritten` when it states the figures of none of them, or they do not tell two apart that
 *   were patched differently
 */
export function chooseChange(
  old: CatalogFigures,
  { nearest, others }: Meant<BundleChange>,
): BundleChange | undefined {
  if (others.length === 0) return chooseAmong(old, nearest);
  const statesNothing = old.size === 0 && old.crc === 0;
  if (statesNothing || nearest.some(({ before }) => isStated(old, before))) return undefined;
  // Clients check the CRC, so one that is stated must not stay, whatever the size beside it is.
  const isMeant = (figures: BundleFigures | null): boolean =>
    figures !== null && (old.crc === 0 ? isStated(old, figures) : old.crc === figures.crc32);
  return chooseAmong(
    old,
    others.filter(({ before, after }) => isMeant(before) || isMeant(after)),
  );
}

function chooseAmong(old: CatalogFigures, candidates: readonly BundleChange[]): BundleChange | undefined {
  const [first, ...rivals] = candidates;
  if (first === undefined || rivals.length === 0) return first;
  const fitting = candidates.filter(
    ({ before, after }) => isStated(old, before) || (after !== null && isStated(old, after)),
  );
  const [chosen, ...rest] = fitting;
  if (chosen === undefined) {
    throw unknownFigure(
      fileNameOf(first.path),
      `the size ${old.size} and the CRC ${old.crc}`,
      first.before.size,
    );
  }
  if (rest.every(({ after }) => isSameResult(after, chosen.after))) return chosen;
  const message = `the catalog does not tell apart the bundles with the file name ${JSON.stringify(fileNameOf(first.path))}`;
  throw notRewritten(message);
}

function isStated(old: CatalogFigures, { size, crc32 }: BundleFigures): boolean {
  return (old.size === 0 || old.size === size) && (old.crc === 0 || old.crc === crc32);
}

function isSameResult(left: BundleChange['after'], right: BundleChange['after']): boolean {
  if (left === null || right === null) return left === right;
  return Buffer.compare(left.contentHash, right.contentHash) === 0 && left.size === right.size;
}

function isEmptyHash(hash: string): boolean {
  return /^0*$/.test(hash);
}

function unknownFigure(fileName: string, stated: string, found: number | null): PatchError {
  return notRewritten(
    `the catalog states ${stated} for ${JSON.stringify(fileName)}, and the official bundle has ${found ?? 'none that is known'}`,
  );
}
