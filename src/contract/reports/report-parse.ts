import { z } from 'zod';
import { int64 } from '../schemas/int64.ts';
import { CARRY_TIERS, PARSE_STATUSES } from '../schemas/vocabulary.ts';
import { Blake3Schema, Count, Counts, ReleaseIdSchema, UnixSeconds } from '../schemas/answers/common.ts';
import { PAGE, report } from './report-envelope.ts';
import { TranslationsStateSchema, UnitHistorySchema, UnitTranslationSchema } from './unit-translation.ts';

const LOCATION = {
  release_id: ReleaseIdSchema,
  destination: z.string(),
  archive_entry: z.string().nullable(),
  path_id: int64().nullable().describe('Unity object id; exceeds 2^53.'),
  class_id: z.int().nullable().describe('Unity class id.'),
  field_path: z.string().nullable(),
  format: z.string(),
} as const;

/** The release that a list shows. An export begins again when one of these changes between two pages. */
const INDEX = {
  release_id: ReleaseIdSchema.nullable().describe(
    'The release that was indexed last; null before the first.',
  ),
  generation: Count.describe('Grows when reports change to another release, or to new rules.'),
} as const;

/** A page that can end early: its texts are also bounded in bytes. */
const BOUNDED_PAGE = {
  ...PAGE,
  next_offset: Count.nullable().describe(
    'Where the next page begins; null on the last one. A page with long texts has fewer items than `limit`.',
  ),
} as const;

/** `parse.status`. */
export const ParseStatusReport = report({
  ...INDEX,
  indexed_at: UnixSeconds.nullable(),
  containers: Count,
  by_parse_status: Counts,
  by_format: Counts,
  units: Count,
  errors: Count.describe('Errors; warnings are not among them.'),
  warnings: Count,
  errors_by_code: Counts.describe('Errors and warnings, by code.'),
  seconds: z.number().min(0).describe('Time that parsing the containers took, in sum.'),
  bytes: Count.describe('Size of the containers.'),
  carry_over: z
    .object({
      previous_release_id: ReleaseIdSchema,
      same: Count.describe('Units with an equal id and text.'),
      moved: Count.describe('Units whose text and both neighbours are equal.'),
      unique: Count.describe('Units whose text occurs once in the container on both sides.'),
      changed: Count.describe('Units with an equal id and another text.'),
      new: Count.describe('Units that follow no unit of the previous release.'),
      removed: Count.describe('Units of the previous release that no unit follows.'),
    })
    .nullable()
    .describe('How the units follow those of the previous release; null for the first one.'),
  skipped: Counts.describe('Strings that are not text units, by reason.'),
  replaced: z
    .object({ at: UnixSeconds, reason: z.string() })
    .nullable()
    .describe(
      'When and why another index took the place of this one since the start; null when it did not happen.',
    ),
  last_run: z
    .object({
      task_id: z.string(),
      status: z.string(),
      started_at: UnixSeconds,
      finished_at: UnixSeconds.nullable(),
    })
    .nullable(),
  parser_version: z.string().nullable().describe('The parser that the index was made with.'),
  rules_digest: Blake3Schema.nullable().describe('Digest of the rules that the index was made with.'),
});

/** `parse.text_units`. */
export const TextUnitsReport = report({
  ...INDEX,
  ...BOUNDED_PAGE,
  translations: TranslationsStateSchema,
  history: UnitHistorySchema.nullable().describe(
    'Only where `destination` and `field_path`, with the other parameters, select exactly one unit.',
  ),
  items: z.array(
    z.object({
      unit_id: z.string().describe('Identifies the position of the text across releases.'),
      ...LOCATION,
      key_path: z
        .array(z.string())
        .describe(
          'The stable path of the text within its container: entry, object and field, empty where the container has none. A file inside of a field continues it.',
        ),
      source_text: z.string(),
      is_cut: z
        .boolean()
        .describe('Whether `source_text` is only the beginning of a text of more than 262,144 characters.'),
      source_digest: z.string(),
      ordinal: Count,
      placeholders: z.array(z.string()),
      translatable: z.boolean(),
      reason: z.string().nullable().describe('Why it is not translatable.'),
      speaker: z.string().nullable(),
      scene: z.string().nullable(),
      previous_unit_id: z.string().nullable().describe('The unit before it in the same object or text.'),
      next_unit_id: z.string().nullable().describe('The unit after it in the same object or text.'),
      carried_by: z
        .object({ tier: z.enum(CARRY_TIERS), unit_id: z.string().describe('In the previous release.') })
        .nullable()
        .describe('The unit of the previous release that it follows; null when it is new.'),
      box: z
        .object({
          columns: z.int().min(1).nullable(),
          lines: z.int().min(1).nullable(),
          font_width: z.number().describe('Columns of a narrow character.'),
        })
        .nullable()
        .describe(
          'The box of the game that shows it: of `localized.boxes`, otherwise the limits of its rule.',
        ),
      is_group_cut: z
        .boolean()
        .optional()
        .describe('In a search with `same`: the answer leaves out other units of this group.'),
      translation: UnitTranslationSchema.nullable().describe('Null while translations are not available.'),
    }),
  ),
});

/** `parse.errors`. */
export const ParseErrorsReport = report({
  ...INDEX,
  ...BOUNDED_PAGE,
  items: z.array(
    z.object({
      ...LOCATION,
      code: z.string(),
      message: z.string(),
      severity: z.enum(['warning', 'error']),
      parse_status: z.enum(PARSE_STATUSES).describe('The outcome for the container.'),
      first_seen: UnixSeconds.describe(
        'When it was first found at this place; it stays while every later release has it.',
      ),
    }),
  ),
});
