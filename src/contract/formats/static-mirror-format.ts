import { z } from 'zod';
import { CHANNELS } from '../../domain/release/channel.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import { DESTINATION_SEGMENT_MAX_BYTES } from '../../domain/release/destination.ts';
import { isRecord } from '../../domain/is-record.ts';
import { failure, success, type Result } from '../../domain/result.ts';
import { ENVELOPE_MAX_BYTES } from './attestation-format.ts';
import type { NamedSnapshot } from './bundle-format.ts';
import { releaseId, snapshotId } from './release-fields.ts';

/**
 * A static mirror: one release as plain files, which any web server or bucket can serve. A path holds the digest of its content, so
 * what is at a path never changes, and the next release adds only what it changes. `mirror.json` alone says which release the mirror has,
 * and is written last; `release.json` describes the same release to an upstream of kind `manifest`.
 */
export const STATIC_MIRROR_FILE = 'mirror.json';

const STATIC_MIRROR_FORMAT = 'slipway-mirror';

/** Longest `mirror.json`, bytes: an envelope and a few names. */
export const STATIC_MIRROR_MAX_BYTES = 2 * ENVELOPE_MAX_BYTES;

/** Digits of a digest in the name of a file: nobody finds two contents with the same. */
const NAME_DIGITS = 32;

const staticMirrorSchema = z.object({
  format: z.literal(STATIC_MIRROR_FORMAT),
  version: z.literal(1),
  channel: z.enum(CHANNELS),
  release_id: releaseId,
  snapshot_id: snapshotId,
  /** The DSSE envelope; its form is for the check of its signature. */
  attestation: z.record(z.string(), z.unknown()),
});

/** The release of a static mirror, as the mirror claims; only the attestation makes it trustworthy. */
export interface StaticMirror {
  readonly release: NamedSnapshot;
  /** The signed attestation as it was published. */
  readonly envelope: Uint8Array;
}

/** Renders `mirror.json`; the same release with the same attestation always gives the same bytes. */
export function renderStaticMirror({ release, envelope }: StaticMirror): string {
  const { channel, release_id, snapshot_id } = release;
  const attestation: unknown = JSON.parse(new TextDecoder().decode(envelope));
  const document = {
    format: STATIC_MIRROR_FORMAT,
    version: 1,
    channel,
    release_id,
    snapshot_id,
    attestation,
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** Parses `mirror.json`. @returns it, one sentence that says what is wrong, or `null` when the text is of something else */
export function parseStaticMirror(text: string): Result<StaticMirror, string> | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(value) || value['format'] !== STATIC_MIRROR_FORMAT) return null;
  const parsed = staticMirrorSchema.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return failure(
      `${STATIC_MIRROR_FILE}: ${issue === undefined ? 'invalid' : [...issue.path, issue.message].join(': ')}`,
    );
  }
  const { channel, release_id, snapshot_id, attestation } = parsed.data;
  return success({
    release: { channel, release_id, snapshot_id },
    envelope: new TextEncoder().encode(JSON.stringify(attestation)),
  });
}

/**
 * The path of a file in a static mirror: the destination below `files`, with digits of the digest before its name, which keeps its
 * ending. A name that would be longer than file systems allow is left out.
 */
export function staticFilePath(destination: string, blake3: Blake3Hex): string {
  const at = destination.lastIndexOf('/') + 1;
  const digits = blake3.slice(0, NAME_DIGITS);
  const name = `${digits}-${destination.slice(at)}`;
  const isTooLong = new TextEncoder().encode(name).length > DESTINATION_SEGMENT_MAX_BYTES;
  return `files/${destination.slice(0, at)}${isTooLong ? digits : name}`;
}

/** The path of the signed manifest in a static mirror. */
export function staticManifestPath(manifestDigest: Blake3Hex): string {
  return `manifests/${manifestDigest}.ndjson`;
}

/** The path of the server-info document in a static mirror. */
export function staticServerInfoPath(blake3: Blake3Hex): string {
  return `server-info/${blake3}.json`;
}

/** Names at the root of a static mirror. */
export const STATIC_MIRROR_FOLDERS = ['files', 'manifests', 'server-info'] as const;
