/** The points of the write protocol where a test can stop the process, in the order in which they are reached. */
export const RELEASE_FAILPOINTS = [
  'release.entry.staged',
  'release.entry.committed',
  'release.objects.flushed',
  'release.manifest.written',
  'release.record.written',
  'release.database.verified',
  'release.attestation.signed',
  'release.attestation.published',
  'release.database.current',
] as const;

/** The points of an announcement and of its end, beside those of every attestation. */
export const ANNOUNCEMENT_FAILPOINTS = [
  'release.database.announced',
  'release.announcement.cancelled',
] as const;

/** One of {@link ANNOUNCEMENT_FAILPOINTS}. */
export type AnnouncementFailpoint = (typeof ANNOUNCEMENT_FAILPOINTS)[number];

/** One of {@link RELEASE_FAILPOINTS}. */
export type ReleaseFailpoint = (typeof RELEASE_FAILPOINTS)[number];
