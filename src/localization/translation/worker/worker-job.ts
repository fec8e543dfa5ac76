import { z } from 'zod';
import { flag, wholeNumber } from '../../../contract/actions/field-schemas.ts';
import {
  SUGGEST_ARGUMENTS,
  triedText,
  WORKER_ARGUMENTS,
} from '../../../contract/actions/worker-arguments.ts';
import type { ArgumentsOf, JobDefinition } from '../../../engine/tasks/job.ts';

const name = z.string().min(1).max(4096);
const { max_tokens, max_cost } = WORKER_ARGUMENTS.shape;
const { suggest } = SUGGEST_ARGUMENTS.shape;

/** Translates open units with a provider. */
export const WORKER_RUN_JOB = {
  kind: 'worker-run',
  summary:
    'Translates open units with a provider. Runs do not occupy their lane; up to four of them run together.',
  lane: 'i18n',
  scope: 'translate',
  groups: ['i18n'],
  arguments: z.strictObject({
    provider: name.optional().describe('Default: `translation.provider`.'),
    fixture_path: name.optional(),
    concurrency: wholeNumber({ min: 1, max: 256 }).default(1).describe('Chunks that are worked on together.'),
    max_attempts: wholeNumber({ min: 1 }).default(3).describe('Attempts of a chunk without progress.'),
    lease_seconds: wholeNumber({ min: 1 }).default(300),
    retry_backoff_seconds: wholeNumber({ min: 0 }).default(30),
    max_tasks: wholeNumber({ min: 1 }).default(100).describe('Translation tasks that the run begins.'),
    worker_id: name.optional().describe('Owner of the leases. Default: the id of the task.'),
    task_id: name.optional().describe('Only this translation task.'),
    translation_memory_path: name.optional(),
    glossary_path: name.optional(),
    force: flag.default(false).describe('Begins chunks again that have failed.'),
    dry_run: flag.default(false),
    max_tokens,
    max_cost,
    try_text: triedText.optional(),
    suggest,
  }),
  // A suggestion is for the person who asks.
  personalSwitches: ['suggest'],
  resumable: true,
  maxAttempts: 3,
  storeLock: 'none',
  parallel: 4,
} as const satisfies JobDefinition;

/** The parsed arguments of a run. */
export type WorkerRunArguments = ArgumentsOf<typeof WORKER_RUN_JOB>;
