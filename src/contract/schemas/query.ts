import { REVIEW_STATUSES } from '../../domain/glossary/term.ts';
import { z } from 'zod';
import { CHANNELS } from '../../domain/release/channel.ts';
import {
  choice,
  flag,
  ignoredText,
  integer,
  PARAMETER_MAX_LENGTH,
  stringMap,
  text,
  wideInteger,
} from './parameters.ts';
import { SCHEDULE_GROUPS } from './vocabulary.ts';

const DEFAULT_LIMIT = 100;

const offset = integer(
  { min: 0, max: Number.MAX_SAFE_INTEGER },
  'Entries to skip; past the end gives an empty page.',
).default(0);
const limit = integer({ min: 1, max: 1000 }, 'Maximum number of entries in the answer.').default(
  DEFAULT_LIMIT,
);
const wideLimit = integer(
  { min: 1, max: 1000, wide: true },
  'Maximum number of entries in the answer.',
).default(DEFAULT_LIMIT);
const channel = choice(CHANNELS, 'The release channel.');
const sourceText = text('The source text, exactly. Empty counts as missing.', PARAMETER_MAX_LENGTH);
const memoryPath = text('Translation Memory file, relative to its configured root.').optional();
const glossaryPath = text('Glossary file, relative to its configured root.').optional();
const taskId = text('The task. Empty counts as missing.', 128);

/** No parameters; unknown ones are refused. */
export const NoQuery = z.strictObject({});

/** No parameters; unknown ones are ignored. */
export const AnyQuery = z.object({});

/** `/v1/resources`. */
export const PageQuery = z.object({ offset, limit });

/** `/v1/releases`. */
export const PublicReleasesQuery = z.object({ channel: channel.optional() });

/** `/v1/distribution`. */
export const DistributionQuery = z.object({
  channel: channel.default('official'),
  release_id: text('The release; default the current one of the channel.', 128).optional(),
  destination: text(
    'Only this entry; the server reads its bytes and verifies its BLAKE3 digest for the answer.',
    1024,
  ).optional(),
  since: z
    .string()
    .max(71)
    .regex(/^blake3:[0-9a-f]{64}$/, 'must be a snapshot id: "blake3:" and 64 lower-case hexadecimal digits')
    .meta({
      description:
        'The id of a snapshot: only what differs from it, if the server still has it, the difference is small and few others are being computed; otherwise all entries. Ignored with `destination`.',
    })
    .optional(),
  offset,
  limit,
});

/** `/readyz`. */
export const ReadinessQuery = z.object({
  verbose: z
    .string()
    .transform((value) => value !== 'false')
    .pipe(z.boolean())
    .meta({ description: 'Lists every check of the verdict; without a value it counts as true.' })
    .default(false),
});

/** `/api/launcher/game/config/json`; launchers send what upstream told them, the answer does not depend on it. */
export const LauncherConfigJsonQuery = z.object({
  version: ignoredText('The game version the launcher knows.'),
  file_path: ignoredText('The package path the launcher knows.'),
});

/** `/admin/logs`. */
export const LogsQuery = z.strictObject({
  tail: integer({ min: 1, max: 2000 }, 'Maximum number of lines; the newest are returned.').default(200),
});

/** `/admin/tasks/status` and `/admin/tasks/logs`. */
export const TaskQuery = z.strictObject({ task_id: taskId });

/** `/admin/parse/text-units` and `/admin/parse/errors`. */
export const TextUnitsQuery = z.strictObject({
  offset,
  limit,
  destination: text('Exactly this entry.').optional(),
  path_pattern: text('Glob over the destination: `*`, `**`, `?`.').optional(),
  archive_entry: text('Exactly this entry of an archive.').optional(),
  path_id: wideInteger('Exactly this Unity object id.').optional(),
  class_id: integer(
    { min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER },
    'Exactly this Unity class id.',
  ).optional(),
  field_path: text('Exactly this field.', 4096).optional(),
  format: text('Exactly this format.', 128).optional(),
});

/** `/admin/schedules`. */
export const SchedulesQuery = z.strictObject({
  id: text('Exactly this schedule.', 128).optional(),
  group: choice(SCHEDULE_GROUPS, 'Schedules of this group.').optional(),
  enabled: flag('Only enabled, or only disabled schedules.').optional(),
});

/** `/admin/translation/tasks`. */
export const TranslationTasksQuery = z.strictObject({
  offset,
  limit,
  task_id: text('Exactly this translation task.', 128).optional(),
  release_id: text('Tasks of this release.', 128).optional(),
  destination: text(
    'Tasks of this entry; with `*` (any characters) or `?` (one), of all that fit.',
  ).optional(),
  archive_entry: text('Tasks of this entry of an archive.').optional(),
  status: text('Tasks in this state.', 64).optional(),
  unit_state: text('Tasks with units in one of these states, which commas separate.', 128).optional(),
  worker_status: text('Tasks whose worker is in this state.', 64).optional(),
  parse_status: text('Tasks whose container was parsed with this outcome.', 64).optional(),
  format: text('Tasks of this format.', 128).optional(),
  has_reason: flag('Only tasks with, or without, a reason.').optional(),
  has_failure_reason: flag('Only tasks with, or without, a failure reason.').optional(),
});

/** `/admin/translation/memory/summary`. */
export const MemorySummaryQuery = z.strictObject({ translation_memory_path: memoryPath });

/** `/admin/translation/memory/query`. */
export const MemoryQuery = z.strictObject({
  source_text: sourceText,
  source_context: stringMap('A JSON object whose values are strings: where the text occurs.').optional(),
  limit: wideLimit,
  translation_memory_path: memoryPath,
});

/** `/admin/translation/memory/conflicts`. */
export const MemoryConflictsQuery = z.strictObject({
  limit: wideLimit,
  translation_memory_path: memoryPath,
});

/** `/admin/translation/glossary/summary`. */
export const GlossarySummaryQuery = z.strictObject({ glossary_path: glossaryPath });

/** `/admin/translation/glossary/query`. */
export const GlossaryQuery = z.strictObject({
  source_text: text('Part of a source term or alias.', PARAMETER_MAX_LENGTH).optional(),
  category: text('Terms of this category.', 256).optional(),
  review_status: choice(REVIEW_STATUSES, 'Terms in this state.').optional(),
  limit: wideLimit,
  glossary_path: glossaryPath,
});

/** `/admin/translation/glossary/diagnose`. */
export const GlossaryDiagnoseQuery = z.strictObject({
  source_text: sourceText,
  context: stringMap(
    'A JSON object whose values are strings: scope keys, and `translated_text` to check a target too.',
  ).optional(),
  glossary_path: glossaryPath,
});

/** `/admin/releases`. */
export const AdminReleasesQuery = z.strictObject({ channel: channel.optional() });

export type QuerySchema = z.ZodObject;
