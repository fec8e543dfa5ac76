import type { Channel } from '../../../domain/release/channel.ts';
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
}
