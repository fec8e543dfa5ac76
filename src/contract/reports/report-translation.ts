import { z } from 'zod';
import { PARSE_STATUSES, TRANSLATION_STATUSES, WORKER_STATUSES } from '../schemas/vocabulary.ts';
import { Count, Counts, ReleaseIdSchema, SnapshotIdSchema, UnixSeconds } from '../schemas/answers/common.ts';
import { PAGE, report } from './report-envelope.ts';

/** States of automatic publishing. */
export const AUTOMATION_STATES = ['off', 'stopped', 'waiting', 'due', 'followed'] as const;

/** How the requests to a provider went. */
const PROVIDER_STATES = ['untried', 'works', 'failing', 'out'] as const;

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
  chosen_units: Count.optional().describe(
    'Targets that the parameters `undo_...` and `term_...` choose; only with one of these.',
  ),
  updated_at: UnixSeconds,
});

/** Tells a person which unit a row of a list is. */
const UnitName = {
  destination: z.string().describe('The file of its task.'),
  source_text: z
    .string()
    .nullable()
    .describe('The first 200 characters of the text that its target was made for; null without a target.'),
  left_out: z
    .enum(['excluded_file', 'skipped_task'])
    .nullable()
    .optional()
    .describe(
      'Why no publication has the unit, so that it prevents none: `localized.include` and `localized.exclude` leave its file out, or its task is skipped.',
    ),
};

const BlockedUnit = z.object({
  task_id: z.string(),
  unit_id: z.string(),
  ...UnitName,
  codes: z.array(z.string()),
  qa_identity: z.string().nullable(),
});

/** A unit that a reviewer or a rollback has decided about. */
const DecidedUnit = z.object({
  task_id: z.string(),
  unit_id: z.string(),
  ...UnitName,
  reviewer: z.string().nullable(),
  reason: z.string().nullable(),
  since: UnixSeconds,
});

/** `translation.tasks`. */
export const TranslationTasksReport = report({
  ...PAGE,
  counts: Counts.describe('Tasks by status, for all matching tasks.'),
  items: z.array(TranslationTaskSchema),
});

/** `translation.handoff`. */
export const TranslationHandoffReport = report({
  releases: z
    .array(
      z.object({
        release_id: ReleaseIdSchema,
        counts: Counts.describe('Tasks by status.'),
        ready_total: z
          .object({ tasks: Count, units: Count })
          .describe('Work that can be sent to translators now.'),
        ready: z
          .array(
            z.object({
              task_id: z.string(),
              destination: z.string(),
              archive_entry: z.string().nullable(),
              units: Count.describe('Units without a target for their text.'),
              status: z.enum(TRANSLATION_STATUSES),
              reason: z.string().nullable(),
              failure_reason: z
                .string()
                .nullable()
                .describe('Why workers gave up a part of the task, or what someone said about it.'),
            }),
          )
          .describe('The first 100 tasks that no worker has leased.'),
        blocked_total: Count.describe('Units with blocking findings.'),
        blocked: z
          .array(BlockedUnit)
          .describe('At most 100 of them; those that prevent a publication are first.'),
        held_total: Count.describe(
          'Units on hold until someone reviews them: a rollback took them back, or a reviewer asked for it. At most 10,000 are counted.',
        ),
        held: z.array(DecidedUnit).describe('At most 100 of them.'),
        returned_total: Count.optional().describe(
          'Units that a reviewer has returned and nobody has changed since. At most 10,000 are counted.',
        ),
        returned: z.array(DecidedUnit).optional().describe('The newest 100 of them.'),
      }),
    )
    .describe('Newest first. Work is ready, blocked or held in the newest one only.'),
  open_conflicts: Count.nullable().describe(
    'Conflict groups of the Translation Memory; null while it cannot be used.',
  ),
  last_export: z
    .object({
      release_id: ReleaseIdSchema,
      file: z.string().describe('Below the exchange folder.'),
      sha256: z.string(),
      units: Count,
      created_at: UnixSeconds,
    })
    .nullable()
    .describe('The last file that the job `handoff-export` wrote.'),
});

/** `translation.status`. */
export const TranslationStatusReport = report({
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
  mirrored_from: z
    .string()
    .nullable()
    .optional()
    .describe(
      'Where the releases of the localized channel are copied from, without credentials; null when it is published here.',
    ),
  automation: z
    .object({
      state: z.enum(AUTOMATION_STATES),
      message: z.string(),
      since: UnixSeconds.nullable().describe('Since when it is stopped; null in other states.'),
    })
    .describe(
      'Whether the localized release follows the official one automatically; `due`: it is published next.',
    ),
  coverage: z
    .object({
      release_id: ReleaseIdSchema.nullable().describe('The current official release.'),
      target_language: z.string(),
      units: Count,
      accepted: Count.describe('Proofread units.'),
      translated: Count.describe('Translated and proofread units.'),
      blocked: Count,
      blocked_left_out: Count.optional().describe(
        'Those of `blocked` that prevent no publication: units of skipped tasks, and of files that it leaves out.',
      ),
      skipped: Count.describe('Units of skipped tasks of other files.'),
      excluded: Count.optional().describe(
        'Units of files that `localized.include` and `localized.exclude` leave out; nothing of them stands against a publication.',
      ),
      by_state: Counts.describe('All units by state.'),
      publishable: Count.nullable().describe(
        'Units that a publication would localize; null while 10,000 units or more are on hold.',
      ),
    })
    .describe('Of the current official release; all 0 until its translation tasks are built.'),
  machine_translation: z
    .object({
      source_language: z.string(),
      target_language: z.string(),
      providers: z.array(
        z.object({
          name: z.string(),
          kind: z.string(),
          model: z.string().nullable(),
          is_default: z.boolean().describe('Whether runs that name no provider use it.'),
          can_review: z.boolean().describe('Whether it can evaluate translations.'),
          fallback: z.string().nullable().describe('The provider that translates while this one is out.'),
          state: z
            .enum(PROVIDER_STATES)
            .describe(
              '`untried`: no request since the start of the daemon or a change of the providers; `failing`: the last request failed; `out`: so many failed that no more are sent.',
            ),
          last_answer_at: UnixSeconds.nullable(),
          last_failure: z
            .object({ code: z.string(), message: z.string(), at: UnixSeconds })
            .nullable()
            .describe('Also when requests were answered since.'),
          next_request_at: UnixSeconds.nullable().describe('When the next request may be sent; null: now.'),
        }),
      ),
    })
    .describe('The configured providers, and how their requests went.'),
  history: z
    .array(
      z.object({
        localized_release_id: ReleaseIdSchema,
        base_release_id: ReleaseIdSchema.nullable(),
        state: z.string(),
        at: UnixSeconds.describe('When it last became current.'),
        rolled_back: z
          .object({ at: UnixSeconds, reviewer: z.string().nullable(), reason: z.string().nullable() })
          .nullable()
          .describe('The rollback that took it back; null when it was not, or is current again.'),
      }),
    )
    .describe('The latest ones, that which became current last first.'),
  publish_blockers: z
    .array(
      z.object({
        code: z.string(),
        message: z.string(),
        count: Count,
        unit_state: z
          .string()
          .optional()
          .describe('With this `unit_state`, `translation.tasks` has the tasks of its units.'),
      }),
    )
    .describe(
      'By code: `release_rolled_back` (a rollback has withdrawn the channel; a publication with `resume=true` resumes it), `channel_mirrored` (the channel is copied from an origin; it is the only code then), `no_official_release`, `tasks_not_built`, `coverage_incomplete` (no unit can be published, or a smaller part than `localized.minCoverage` demands; `force` waives it; it counts the units that can be published), `qa_blocked`, `on_hold` (at most 10,000 are counted), `stale`, `untranslated`, `below_min_state` (below `localized.minState`). A publication leaves out the units of the last four; the other codes block it. Each unit counts for one code of units. Units of skipped tasks block nothing.',
    ),
});

/** The operator parses only this part of `translation.status`. */
export const TranslationStatusRead = TranslationStatusReport.schema.pick({ publish_blockers: true }).extend({
  automation: z.object({ state: z.string(), message: z.string() }),
  coverage: TranslationStatusReport.schema.shape.coverage
    .omit({ by_state: true })
    .extend({ publishable: z.int().min(0).nullable() }),
  history: z.array(z.object({ localized_release_id: z.string(), rolled_back: z.looseObject({}).nullable() })),
  current: TranslationStatusReport.schema.shape.current
    .unwrap()
    .pick({ localized_release_id: true, base_release_id: true, stale: true })
    .nullable(),
});
