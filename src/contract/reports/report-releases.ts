import { z } from 'zod';
import { RELEASE_STATES } from '../schemas/vocabulary.ts';
import { Count, EXAMPLE, ReleaseIdSchema, SnapshotIdSchema, UnixSeconds } from '../schemas/answers/common.ts';
import { RELEASE_ROW_EXAMPLE, ReleaseRowSchema } from '../schemas/answers/release-row.ts';
import { report } from './report-envelope.ts';

const CurrentReleaseSchema = z.object({
  release_id: ReleaseIdSchema,
  snapshot_id: SnapshotIdSchema,
  state: z.enum(RELEASE_STATES),
  base_release_id: ReleaseIdSchema.optional(),
  integrity: z.enum(['ok', 'damaged', 'unverified']),
  verified_at: UnixSeconds.nullable(),
  damaged: z.array(z.string()).describe('The first damaged destinations.'),
  damaged_count: Count,
});

/** `release.status`. */
export const ReleaseStatusReport = report(
  'release.status',
  {
    official: CurrentReleaseSchema.nullable(),
    localized: CurrentReleaseSchema.nullable(),
    relation: z
      .enum(['in_sync', 'stale', 'no_official', 'no_localized', 'none'])
      .describe('`in_sync`: the localized release was made for the current official one.'),
    attestation: z
      .object({
        version: z.int().min(1),
        issued_at: UnixSeconds,
        expires_at: UnixSeconds,
        authorizes: z.object({
          official: ReleaseIdSchema.nullable(),
          localized: ReleaseIdSchema.nullable(),
          retained: z.array(ReleaseIdSchema),
        }),
      })
      .nullable(),
  },
  {
    official: {
      release_id: EXAMPLE.releaseId,
      snapshot_id: EXAMPLE.snapshotId,
      state: 'current',
      integrity: 'ok',
      verified_at: EXAMPLE.at - 3600,
      damaged: [],
      damaged_count: 0,
    },
    localized: null,
    relation: 'no_localized',
    attestation: {
      version: 1042,
      issued_at: EXAMPLE.at,
      expires_at: EXAMPLE.at + 600,
      authorizes: { official: EXAMPLE.releaseId, localized: null, retained: [] },
    },
  },
);

/** `release.list`. */
export const ReleaseListReport = report(
  'release.list',
  { total: Count, releases: z.array(ReleaseRowSchema).describe('Newest first.') },
  { total: 1, releases: [RELEASE_ROW_EXAMPLE] },
);
