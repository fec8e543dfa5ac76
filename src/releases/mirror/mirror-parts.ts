import { manifestDigestOf } from '../../domain/release/digest.ts';
import type { AttestedRelease } from '../../domain/verdict/attestation.ts';
import type { SourceDescription, SourceRelease } from '../../mirror/attested-source.ts';
import { unixSeconds } from '../../platform/process/clock.ts';
import type { ConnectedUpstream } from '../../upstream/adapters/upstream-source.ts';
import type { AttestedUpstream } from '../../upstream/attested/attested-upstream.ts';
import type { HeldOrigin } from '../records/origin-repository.ts';
import type { TaskParts } from '../release-parts.ts';

/** What a copy from the origin works with. */
export interface MirrorParts extends TaskParts {
  readonly upstream: ConnectedUpstream & { readonly attested: AttestedUpstream };
}

/**
 * Identifies a manifest together with what can be replaced while the release stays: the document beside it, and the host in the
 * paths of its files.
 */
export function fingerprintOf({ cdnHost }: HeldOrigin, attested: AttestedRelease): string {
  const document = attested.server_info?.blake3 ?? 'none';
  return `${manifestDigestOf(attested.snapshot_id) ?? ''} ${document} ${cdnHost ?? ''}`;
}

/** Begins the revision of a release of the origin, without entries. Returns its id. */
export function beginRevision(
  { catalogs, clock, upstream }: MirrorParts,
  { channel, attested }: SourceRelease,
  { header, serverInfo }: SourceDescription,
  taskId: string,
): number {
  return catalogs.begin({
    channel,
    upstreamLabel: upstream.attested.source.label,
    upstreamReleaseId: attested.release_id,
    etag: null,
    taskId,
    appVersion: header.app_version ?? null,
    serverInfo,
    fetchedAt: unixSeconds(clock),
  });
}
