import { z } from 'zod';
import { UNIT_STATES } from '../../../domain/translation/unit-state.ts';
import { flag, word } from '../../../contract/actions/field-schemas.ts';
import { COPYING_FORMATS, formatNames } from '../../../contract/formats/exchange-formats.ts';
import { WORKER_ARGUMENTS as EVALUATION_ARGUMENTS } from '../../../contract/actions/worker-arguments.ts';
import type { JobDefinition } from '../../../engine/tasks/job.ts';

const MAX_NAME = 4096;
/** Tasks that a batch checks without `max_tasks`. */
const DEFAULT_TASKS = 100;

/** States that an export can select. */
const EXPORTED_STATES = [...UNIT_STATES, 'published'] as const;

/** Writes the work of translators to a file. */
export const HANDOFF_EXPORT_JOB = {
  kind: 'handoff-export',
  summary: 'Writes the units of the current translation tasks to a file in the exchange folder.',
  lane: 'i18n',
  scope: 'operate',
  groups: ['i18n'],
  arguments: z
    .strictObject({
      format: word(formatNames('units')).default('xliff-1.2').describe('Format of the file.'),
      states: z
        .string()
        .max(200)
        .default('untranslated,stale,blocked,draft,translated')
        .refine(
          (text) => text.split(',').every((state) => EXPORTED_STATES.some((each) => each === state)),
          `must be one or more of ${EXPORTED_STATES.join(',')}, separated by commas`,
        )
        .describe('States of the exported units, separated by commas.'),
      include: z
        .string()
        .min(1)
        .max(MAX_NAME)
        .default('**')
        .describe('Glob of the destinations whose units are exported.'),
      copy_source: flag
        .optional()
        .describe('Whether a missing target is written as a copy of its source; default true for XLIFF 1.2.'),
    })
    .refine(({ format, copy_source: copies }) => copies !== true || COPYING_FORMATS.includes(format), {
      path: ['copy_source'],
      message: `is only for ${COPYING_FORMATS.join(' and ')}`,
    }),
  resumable: true,
  maxAttempts: 3,
  storeLock: 'none',
} as const satisfies JobDefinition;

/** Takes a reviewed file in. The action `translation-proofread` queues it. */
export const PROOFREAD_IMPORT_JOB = {
  kind: 'proofread-import',
  summary: 'Accepts the targets of a reviewed file in the exchange folder.',
  lane: 'i18n',
  scope: 'review',
  groups: [],
  arguments: z.strictObject({
    translation_file: z.string().min(1).max(MAX_NAME).describe('Path of the file below the exchange folder.'),
    reviewer: z.string().min(1).max(MAX_NAME).describe('The person who has reviewed the file.'),
    reason: z.string().nullable().describe('Why, for the history.'),
    token_id: z.string().nullable().describe('The token of the reviewer.'),
    partial: z.boolean().default(false).describe('Whether containers without a refused unit are taken.'),
  }),
  resumable: true,
  maxAttempts: 1,
  storeLock: 'none',
} as const satisfies JobDefinition;

/** Checks translated tasks again. */
export const PROOFREAD_JOB = {
  kind: 'proofread',
  summary: 'Checks the targets of translated tasks again, and looks for one source with different targets.',
  lane: 'i18n',
  scope: 'review',
  groups: ['i18n'],
  arguments: z
    .strictObject({
      max_tasks: z
        .int()
        .min(1)
        .max(1_000_000)
        .default(DEFAULT_TASKS)
        .describe('Most tasks that are checked.'),
      provider: z
        .string()
        .min(1)
        .max(MAX_NAME)
        .optional()
        .describe('Provider that evaluates the targets, too. It only adds findings.'),
      fixture_path: z.string().min(1).max(MAX_NAME).optional(),
      ...EVALUATION_ARGUMENTS.shape,
    })
    .refine(
      ({ provider, fixture_path, dry_run, max_tokens, max_cost }) =>
        provider !== undefined ||
        [fixture_path, dry_run, max_tokens, max_cost].every((each) => each === undefined),
      { path: ['provider'], message: 'is needed by fixture_path, dry_run, max_tokens and max_cost' },
    ),
  resumable: true,
  maxAttempts: 1,
  storeLock: 'none',
} as const satisfies JobDefinition;

/** The jobs of reviews, in the order of the reference. */
export const REVIEW_JOBS = [HANDOFF_EXPORT_JOB, PROOFREAD_JOB, PROOFREAD_IMPORT_JOB] as const;
