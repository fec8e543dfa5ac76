import { z } from 'zod';
import { RELEASE_STATES } from '../schemas/vocabulary.ts';
import {
  Blake3Schema,
  ChannelSchema,
  Count,
  EXAMPLE,
  ReleaseIdSchema,
  SnapshotIdSchema,
  UnixSeconds,
} from '../schemas/answers/common.ts';
import { report } from './report-envelope.ts';

/** One release of the history. */
export const ReleaseRowSchema = z
  .object({
    release_id: ReleaseIdSchema,
    channel: ChannelSchema,
    state: z.enum(RELEASE_STATES),
    created_at: UnixSeconds,
    published_at: UnixSeconds.nullable().describe('When it last became current; Unix seconds.'),
    base_release_id: ReleaseIdSchema.describe('Only for localized releases.').optional(),
    manifest: z
      .object({ blake3: Blake3Schema, entry_count: Count, total_bytes: Count })
      .nullable()
      .describe('Null while the release is being built.'),
    artifact_integrity: z
      .object({
        checked_at: UnixSeconds.nullable(),
        ok: z.boolean(),
        damaged: Count.describe('Entries that are known to be missing or damaged.'),
        damaged_examples: z.array(z.string()).describe('Destinations of the first of them.').optional(),
      })
      .describe('The last full verification of the bytes.'),
  })
  .describe('One release, past or present.');

/** A row of the history, for examples. */
export const RELEASE_ROW_EXAMPLE: z.input<typeof ReleaseRowSchema> = {
  release_id: EXAMPLE.releaseId,
  channel: 'official',
  state: 'current',
  created_at: EXAMPLE.at - 86_400,
  published_at: EXAMPLE.at - 86_000,
  manifest: {
    blake3: EXAMPLE.snapshotId.slice('blake3:'.length),
    entry_count: 8123,
    total_bytes: 6_442_450_944,
  },
  artifact_integrity: { checked_at: EXAMPLE.at - 3600, ok: true, damaged: 0 },
};

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
