import { z } from 'zod';
import type { JobDefinition } from '../../tasks/job.ts';

/** Publishes a localized release by itself. */
export const LOCALIZED_FOLLOW_JOB = {
  kind: 'localized-follow',
  summary:
    'Publishes a localized release after a new official one, when `localized.auto` is on, enough is translated, and nothing is lost.',
  lane: 'release',
  scope: 'publish',
  groups: ['i18n'],
  arguments: z.strictObject({}),
  resumable: true,
  maxAttempts: 3,
  storeLock: 'shared',
} as const satisfies JobDefinition;
