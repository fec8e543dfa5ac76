import { REVIEW_STATUSES } from '../../domain/glossary/term.ts';
import { z } from 'zod';
import { UNIT_STATES } from '../../domain/translation/unit-state.ts';
import { CHANNELS } from '../../domain/release/channel.ts';
import {
  choice,
  choices,
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

const unitFilters = {
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
};

/** `/admin/parse/errors`. */
export const ParseErrorsQuery = z.strictObject(unitFilters);

const textUnits = z.strictObject({
  ...unitFilters,
  text: text(
    'Searches for units whose source or translation contains this text; case does not matter. A search answers within a bounded time, so a page may be empty: the search continues at `next_offset` until that is null. `offset` and `next_offset` are positions among all units of the release, which `total` counts.',
  ).optional(),
  text_in: choice(['source', 'target'], 'Looks for `text` in sources or in translations only.').optional(),
  unit_id: text('A search: exactly this unit.', 64).optional(),
  speaker: text('A search: units of exactly this speaker.').optional(),
  unit_state: choices(
    UNIT_STATES,
    'A search: units in one of these states, which commas separate.',
  ).optional(),
  author: text(
    'A search: units whose translation comes from this token, by its id, from this provider, or from an author of this kind, such as `machine`.',
    256,
  ).optional(),
  same: choice(
    ['source', 'target'],
    'A search: `source`: units with one source and several translations; `target`: units with several sources and one translation. Those that belong together follow each other. Only `path_pattern` and `destination` narrow it, other filters are refused, and `offset` is the `next_offset` of the page before. A text in more than 20,000 places is compared in the first of them.',
  ).optional(),
});

const WITH_SAME: ReadonlySet<string> = new Set(['same', 'offset', 'limit', 'path_pattern', 'destination']);

/** `/admin/parse/text-units`. */
export const TextUnitsQuery = textUnits.superRefine((query, context) => {
  if (query.same === undefined) return;
  for (const name of Object.keys(query).filter((each) => !WITH_SAME.has(each))) {
    const message = 'cannot narrow a search with "same"; leave one of them out';
    context.addIssue({ code: 'custom', path: [name], message });
  }
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
  unit_state: choices(
    UNIT_STATES,
    'Tasks with units in one of these states, which commas separate.',
  ).optional(),
  worker_status: text('Tasks whose worker is in this state.', 64).optional(),
  parse_status: text('Tasks whose container was parsed with this outcome.', 64).optional(),
  format: text('Tasks of this format.', 128).optional(),
  has_reason: flag('Only tasks with, or without, a reason.').optional(),
  has_failure_reason: flag('Only tasks with, or without, a failure reason.').optional(),
  term_source: text(
    'Tasks with targets whose source has one of these texts, which line breaks separate. Small and capital letters are alike.',
    PARAMETER_MAX_LENGTH,
  ).optional(),
  term_target: text(
    'With `term_source`: of these only targets that have none of these texts.',
    PARAMETER_MAX_LENGTH,
  ).optional(),
  term_kept: flag('With `term_target`: targets that have one of its texts instead.').optional(),
  undo_run: text('Tasks with targets of this run of a provider or an import.', 256).optional(),
  undo_author: text('Tasks with targets that this token has sent.', 128).optional(),
  undo_since: integer(
    { min: 0, max: 1e12 },
    'Tasks with targets that were stored since, Unix seconds.',
  ).optional(),
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
