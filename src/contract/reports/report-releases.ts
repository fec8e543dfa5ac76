import { z } from 'zod';
import { ENDED_TASK_STATUSES, RELEASE_STATES } from '../schemas/vocabulary.ts';
import {
  ChannelSchema,
  Count,
  ReleaseIdSchema,
  SnapshotIdSchema,
  UnixSeconds,
} from '../schemas/answers/common.ts';
import { ReleaseRowSchema } from '../schemas/answers/release-row.ts';
import { report } from './report-envelope.ts';

const CurrentReleaseSchema = z.object({
  release_id: ReleaseIdSchema,
  snapshot_id: SnapshotIdSchema,
  state: z.enum(RELEASE_STATES),
  base_release_id: ReleaseIdSchema.optional(),
  integrity: z.enum(['ok', 'damaged', 'unverified']),
  verified_at: UnixSeconds.nullable().describe(
    'Each file was checked against its digest at this time or later. It can be before the publication. Null while the release is not checked in full.',
  ),
  damaged: z.array(z.string()).describe('The first damaged destinations.'),
  damaged_count: Count,
});

const SyncSchema = z
  .object({
    last: z
      .object({
        task_id: z.string(),
        status: z.enum(ENDED_TASK_STATUSES),
        result: z
          .enum(['changed', 'unchanged'])
          .nullable()
          .describe('Whether the sync changed the current release. Null unless it succeeded.'),
        code: z.string().nullable().describe('The failure code. Null unless it failed.'),
        message: z.string().nullable().describe('Why it failed or was cancelled. Null unless it did.'),
        finished_at: UnixSeconds,
      })
      .nullable()
      .describe('The sync that ended last. Null before the first one ended.'),
    next_at: UnixSeconds.nullable().describe(
      'When the next planned sync starts: a queued one, a retry or a scheduled run. Null when none is planned.',
    ),
    consecutive_failures: Count.describe('Failed syncs since the last success.'),
  })
  .describe('How fetching from upstream goes.');

const AnnouncedSchema = z.object({
  release_id: ReleaseIdSchema,
  current_at: UnixSeconds.describe('When it becomes the current release.'),
});

const OriginSchema = z.object({
  not_followed: z
    .object({
      since: UnixSeconds.describe('When the first of the polls began that failed in a row.'),
      code: z.string().nullable().describe('The failure code of the last poll. Null for one without.'),
      message: z.string(),
      served_until: UnixSeconds.nullable().describe(
        'Until when the current official release is served without the origin. Null without a release.',
      ),
    })
    .nullable()
    .describe(
      'Why the origin cannot be followed, from the second failed poll on, or the first without an answer in time. Null while it can.',
    ),
  went_back: z
    .object({
      channel: ChannelSchema,
      release_id: ReleaseIdSchema.describe('The current release.'),
      from_release_id: ReleaseIdSchema.describe('The newer release that was current before it.'),
      at: UnixSeconds,
    })
    .nullable()
    .describe(
      'The origin went back to an earlier release: by a rollback, or because it was restored from an old copy. Null while the current releases are newer than those before them.',
    ),
});

/** `release.status`. */
export const ReleaseStatusReport = report({
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
      key_ids: z.array(z.string()).describe('The keys that signed it.'),
      authorizes: z.object({
        official: ReleaseIdSchema.nullable(),
        localized: ReleaseIdSchema.nullable(),
        retained: z.array(ReleaseIdSchema),
      }),
    })
    .nullable(),
  announced: AnnouncedSchema.nullable().describe(
    'The official release that becomes current at a stated time. Null without one.',
  ),
  announced_localized: AnnouncedSchema.nullable().describe(
    'The localized release that becomes current at a stated time. Null without one.',
  ),
  sync: SyncSchema,
  upstream: z
    .object({
      kind: z.string().describe('The kind of the upstream, as in the configuration.'),
      label: z.string().describe('Where it reads from, without credentials.'),
    })
    .nullable()
    .describe('The upstream that official releases come from now. Null without one.'),
  origin: OriginSchema.optional().describe('How an edge follows its origin. Absent where nothing is copied.'),
  crash_loop: z
    .string()
    .nullable()
    .describe('The message of the doctor check `process` while the daemon is in a crash loop, else null.'),
});

/** `release.list`. */
export const ReleaseListReport = report({
  total: Count,
  releases: z.array(ReleaseRowSchema).describe('Newest first.'),
});
