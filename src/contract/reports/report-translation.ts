import { z } from 'zod';
import { PARSE_STATUSES, TRANSLATION_STATUSES, WORKER_STATUSES } from '../schemas/vocabulary.ts';
import {
  Count,
  Counts,
  EXAMPLE,
  ReleaseIdSchema,
  SnapshotIdSchema,
  UnixSeconds,
} from '../schemas/answers/common.ts';
import { PAGE, PAGE_EXAMPLE, report } from './report-envelope.ts';

/** One parsed container of one release, to be translated. */
export const TranslationTaskSchema = z.object({
  task_id: z.string(),
  release_id: ReleaseIdSchema,
  destination: z.string(),
  archive_entry: z.string().nullable(),
  format: z.string(),
  status: z.enum(TRANSLATION_STATUSES),
  worker_status: z.enum(WORKER_STATUSES),
  parse_status: z.enum(PARSE_STATUSES),
  reason: z.string().nullable(),
  failure_reason: z.string().nullable(),
  attempt: Count,
  max_attempts: z.int().min(1),
  lease_owner: z.string().nullable(),
  lease_expires_at: UnixSeconds.nullable(),
  next_attempt_at: UnixSeconds.nullable(),
  provider: z.string().nullable(),
  provider_run_id: z.string().nullable(),
  unit_counts: Counts.describe('Units by state.'),
  updated_at: UnixSeconds,
});

const BlockedUnit = z.object({
  task_id: z.string(),
  unit_id: z.string(),
  codes: z.array(z.string()),
  qa_identity: z.string().nullable(),
});

/** `translation.tasks`. */
export const TranslationTasksReport = report(
  'translation.tasks',
  {
    ...PAGE,
    counts: Counts.describe('Tasks by status, for all matching tasks.'),
    items: z.array(TranslationTaskSchema),
  },
  {
    ...PAGE_EXAMPLE,
    counts: { translated: 1 },
    items: [
      {
        task_id: 'tt_01KAJ2X6V5Q0E8T9R3W7Y1Z4BC',
        release_id: EXAMPLE.releaseId,
        destination: EXAMPLE.destination,
        archive_entry: 'ScenarioScript.json',
        format: 'json',
        status: 'translated',
        worker_status: 'succeeded',
        parse_status: 'parsed',
        reason: null,
        failure_reason: null,
        attempt: 1,
        max_attempts: 3,
        lease_owner: null,
        lease_expires_at: null,
        next_attempt_at: null,
        provider: 'fixture',
        provider_run_id: 'fixture:6437b3ac',
        unit_counts: { translated: 20 },
        updated_at: EXAMPLE.at,
      },
    ],
  },
);

/** `translation.handoff`. */
export const TranslationHandoffReport = report(
  'translation.handoff',
  {
    releases: z.array(
      z.object({
        release_id: ReleaseIdSchema,
        counts: Counts.describe('Tasks by status.'),
        ready: z
          .array(z.object({ task_id: z.string(), destination: z.string(), units: Count }))
          .describe('Work that can be sent to translators now.'),
        blocked: z.array(BlockedUnit),
      }),
    ),
    open_conflicts: Count.describe('Conflict groups of the Translation Memory.'),
    last_export: z
      .object({ file: z.string(), sha256: z.string(), units: Count, created_at: UnixSeconds })
      .nullable(),
  },
  {
    releases: [
      {
        release_id: EXAMPLE.releaseId,
        counts: { pending: 3, blocked: 1 },
        ready: [{ task_id: 'tt_01KAJ2X6V5Q0E8T9R3W7Y1Z4BC', destination: EXAMPLE.destination, units: 20 }],
        blocked: [
          {
            task_id: 'tt_01KAJ2X6V5Q0E8T9R3W7Y1Z4BD',
            unit_id: 'tu1_mzxw6ytboi2dgnbvgy3tqojq',
            codes: ['term_missing'],
            qa_identity: 'gqa1_mzxw6ytboi2dgnbvgy3tqojq',
          },
        ],
      },
    ],
    open_conflicts: 0,
    last_export: null,
  },
);

/** `translation.status`. */
export const TranslationStatusReport = report(
  'translation.status',
  {
    current: z
      .object({
        localized_release_id: ReleaseIdSchema,
        base_release_id: ReleaseIdSchema,
        snapshot_id: SnapshotIdSchema,
        state: z.string(),
        integrity: z.enum(['ok', 'damaged', 'unverified']),
        published_at: UnixSeconds.nullable(),
        stale: z.boolean().describe('Whether the official release has changed since.'),
      })
      .nullable(),
    coverage: z
      .object({ units: Count, accepted: Count, translated: Count, blocked: Count })
      .describe('Of the current official release.'),
    history: z
      .array(z.object({ localized_release_id: ReleaseIdSchema, state: z.string(), at: UnixSeconds }))
      .describe('The latest ones, newest first.'),
    publish_blockers: z.array(z.object({ code: z.string(), message: z.string(), count: Count })),
  },
  {
    current: {
      localized_release_id: EXAMPLE.localizedReleaseId,
      base_release_id: EXAMPLE.releaseId,
      snapshot_id: EXAMPLE.snapshotId,
      state: 'current',
      integrity: 'ok',
      published_at: EXAMPLE.at,
      stale: false,
    },
    coverage: { units: 40_213, accepted: 40_000, translated: 40_100, blocked: 3 },
    history: [{ localized_release_id: EXAMPLE.localizedReleaseId, state: 'current', at: EXAMPLE.at }],
    publish_blockers: [{ code: 'qa_blocked', message: '3 units are blocked by the Glossary', count: 3 }],
  },
);
