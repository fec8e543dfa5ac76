import { z } from 'zod';
import { wholeNumber } from '../../../contract/actions/field-schemas.ts';
import { WORKER_ARGUMENTS } from '../../../contract/actions/worker-arguments.ts';
import type { JobDefinition } from '../../../engine/tasks/job.ts';

/** Finds terms in the texts of the release. */
export const TERM_MINE_JOB = {
  kind: 'term-mine',
  summary:
    'Finds names and words that recur in the texts of the indexed release, and adds them to the Glossary as drafts with counts and contexts. With a provider, a language model sorts them and leaves out ordinary words.',
  lane: 'i18n',
  scope: 'translate',
  groups: ['i18n'],
  arguments: z
    .strictObject({
      min_count: wholeNumber({ min: 2, max: 1_000_000 }).default(5).describe('Fewest texts with a term.'),
      limit: wholeNumber({ min: 1, max: 1000 }).default(100).describe('Most terms of a run.'),
      provider: z
        .string()
        .min(1)
        .max(4096)
        .optional()
        .describe('Provider of the kind `openai` that sorts the terms.'),
      ...WORKER_ARGUMENTS.shape,
    })
    .refine(
      ({ provider, max_tokens, max_cost }) =>
        provider !== undefined || (max_tokens === undefined && max_cost === undefined),
      { path: ['provider'], message: 'is needed by max_tokens and max_cost' },
    ),
  // A run that began again would add its limit once more.
  resumable: false,
  maxAttempts: 1,
  storeLock: 'none',
} as const satisfies JobDefinition;
