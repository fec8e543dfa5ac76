import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { ReleaseId } from '../../domain/release/release-id.ts';

/** `release.json`: describes a release to an upstream of kind `manifest`. The format is in `docs/reference/upstream-manifest.md`. */
export const RELEASE_FILE = 'release.json';

/** The server-info document beside it. */
export const SERVER_INFO_FILE = 'server-info.json';

/** The version that clients show. */
export const APP_VERSION_PATTERN = /^[\x21-\x7e]{1,64}$/;

/** The version of a manifest as the document can have it: it allows less. */
export function releaseFileVersion(appVersion: string | null): string | null {
  return appVersion !== null && APP_VERSION_PATTERN.test(appVersion) ? appVersion : null;
}

/** The members that come before the entries. */
export interface ReleaseFileHead {
  readonly releaseId: ReleaseId;
  readonly appVersion: string | null;
  /** Path of the server-info document below the root, and its digest; or `null`. */
  readonly serverInfo: { readonly path: string; readonly blake3: Blake3Hex } | null;
}

/** One file. */
export interface ReleaseFileEntry {
  readonly destination: string;
  readonly size: number;
  readonly blake3: Blake3Hex;
  /** The encoded path below the root, where it is not the encoded destination. */
  readonly url?: string;
  /** Modification time in nanoseconds, for `slipway manifest --update`; readers of releases ignore it. */
  readonly mtimeNs?: bigint;
}

/** The end of the document, after the last entry. */
export const RELEASE_FILE_END = '\n]}\n';

/**
 * Renders the beginning of the document, up to its first entry. The release id comes first: heads whose ids have the same length have
 * the same length.
 */
export function renderReleaseFileHead({ releaseId, appVersion, serverInfo }: ReleaseFileHead): string {
  const members = [
    ['release_id', releaseId],
    ['app_version', appVersion],
    ['server_info', serverInfo?.path],
    ['server_info_blake3', serverInfo?.blake3],
  ].flatMap(([name, value]) =>
    value === null || value === undefined ? [] : [`${JSON.stringify(name)}:${JSON.stringify(value)},\n`],
  );
  return `{${members.join('')}"entries":[`;
}

/** Renders one entry, which is a line of its own. */
export function renderReleaseFileEntry(
  { destination, size, blake3, url, mtimeNs }: ReleaseFileEntry,
  isFirst: boolean,
): string {
  const entry = { destination, size, digests: { blake3 }, url, mtime_ns: mtimeNs?.toString() };
  return `${isFirst ? '' : ','}\n${JSON.stringify(entry)}`;
}
