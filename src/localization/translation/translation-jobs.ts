import { z } from 'zod';
import type { JobDefinition } from '../../engine/tasks/job.ts';
import { REVIEW_JOBS } from './review/review-jobs.ts';
import { TERM_MINE_JOB } from './terms/term-job.ts';
import { WORKER_RUN_JOB } from './worker/worker-job.ts';

/** Builds the tasks of the indexed release. */
export const TASK_BUILD_JOB = {
  kind: 'task-build',
  summary:
    'Builds the translation tasks of the indexed release, and carries targets over from the release before.',
  lane: 'i18n',
  scope: 'operate',
  groups: ['i18n'],
  arguments: z.strictObject({}),
  resumable: true,
  maxAttempts: 1,
  storeLock: 'none',
} as const satisfies JobDefinition;

/** Gives units that repeat the text of another one its target. */
export const PROPAGATE_JOB = {
  kind: 'propagate',
  summary:
    'Gives units with the text, the speaker and the kind of field of a translated one its target, judged in their own places.',
  // Not while the parse index changes, and beside the workers of the lane i18n.
  lane: 'parse',
  scope: 'operate',
  groups: ['i18n'],
  arguments: z.strictObject({}),
  resumable: true,
  maxAttempts: 1,
  storeLock: 'none',
} as const satisfies JobDefinition;

/** Most superseded records of one job. */
export const SUPERSEDED_MAX = 1000;

/** Judges stored targets again. */
export const REQUALIFY_JOB = {
  kind: 'requalify',
  summary:
    'Judges stored targets again after the Glossary or the rules of containers changed: it blocks them, and frees them when nothing blocks them now. Targets from superseded records of the Translation Memory are marked.',
  lane: 'parse',
  scope: 'operate',
  groups: ['i18n'],
  arguments: z.strictObject({
    superseded: z
      .array(z.string())
      .max(SUPERSEDED_MAX)
      .default([])
      .describe('Records of the Translation Memory that were superseded just now.'),
  }),
  resumable: true,
  maxAttempts: 1,
  storeLock: 'none',
} as const satisfies JobDefinition;

/** The jobs of the work on translations, in the order of the reference. */
export const TRANSLATION_JOBS = [
  TASK_BUILD_JOB,
  PROPAGATE_JOB,
  REQUALIFY_JOB,
  WORKER_RUN_JOB,
  TERM_MINE_JOB,
  ...REVIEW_JOBS,
] as const;
