import type { TrustedKey } from '../../../attestation/keys.ts';
import { CHANNELS } from '../../../domain/release/channel.ts';
import { encodePath } from '../../../domain/release/encode-path.ts';
import type { ManifestEntry } from '../../../domain/release/manifest.ts';
import type { VerifiedAttestation } from '../../../domain/verdict/attestation.ts';
import { STATIC_MIRROR_FILE } from '../../../contract/formats/static-mirror-format.ts';
import { acceptOrigin, NO_ORIGIN_MEMORY } from '../../../mirror/accept-origin.ts';
import type { SourceManifest, SourceRelease } from '../../../mirror/attested-source.ts';
import { authorizedRelease } from '../../../mirror/authorized-release.ts';
import { MirrorError } from '../../../mirror/mirror-error.ts';
import { createSlipwaySource, type SendHttp } from '../../../mirror/slipway-source.ts';
import { openStaticMirror, type OpenStaticMirror } from '../../../mirror/static/open-static-mirror.ts';
import { MirrorHttpError } from './mirror-http.ts';

/** A mirror whose attestation was accepted. */
export interface AcceptedMirror {
  /** A running Slipway, or a static mirror: plain files. */
  readonly kind: 'server' | 'files';
  readonly attestation: VerifiedAttestation;
  /** Whether its attestation has expired, so that it may be one of any time. Only files may have such a one. */
  readonly isExpired: boolean;
  /** The releases that it has now. */
  readonly releases: readonly SourceRelease[];
  manifest(release: SourceRelease, signal: AbortSignal): Promise<SourceManifest>;
  urlOf(release: SourceRelease, entry: ManifestEntry): string;
}

interface AcceptMirrorOptions {
  /** Base URL, without a trailing slash. */
  readonly url: string;
  readonly keys: readonly TrustedKey[];
  readonly send: SendHttp;
  /** The one instant of the decision, Unix milliseconds. */
  readonly now: number;
  readonly signal: AbortSignal;
}

/**
 * Asks what is at a URL for its attestation: first for that of a running Slipway, then for that of a static mirror.
 *
 * @throws MirrorError when the attestation is not acceptable, or neither is there; MirrorHttpError; the signal's reason
 */
export async function acceptMirror(options: AcceptMirrorOptions): Promise<AcceptedMirror> {
  try {
    return await acceptServer(options);
  } catch (error) {
    options.signal.throwIfAborted();
    if (!isOtherServer(error)) throw error;
    const found = await findStaticMirror(options);
    if (typeof found === 'string') throw neither(error as Error, found);
    return acceptFiles(found, options);
  }
}

/** @returns the mirror, or why there is none */
async function findStaticMirror({
  url,
  send,
  signal,
}: AcceptMirrorOptions): Promise<OpenStaticMirror | string> {
  try {
    const found = await openStaticMirror(url, send, signal);
    return found ?? `${url}/${STATIC_MIRROR_FILE} is of something else`;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof MirrorHttpError && isOtherServer(error)) return error.message;
    throw error;
  }
}

async function acceptServer({ url, keys, send, now, signal }: AcceptMirrorOptions): Promise<AcceptedMirror> {
  const source = createSlipwaySource({ url, label: url, send });
  const state = await source.current(null, signal);
  if (state?.cdnHost === undefined || state.cdnHost === null)
    throw new MirrorError('origin_malformed', `${url} names no path for its files`);
  const { cdnHost, envelope } = state;
  const accepted = acceptOrigin(envelope, keys, NO_ORIGIN_MEMORY, now);
  if (!accepted.ok) throw accepted.error;
  const { verified } = accepted.value;
  return {
    kind: 'server',
    attestation: verified,
    isExpired: false,
    releases: CHANNELS.flatMap((channel) => {
      const attested = verified.statement[channel];
      return attested?.result === 'PASSED' ? [{ channel, attested }] : [];
    }),
    manifest: async (release, either) => await source.manifest(release, either),
    urlOf: ({ attested }, { destination }) =>
      `${url}/${cdnHost}/${attested.release_id}/${encodePath(destination)}`,
  };
}

/** Files are carried, and stay when their attestation has expired: its signature proves what they are, not that they are current. */
function acceptFiles(mirror: OpenStaticMirror, { url, keys, now }: AcceptMirrorOptions): AcceptedMirror {
  const accepted = acceptOrigin(mirror.envelope, keys, NO_ORIGIN_MEMORY, now, { mayBeExpired: true });
  if (!accepted.ok) throw accepted.error;
  const { verified } = accepted.value;
  const release = authorizedRelease(verified.statement, mirror.release.snapshot_id);
  if (release === null) {
    const { channel, release_id: releaseId, snapshot_id: snapshotId } = mirror.release;
    throw new MirrorError(
      'origin_manifest_differs',
      `${url}/${STATIC_MIRROR_FILE} names ${channel} release ${releaseId} (${snapshotId}), which its attestation does not authorize`,
    );
  }
  return {
    kind: 'files',
    attestation: verified,
    isExpired: verified.statement.expires_at * 1000 <= now,
    releases: [release],
    manifest: async (of, either) => await mirror.manifest(of, either),
    urlOf: (_release, entry) => mirror.urlOf(entry),
  };
}

/** Whether an answer is one of a server that is no Slipway. Web servers answer unknown paths with any of these, or with a page. */
function isOtherServer(error: unknown): boolean {
  if (error instanceof MirrorHttpError) return [400, 403, 404, 405, 410].includes(error.status ?? 0);
  return error instanceof MirrorError && error.code === 'origin_malformed';
}

/** Every Slipway has the path that was asked for first, and every static mirror the second one. */
function neither({ message }: Error, why: string): MirrorError {
  return new MirrorError(
    'origin_malformed',
    `it is neither a Slipway nor a static mirror: ${message}, and ${why}; is this its base URL?`,
  );
}
