import { z } from 'zod';
import { mustBeOneOf } from '../problems/value-errors.ts';
import { int64 } from '../schemas/int64.ts';
import { REVIEW_STATUSES } from '../schemas/vocabulary.ts';

/** Longest text field, in UTF-16 units. */
const MAX_TEXT = 65_536;
/** Longest name, id or path. */
const MAX_NAME = 4096;
/** Maximum number of items of a list of strings. */
const MAX_STRINGS = 1000;
/** Maximum number of translation results of one call. */
const MAX_RESULTS = 10_000;

const flag = z.boolean({ error: 'must be true or false' });
const name = z.string({ error: 'must be a string' }).max(MAX_NAME, {
  error: `must not exceed ${MAX_NAME} characters`,
});
const prose = z.string({ error: 'must be a string' }).max(MAX_TEXT, {
  error: `must not exceed ${MAX_TEXT} characters`,
});
const names = z
  .array(name, { error: 'must be a list of strings' })
  .max(MAX_STRINGS, { error: `must not exceed ${MAX_STRINGS} items` });

/** One translated unit. */
export const TranslationResultSchema = z.strictObject({
  unit_id: name.describe('The unit; it must belong to the task.'),
  source_text: prose.describe('The source text the translation was made for, exactly as stored.'),
  translated_text: prose,
});

/** A person's decision to accept what the Glossary checks blocked. */
const GlossaryOverrideSchema = z.strictObject({
  qa_identity: name
    .min(1, { error: 'must not be empty' })
    .describe('The identity of the accepted diagnosis.'),
  reviewer: name,
  reason: prose,
  provenance: prose.describe('Where the decision was made.'),
  confirmed_unix_seconds: int64({ min: 1 }),
});

/** Where a Glossary term comes from. */
export const TermSourceSchema = z.strictObject({
  source_kind: z.enum(['manual', 'imported'], { error: mustBeOneOf(['manual', 'imported']) }),
  observed_unix_seconds: int64(),
  source_ref: prose.optional(),
  source_author: prose.optional(),
  source_note: prose.optional(),
});

/** The body of every control action; which fields an action requires or uses is in the action table. */
export const ControlBodySchema = z
  .strictObject({
    force: flag,
    id: name,
    group: name,
    action: name,
    args: names.describe('`key=value` pairs; the keys are fields of the action.'),
    next_run_unix_seconds: int64(),
    delay_seconds: int64(),
    every_seconds: int64(),
    count: int64(),
    max_runs: int64({ min: 1 }),
    clear_args: flag,
    clear_every: flag,
    enabled: flag,
    task_id: name,
    status: name,
    failure_reason: prose,
    provider_run_id: name,
    provider: name,
    translation_results: z
      .array(TranslationResultSchema, { error: 'must be a list of objects' })
      .max(MAX_RESULTS, { error: `must not exceed ${MAX_RESULTS} items` }),
    glossary_override: GlossaryOverrideSchema,
    fixture_path: name,
    concurrency: int64({ min: 1, max: 256 }),
    max_attempts: int64({ min: 1 }),
    lease_seconds: int64({ min: 1 }),
    retry_backoff_seconds: int64({ min: 0 }),
    max_tasks: int64({ min: 1 }),
    worker_id: name,
    translation_memory_path: name,
    glossary_path: name,
    record_id: name,
    winner_record_id: name,
    expected_trusted_record_ids: names,
    supersede_record_id: name,
    reviewer: name,
    reason: prose,
    term_id: name,
    source_term: prose,
    aliases: names,
    recommended_translation: prose,
    allowed_translations: names,
    source_language: name,
    target_language: name,
    category: name,
    priority: int64(),
    scope: z.record(name, name, { error: 'must be an object whose values are strings' }),
    review_status: z.enum(REVIEW_STATUSES, { error: mustBeOneOf(REVIEW_STATUSES) }),
    source: TermSourceSchema,
    translation_file: name,
    from_worker: flag,
    patch_manifest: name,
    localized_release_id: name,
  })
  .partial();

/** A parsed control body; int64 fields are a bigint where they exceed 2^53 - 1. */
export type ControlBody = z.infer<typeof ControlBodySchema>;

/** A field of the control body. */
export type ControlField = keyof ControlBody;

/** Every field of the control body, in the order of the specification. */
export const CONTROL_FIELDS = Object.keys(ControlBodySchema.shape) as readonly ControlField[];

/** Switches that count only when they are true. */
export const CONTROL_SWITCHES = ['clear_args', 'clear_every', 'from_worker'] as const;

/** One of {@link CONTROL_SWITCHES}. */
export type ControlSwitch = (typeof CONTROL_SWITCHES)[number];

/** Whether a field is one of {@link CONTROL_SWITCHES}. */
export function isControlSwitch(field: ControlField): field is ControlSwitch {
  return CONTROL_SWITCHES.some((each) => each === field);
}
