import type { Channel } from '../../../domain/release/channel.ts';
import type { SnapshotId } from '../../../domain/release/digest.ts';
import type { ReleaseId } from '../../../domain/release/release-id.ts';
import type { ServerInfoDocument } from '../../../domain/release/server-info-document.ts';
import type { ContentSummary } from './content-digest.ts';

/** A release whose objects are all in the store and whose entries are all in a catalog revision. */
export interface ReleaseDraft {
  readonly channel: Channel;
  readonly releaseId: ReleaseId;
  readonly upstreamReleaseId: ReleaseId;
  /** Only for a localized release. */
  readonly baseReleaseId: ReleaseId | null;
  readonly revisionId: number;
  readonly content: ContentSummary;
  readonly serverInfo: ServerInfoDocument | null;
  readonly appVersion: string | null;
  /** Only for a release that is copied from an origin, which stays byte for byte as it was signed there. */
  readonly origin?: OriginOfDraft;
}

/** The facts about a copied release that the origin signed. */
export interface OriginOfDraft {
  /** The digest that the manifest must have. */
  readonly snapshotId: SnapshotId;
  /** When the origin registered it, Unix seconds: every edge tells clients the same date of its files. */
  readonly createdAt: number;
  /** The document that the manifest names. Only manifests of earlier versions do. */
  readonly manifestDocument: ServerInfoDocument | null;
}
