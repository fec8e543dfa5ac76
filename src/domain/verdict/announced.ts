import type { Channel } from '../release/channel.ts';
import type { AttestationStatement, AttestedRelease, RetainedRelease } from './attestation.ts';

/** A release whose bytes are served, and that becomes current at a stated time. */
export type AnnouncedRelease = RetainedRelease & { readonly current_at: number };

/** The release that a statement announces for a channel, or `null`. */
export function announcedRelease(statement: AttestationStatement, channel: Channel): AnnouncedRelease | null {
  return (
    (statement.retained.find(
      (each) => each.channel === channel && isAnnounced(each),
    ) as AnnouncedRelease | null) ?? null
  );
}

/** Whether a release that is not current becomes current at a stated time, instead of having been current before. */
export function isAnnounced(release: RetainedRelease): release is AnnouncedRelease {
  return release.current_at !== undefined;
}

/**
 * Whether an announced release has become current. A statement that has expired at the stated time makes nothing current:
 * it may have been taken back since.
 */
export function hasSwitched(
  { expires_at: expiresAt }: AttestationStatement,
  { current_at: currentAt }: AnnouncedRelease,
  nowSeconds: number,
): boolean {
  return currentAt <= nowSeconds && currentAt < expiresAt;
}

/** The release that a statement makes the current one of a channel at an instant, or `null`. */
export function releaseAt(
  statement: AttestationStatement,
  channel: Channel,
  nowSeconds: number,
): AttestedRelease | null {
  const announced = announcedRelease(statement, channel);
  return announced !== null && hasSwitched(statement, announced, nowSeconds) ? announced : statement[channel];
}
