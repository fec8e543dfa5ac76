import { join } from 'node:path';
// On its own, so that threads that only need paths do not load the schema library.
import { STORE_FORMAT_FILE } from '../../contract/formats/store-format-file.ts';
import type { Channel } from '../../domain/release/channel.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { ReleaseId } from '../../domain/release/release-id.ts';

/** Directories of a snapshot volume, in the order in which a new store makes them. */
export const STORE_DIRECTORIES = [
  'objects',
  'manifests',
  'releases/official',
  'releases/localized',
  'attest/history',
  'tmp',
  'quarantine',
] as const;

/** `FORMAT`: what the volume is. */
export function formatPath(root: string): string {
  return join(root, STORE_FORMAT_FILE);
}

/** `objects/<2 hex>`: the directory of an object. */
export function objectDirectory(root: string, blake3: Blake3Hex): string {
  return `${root}/objects/${blake3.slice(0, 2)}`;
}

/** `objects/<2 hex>/<62 hex>`: the raw bytes whose BLAKE3 is the name. */
export function objectPath(root: string, blake3: Blake3Hex): string {
  return `${root}/objects/${blake3.slice(0, 2)}/${blake3.slice(2)}`;
}

/** `objects/<2 hex>/<62 hex>.blocks`: the BLAKE3 of each block of a large object, 32 bytes each. */
export function blockListPath(root: string, blake3: Blake3Hex): string {
  return `${objectPath(root, blake3)}.blocks`;
}

/** `manifests/<blake3>.ndjson`. */
export function manifestPath(root: string, blake3: Blake3Hex): string {
  return `${root}/manifests/${blake3}.ndjson`;
}

/** `releases/<channel>`. */
export function releaseDirectory(root: string, channel: Channel): string {
  return `${root}/releases/${channel}`;
}

/** `releases/<channel>/<release_id>.json`; a release id needs no escaping in a file name. */
export function releaseRecordPath(root: string, channel: Channel, releaseId: ReleaseId): string {
  return `${releaseDirectory(root, channel)}/${releaseId}.json`;
}

/** `attest/current.json`: the DSSE envelope, the only file that changes; it is replaced by rename. */
export function attestationPath(root: string): string {
  return `${root}/attest/current.json`;
}

/** `attest/history`. */
export function attestationHistoryDirectory(root: string): string {
  return `${root}/attest/history`;
}

/** `attest/history/<version>.json`. */
export function attestationHistoryPath(root: string, version: number): string {
  return `${attestationHistoryDirectory(root)}/${version}.json`;
}

/** `tmp`: staging on the same file system, because a rename must not cross devices. */
export function stagingRoot(root: string): string {
  return `${root}/tmp`;
}

/** `quarantine`: damaged objects, kept for diagnosis. */
export function quarantineDirectory(root: string): string {
  return `${root}/quarantine`;
}
