import { REVIEW_STATUSES } from '../../domain/glossary/term.ts';
import { z } from 'zod';
import { mustBeOneOf } from '../problems/value-errors.ts';
import { int64 } from '../schemas/int64.ts';

/**
 * What a field is beyond its type: `x-kind` in every document and form. `instant`: Unix seconds; `duration`: seconds; `interval`:
 * seconds between two runs, and one run without it; `switch`: only `true` has a meaning; `prose`: a text of several lines.
 * `x-clears` of a switch names the field whose value it removes.
 */
export type FieldSort = 'instant' | 'duration' | 'interval' | 'switch' | 'prose';

const MAX_TEXT = 65_536;
const MAX_NAME = 4096;
const MAX_STRINGS = 1000;
const MAX_RESULTS = 10_000;

const flag = z.boolean({ error: 'must be true or false' });
const name = z.string({ error: 'must be a string' }).max(MAX_NAME, {
  error: `must not exceed ${MAX_NAME} characters`,
});
const prose = z
  .string({ error: 'must be a string' })
  .max(MAX_TEXT, { error: `must not exceed ${MAX_TEXT} characters` })
  .meta({ 'x-kind': 'prose' });
const names = z
  .array(name, { error: 'must be a list of strings' })
  .max(MAX_STRINGS, { error: `must not exceed ${MAX_STRINGS} items` });

/** One translated unit. */
export const TranslationResultSchema = z.strictObject({
  unit_id: name.meta({ title: 'Unit', description: 'The unit; it must belong to the task.' }),
  source_text: prose.meta({
    title: 'Source text',
    description: 'The source text the translation was made for, exactly as stored.',
  }),
  translated_text: prose.meta({ title: 'Translation' }),
});

/** A person's decision to accept what the Glossary checks blocked. */
const GlossaryOverrideSchema = z.strictObject({
  qa_identity: name
    .min(1, { error: 'must not be empty' })
    .meta({ title: 'Diagnosis', description: 'The identity of the accepted diagnosis.' }),
  reviewer: name.meta({ title: 'Reviewer', description: 'The person who decides.' }),
  reason: prose.meta({ title: 'Reason', description: 'Why the targets are accepted.' }),
  provenance: prose.meta({ title: 'Where it was decided', description: 'Where the decision was made.' }),
  confirmed_unix_seconds: int64({ min: 1 }).meta({
    'x-kind': 'instant',
    title: 'Decided at',
    description: 'When the person decided.',
  }),
});

/** Where a Glossary term comes from. */
export const TermSourceSchema = z.strictObject({
  source_kind: z
    .enum(['manual', 'imported'], { error: mustBeOneOf(['manual', 'imported']) })
    .meta({ title: 'Origin', description: 'Whether a person wrote it, or a file brought it.' }),
  observed_unix_seconds: int64().meta({
    'x-kind': 'instant',
    title: 'Seen at',
    description: 'When it was seen there.',
  }),
  source_ref: prose.meta({ title: 'Place', description: 'Where, such as a page.' }).optional(),
  source_author: prose.meta({ title: 'Author', description: 'The author of the text there.' }).optional(),
  source_note: prose.meta({ title: 'Note', description: 'A note about the source.' }).optional(),
});

/** The body of every control action; which fields an action requires or uses is in the action table. */
export const ControlBodySchema = z
  .strictObject({
    force: flag.meta({
      'x-kind': 'switch',
      title: 'Do it anyway',
      description: 'Does it although a rule advises against it; what exactly depends on the action.',
    }),
    id: name.meta({ title: 'Id', description: 'The id of a schedule, or of a release.' }),
    group: name.meta({ title: 'Group', description: 'The group of a schedule, or all schedules of it.' }),
    action: name.meta({ title: 'Job', description: 'The job that the schedule runs.' }),
    args: names.meta({
      title: 'Arguments',
      description: '`key=value` pairs; the keys are fields of the action.',
    }),
    next_run_unix_seconds: int64().meta({
      'x-kind': 'instant',
      title: 'Next run at',
      description: 'When the schedule runs next.',
    }),
    delay_seconds: int64().meta({
      'x-kind': 'duration',
      title: 'Wait before the next run',
      description: 'How long from now until the schedule runs next.',
    }),
    every_seconds: int64().meta({
      'x-kind': 'interval',
      title: 'Repeat',
      description: 'The time between two runs of the schedule; without it the schedule runs once.',
    }),
    count: int64().meta({ title: 'How many', description: 'How many: releases to keep, or runs to start.' }),
    max_runs: int64({ min: 1 }).meta({
      title: 'End after',
      description: 'Runs after which the schedule ends.',
    }),
    clear_args: flag.meta({
      'x-kind': 'switch',
      'x-clears': 'args',
      title: 'Remove the arguments',
      description: 'Removes the arguments of the schedule.',
    }),
    clear_every: flag.meta({
      'x-kind': 'switch',
      'x-clears': 'every_seconds',
      title: 'Run only once',
      description: 'Makes the schedule run once.',
    }),
    enabled: flag.meta({
      title: 'Runs automatically',
      description: 'Whether the schedule runs automatically.',
    }),
    task_id: name.meta({
      title: 'Task',
      description: 'The task; for actions on translations the translation task.',
    }),
    status: name.meta({ title: 'New state', description: 'The new state of the translation task.' }),
    failure_reason: prose.meta({
      title: 'Why it failed',
      description: 'Why the translation task has failed.',
    }),
    provider_run_id: name.meta({
      title: 'Run of the provider',
      description: 'The run of the provider that made the results; the same run again changes nothing.',
    }),
    provider: name.meta({
      title: 'Provider',
      description: 'The provider that makes or made the targets; `translation.providers` lists them.',
    }),
    translation_results: z
      .array(TranslationResultSchema, { error: 'must be a list of objects' })
      .max(MAX_RESULTS, { error: `must not exceed ${MAX_RESULTS} items` })
      .meta({ title: 'Translations', description: 'Targets of units of the task.' }),
    glossary_override: GlossaryOverrideSchema.meta({
      title: 'Accept what the Glossary blocks',
      description: 'Accepts targets that a Glossary check blocks.',
    }),
    fixture_path: name.meta({
      title: 'File with targets',
      description: 'A file with targets, for the provider `fixture`; relative to its root.',
    }),
    concurrency: int64({ min: 1, max: 256 }).meta({
      title: 'Calls at a time',
      description: 'Calls of the provider at a time.',
    }),
    max_attempts: int64({ min: 1 }).meta({
      title: 'Attempts',
      description: 'Attempts at a task before it has failed.',
    }),
    lease_seconds: int64({ min: 1 }).meta({
      'x-kind': 'duration',
      title: 'Claim lasts',
      description: 'How long a claim of units or tasks lasts without a sign of life.',
    }),
    retry_backoff_seconds: int64({ min: 0 }).meta({
      'x-kind': 'duration',
      title: 'Wait before a retry',
      description: 'Wait before the next attempt.',
    }),
    max_tasks: int64({ min: 1 }).meta({
      title: 'Most translation tasks',
      description: 'Most translation tasks of this run.',
    }),
    worker_id: name.meta({
      title: 'Worker',
      description: 'The name of the worker or person that claims the units or tasks.',
    }),
    translation_memory_path: name.meta({
      title: 'Translation Memory file',
      description: 'A Translation Memory file, relative to its root; without it the configured one.',
    }),
    glossary_path: name.meta({
      title: 'Glossary file',
      description: 'A Glossary file, relative to its root; without it the configured one.',
    }),
    record_id: name.meta({ title: 'Record', description: 'The record of the Translation Memory.' }),
    winner_record_id: name.meta({ title: 'Record to keep', description: 'The record that stays trusted.' }),
    expected_trusted_record_ids: names.meta({
      title: 'Records of the conflict',
      description: 'Every record of the conflict that is trusted now, the winner among them.',
    }),
    supersede_record_id: name.meta({
      title: 'Replaces the record',
      description: 'The trusted record that this one replaces.',
    }),
    reviewer: name.meta({
      title: 'Reviewer',
      description: 'The person who decides; recorded in the history.',
    }),
    reason: prose.meta({ title: 'Reason', description: 'Why; recorded in the history.' }),
    term_id: name.meta({ title: 'Term', description: 'The term of the Glossary.' }),
    source_term: prose.meta({ title: 'Source term', description: 'The term in the source language.' }),
    aliases: names.meta({ title: 'Other spellings', description: 'Other spellings of the source term.' }),
    recommended_translation: prose.meta({
      title: 'Translation',
      description: 'The translation that targets should use.',
    }),
    allowed_translations: names.meta({
      title: 'Also allowed',
      description: 'Other correct translations.',
    }),
    source_language: name.meta({
      title: 'From language',
      description: 'Language of the source texts, such as `ja`.',
    }),
    target_language: name.meta({
      title: 'To language',
      description: 'Language of the targets, such as `zh-Hans`.',
    }),
    category: name.meta({ title: 'Category', description: 'The kind of the term, such as `person`.' }),
    priority: int64().meta({
      title: 'Priority',
      description: 'Of two terms that fit, the one with the higher priority counts.',
    }),
    scope: z.record(name, name, { error: 'must be an object whose values are strings' }).meta({
      title: 'Only where',
      description: 'Where the term counts: keys of the context of a text and their values.',
    }),
    review_status: z
      .enum(REVIEW_STATUSES, { error: mustBeOneOf(REVIEW_STATUSES) })
      .meta({ title: 'Review state', description: 'The review state of the term.' }),
    source: TermSourceSchema.meta({ title: 'Source', description: 'Where the term comes from.' }),
    translation_file: name.meta({
      title: 'File with translations',
      description: 'A file of the exchange folder, relative to `exchange.root`.',
    }),
    from_worker: flag.meta({
      'x-kind': 'switch',
      title: 'From the translation database',
      description: 'Takes the texts of the translation database.',
    }),
    patch_manifest: name.meta({
      title: 'Manifest of patched files',
      description: 'A manifest of patched files of the exchange folder, relative to `exchange.root`.',
    }),
    localized_release_id: name.meta({ title: 'Localized release', description: 'The localized release.' }),
  })
  .partial();

/** A parsed control body; int64 fields are a bigint where they exceed 2^53 - 1. */
export type ControlBody = z.infer<typeof ControlBodySchema>;

export type ControlField = keyof ControlBody;

/** Every field of the control body, in the order of the specification. */
export const CONTROL_FIELDS = Object.keys(ControlBodySchema.shape) as readonly ControlField[];

/** Switches that count only when they are true. */
export const CONTROL_SWITCHES = ['clear_args', 'clear_every', 'from_worker'] as const;

export type ControlSwitch = (typeof CONTROL_SWITCHES)[number];

/** Whether a field is one of {@link CONTROL_SWITCHES}. */
export function isControlSwitch(field: ControlField): field is ControlSwitch {
  return CONTROL_SWITCHES.some((each) => each === field);
}
