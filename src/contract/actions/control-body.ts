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
  reviewer: name.describe('The person who decides.'),
  reason: prose.describe('Why the targets are accepted.'),
  provenance: prose.describe('Where the decision was made.'),
  confirmed_unix_seconds: int64({ min: 1 }).describe('When; Unix seconds.'),
});

/** Where a Glossary term comes from. */
export const TermSourceSchema = z.strictObject({
  source_kind: z
    .enum(['manual', 'imported'], { error: mustBeOneOf(['manual', 'imported']) })
    .describe('Whether a person wrote it, or a file brought it.'),
  observed_unix_seconds: int64().describe('When it was seen there; Unix seconds.'),
  source_ref: prose.describe('Where, such as a page.').optional(),
  source_author: prose.describe('The author of the text there.').optional(),
  source_note: prose.describe('A note about the source.').optional(),
});

/** The body of every control action; which fields an action requires or uses is in the action table. */
export const ControlBodySchema = z
  .strictObject({
    force: flag.describe('Does it although a rule advises against it; what exactly depends on the action.'),
    id: name.describe('The id of a schedule, or of a release.'),
    group: name.describe('The group of a schedule, or all schedules of it.'),
    action: name.describe('The job that the schedule runs.'),
    args: names.describe('`key=value` pairs; the keys are fields of the action.'),
    next_run_unix_seconds: int64().describe('When the schedule runs next; Unix seconds.'),
    delay_seconds: int64().describe('When the schedule runs next, as seconds from now.'),
    every_seconds: int64().describe(
      'Seconds between two runs of the schedule; without it the schedule runs once.',
    ),
    count: int64().describe('How many: releases to keep, or runs to start.'),
    max_runs: int64({ min: 1 }).describe('Runs after which the schedule ends.'),
    clear_args: flag.describe('Removes the arguments of the schedule.'),
    clear_every: flag.describe('Makes the schedule run once.'),
    enabled: flag.describe('Whether the schedule runs by itself.'),
    task_id: name.describe('The task; for actions on translations the translation task.'),
    status: name.describe('The new state of the translation task.'),
    failure_reason: prose.describe('Why the translation task has failed.'),
    provider_run_id: name.describe(
      'The run of the provider that made the results; the same run again changes nothing.',
    ),
    provider: name.describe(
      'The provider that makes or made the targets; `translation.providers` lists them.',
    ),
    translation_results: z
      .array(TranslationResultSchema, { error: 'must be a list of objects' })
      .max(MAX_RESULTS, { error: `must not exceed ${MAX_RESULTS} items` })
      .describe('Targets of units of the task.'),
    glossary_override: GlossaryOverrideSchema.describe('Accepts targets that a Glossary check blocks.'),
    fixture_path: name.describe('A file with targets, for the provider `fixture`; relative to its root.'),
    concurrency: int64({ min: 1, max: 256 }).describe('Calls of the provider at a time.'),
    max_attempts: int64({ min: 1 }).describe('Attempts at a task before it has failed.'),
    lease_seconds: int64({ min: 1 }).describe(
      'How long a claim of units or tasks lasts without a sign of life.',
    ),
    retry_backoff_seconds: int64({ min: 0 }).describe('Wait before the next attempt.'),
    max_tasks: int64({ min: 1 }).describe('Most translation tasks of this run.'),
    worker_id: name.describe('The name of the worker or person that claims the units or tasks.'),
    translation_memory_path: name.describe(
      'A Translation Memory file, relative to its root; without it the configured one.',
    ),
    glossary_path: name.describe('A Glossary file, relative to its root; without it the configured one.'),
    record_id: name.describe('The record of the Translation Memory.'),
    winner_record_id: name.describe('The record that stays trusted.'),
    expected_trusted_record_ids: names.describe(
      'Every record of the conflict that is trusted now, the winner among them.',
    ),
    supersede_record_id: name.describe('The trusted record that this one replaces.'),
    reviewer: name.describe('The person who decides; recorded in the history.'),
    reason: prose.describe('Why; recorded in the history.'),
    term_id: name.describe('The term of the Glossary.'),
    source_term: prose.describe('The term in the source language.'),
    aliases: names.describe('Other spellings of the source term.'),
    recommended_translation: prose.describe('The translation that targets should use.'),
    allowed_translations: names.describe('Translations that are correct, too.'),
    source_language: name.describe('Language of the source texts, such as `ja`.'),
    target_language: name.describe('Language of the targets, such as `zh-Hans`.'),
    category: name.describe('The kind of the term, such as `person`.'),
    priority: int64().describe('Of two terms that fit, the one with the higher priority counts.'),
    scope: z
      .record(name, name, { error: 'must be an object whose values are strings' })
      .describe('Where the term counts: keys of the context of a text and their values.'),
    review_status: z
      .enum(REVIEW_STATUSES, { error: mustBeOneOf(REVIEW_STATUSES) })
      .describe('The review state of the term.'),
    source: TermSourceSchema.describe('Where the term comes from.'),
    translation_file: name.describe('A file of the exchange folder, relative to `exchange.root`.'),
    from_worker: flag.describe('Takes the texts of the translation database.'),
    patch_manifest: name.describe(
      'A manifest of patched files of the exchange folder, relative to `exchange.root`.',
    ),
    localized_release_id: name.describe('The localized release.'),
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
