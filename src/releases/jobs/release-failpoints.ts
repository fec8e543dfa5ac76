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

const ANNOUNCEMENT_FAILPOINTS = ['release.database.announced', 'release.announcement.cancelled'] as const;

export type AnnouncementFailpoint = (typeof ANNOUNCEMENT_FAILPOINTS)[number];

export type ReleaseFailpoint = (typeof RELEASE_FAILPOINTS)[number];
