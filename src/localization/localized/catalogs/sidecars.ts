import { newText, type FileChange } from '../../../formats/catalogs/catalog-plugin.ts';
import { patchSidecar } from '../../../formats/catalogs/checksum-sidecar.ts';
import { PatchError } from '../../../formats/patch/patch-error.ts';

export interface SidecarSubject {
  readonly change: FileChange;
  /** Both forms of the file; `null` when one of them is too large to be read whole. */
  contents(): { readonly before: Buffer; readonly after: Buffer } | null;
}

/** The extensions of files with the checksum of the file beside them. */
export const SIDECAR_EXTENSIONS = [
  'hash',
  'md5',
  'sha1',
  'sha256',
  'sha512',
  'crc',
  'crc32',
  'xxh32',
  'xxh64',
  'checksum',
];

const SIDECAR = new RegExp(`\\.(?:${SIDECAR_EXTENSIONS.join('|')})$`, 'i');
/** More than any checksum with white space around it. */
const MOST_SIDECAR_BYTES = 1024;

/**
 * The path of the file that a sidecar stands beside, with or without its extension: both `catalog.hash` and `catalog.json.hash`
 * stand beside `catalog.json`.
 *
 * @returns `null` for a file that does not have the name of a sidecar
 */
export function sidecarStem(path: string): string | null {
  return SIDECAR.test(path) ? path.replace(SIDECAR, '') : null;
}

/**
 * The stems of sidecars that can be about a changed file. The sidecar of an archive can state the checksum of the one file in it.
 */
export function stemsOf(path: string): readonly string[] {
  const levels = path.split('!/');
  const above = levels.slice(0, -1).join('!/');
  return [path, above].flatMap((each) => (each === '' ? [] : [each, each.replace(/\.[^./]*$/, '')]));
}

/**
 * Writes the new checksum into a sidecar.
 *
 * @returns the new bytes and the path of the file that it is about; `null` when no known algorithm gives its value for any of
 *   the files
 */
export function rewriteSidecar(
  bytes: Buffer,
  subjects: readonly SidecarSubject[],
): { readonly bytes: Uint8Array; readonly path: string } | null {
  for (const subject of subjects) {
    const patched = withFigures(bytes, subject.change) ?? withContents(bytes, subject);
    if (patched !== null) return { bytes: patched, path: subject.change.path };
  }
  return null;
}

export function isSidecar(bytes: Buffer): boolean {
  return bytes.length <= MOST_SIDECAR_BYTES && /^\s*\S+\s*$/.test(bytes.toString('latin1'));
}

/** By the checksums that are computed while a file is read, so its size does not matter. */
function withFigures(bytes: Buffer, change: FileChange): Buffer | null {
  const [, lead = '', stated = '', tail = ''] = /^(\s*)(\S+)(\s*)$/.exec(bytes.toString('latin1')) ?? [];
  try {
    return Buffer.from(lead + newText(change, stated) + tail, 'latin1');
  } catch (error) {
    if (error instanceof PatchError) return null;
    throw error;
  }
}

function withContents(bytes: Buffer, subject: SidecarSubject): Uint8Array | null {
  const contents = subject.contents();
  if (contents === null) return null;
  const { before, after } = contents;
  // A sidecar that states the new checksum already stays as it is.
  return (patchSidecar(bytes, before, after) ?? patchSidecar(bytes, after, after))?.bytes ?? null;
}
