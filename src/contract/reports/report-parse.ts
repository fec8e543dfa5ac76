import { z } from 'zod';
import { int64 } from '../schemas/int64.ts';
import { CARRY_TIERS, PARSE_STATUSES } from '../schemas/vocabulary.ts';
import {
  Blake3Schema,
  Count,
  Counts,
  EXAMPLE,
  ReleaseIdSchema,
  UnixSeconds,
} from '../schemas/answers/common.ts';
import { PAGE, PAGE_EXAMPLE, report } from './report-envelope.ts';
import {
  TranslationsStateSchema,
  UNIT_TRANSLATION_EXAMPLE,
  UnitHistorySchema,
  UnitTranslationSchema,
} from './unit-translation.ts';

const LOCATION = {
  release_id: ReleaseIdSchema,
  destination: z.string(),
  archive_entry: z.string().nullable(),
  path_id: int64().nullable().describe('Unity object id; exceeds 2^53.'),
  class_id: z.int().nullable().describe('Unity class id.'),
  field_path: z.string().nullable(),
  format: z.string(),
} as const;

const LOCATION_EXAMPLE = {
  release_id: EXAMPLE.releaseId,
  destination: EXAMPLE.destination,
  archive_entry: 'ScenarioScript.json',
  path_id: null,
  class_id: null,
  field_path: '/rows/0/TextJp',
  format: 'json',
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

const BOUNDED_PAGE_EXAMPLE = { ...PAGE_EXAMPLE, next_offset: null } as const;

const INDEX_EXAMPLE = { release_id: EXAMPLE.releaseId, generation: EXAMPLE.at } as const;

/** `parse.status`. */
export const ParseStatusReport = report(
  'parse.status',
  {
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
  },
  {
    ...INDEX_EXAMPLE,
    indexed_at: EXAMPLE.at,
    containers: 12,
    by_parse_status: { parsed: 11, unsupported: 1 },
    by_format: { json: 11 },
    units: 40_213,
    errors: 1,
    warnings: 0,
    errors_by_code: { zip_encrypted: 1 },
    seconds: 3.2,
    bytes: 48_120_332,
    carry_over: {
      previous_release_id: '1.65.401992',
      same: 39_800,
      moved: 120,
      unique: 9,
      changed: 84,
      new: 200,
      removed: 31,
    },
    skipped: { no_source_script: 1021 },
    replaced: null,
    last_run: {
      task_id: EXAMPLE.taskId,
      status: 'succeeded',
      started_at: EXAMPLE.at,
      finished_at: EXAMPLE.at + 40,
    },
    parser_version: '1',
    rules_digest: EXAMPLE.blake3,
  },
);

/** `parse.text_units`. */
export const TextUnitsReport = report(
  'parse.text_units',
  {
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
        translation: UnitTranslationSchema.nullable().describe('Null while translations are not available.'),
      }),
    ),
  },
  {
    ...INDEX_EXAMPLE,
    ...BOUNDED_PAGE_EXAMPLE,
    translations: {
      available: true,
      reason: null,
      source_language: 'ja',
      target_language: 'zh-Hans',
      tasks_built: true,
    },
    history: null,
    items: [
      {
        unit_id: 'tu1_mzxw6ytboi2dgnbvgy3tqojqga',
        ...LOCATION_EXAMPLE,
        key_path: ['bundles/scenario_*.bundle', '49:ScenarioScript', 'm_Script#/rows/Id=1001/TextJp'],
        source_text: 'おはよう、{name}先生',
        is_cut: false,
        source_digest: EXAMPLE.blake3,
        ordinal: 0,
        placeholders: ['{name}'],
        translatable: true,
        reason: null,
        speaker: 'アロナ',
        scene: null,
        previous_unit_id: null,
        next_unit_id: 'tu1_nbswy3dpeb3w64tmmqqhgzlyha',
        carried_by: { tier: 'same', unit_id: 'tu1_mzxw6ytboi2dgnbvgy3tqojqga' },
        translation: UNIT_TRANSLATION_EXAMPLE,
      },
    ],
  },
);

/** `parse.errors`. */
export const ParseErrorsReport = report(
  'parse.errors',
  {
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
  },
  {
    ...INDEX_EXAMPLE,
    ...BOUNDED_PAGE_EXAMPLE,
    items: [
      {
        ...LOCATION_EXAMPLE,
        field_path: null,
        code: 'zip_encrypted',
        message: 'the archive entry is encrypted',
        severity: 'error',
        parse_status: 'partial',
        first_seen: EXAMPLE.at,
      },
    ],
  },
);
