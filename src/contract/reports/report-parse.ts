import { z } from 'zod';
import { int64 } from '../schemas/int64.ts';
import { PARSE_STATUSES } from '../schemas/vocabulary.ts';
import {
  Blake3Schema,
  Count,
  Counts,
  EXAMPLE,
  ReleaseIdSchema,
  UnixSeconds,
} from '../schemas/answers/common.ts';
import { PAGE, PAGE_EXAMPLE, report } from './report-envelope.ts';

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

/** `parse.status`. */
export const ParseStatusReport = report(
  'parse.status',
  {
    release_id: ReleaseIdSchema.nullable().describe(
      'The release that is indexed; null before the first run.',
    ),
    containers: Count,
    by_parse_status: Counts,
    by_format: Counts,
    units: Count,
    errors: Count,
    skipped: Counts.describe('Strings that are not text units, by reason.'),
    last_run: z
      .object({
        task_id: z.string(),
        status: z.string(),
        started_at: UnixSeconds,
        finished_at: UnixSeconds.nullable(),
      })
      .nullable(),
    parser_version: z.string(),
    rules_digest: Blake3Schema.describe('Digest of the rules that choose translatable text.'),
  },
  {
    release_id: EXAMPLE.releaseId,
    containers: 12,
    by_parse_status: { parsed: 11, unsupported: 1 },
    by_format: { json: 11 },
    units: 40_213,
    errors: 1,
    skipped: { no_source_script: 1021 },
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
    ...PAGE,
    items: z.array(
      z.object({
        unit_id: z.string().describe('Identifies the position of the text across releases.'),
        ...LOCATION,
        source_text: z.string(),
        source_digest: z.string(),
        ordinal: Count,
        placeholders: z.array(z.string()),
        translatable: z.boolean(),
        reason: z.string().nullable().describe('Why it is not translatable.'),
      }),
    ),
  },
  {
    ...PAGE_EXAMPLE,
    items: [
      {
        unit_id: 'tu1_mzxw6ytboi2dgnbvgy3tqojq',
        ...LOCATION_EXAMPLE,
        source_text: 'おはよう、{name}先生',
        source_digest: EXAMPLE.blake3,
        ordinal: 0,
        placeholders: ['{name}'],
        translatable: true,
        reason: null,
      },
    ],
  },
);

/** `parse.errors`. */
export const ParseErrorsReport = report(
  'parse.errors',
  {
    ...PAGE,
    items: z.array(
      z.object({
        ...LOCATION,
        code: z.string(),
        message: z.string(),
        severity: z.enum(['warning', 'error']),
        parse_status: z.enum(PARSE_STATUSES).describe('The outcome for the container.'),
        first_seen: UnixSeconds,
      }),
    ),
  },
  {
    ...PAGE_EXAMPLE,
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
