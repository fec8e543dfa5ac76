import type { ResourcesPage } from '../../../contract/schemas/answers/distribution.ts';
import type { ServedRelease } from '../../serving/serving.ts';

/**
 * Cuts a page of a manifest, in destination byte order. The cost grows with `limit`, not with `offset`.
 *
 * @param range `offset` past the end gives an empty page
 */
export function cutPage(
  { releaseId, channel, snapshotId, index }: ServedRelease,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): ResourcesPage {
  const end = Math.min(index.length, offset + limit);
  return {
    release_id: releaseId,
    channel,
    snapshot_id: snapshotId,
    total: index.length,
    offset,
    limit,
    next_offset: end < index.length ? end : null,
    items: [...index.entries(offset, limit)],
  };
}
