import { z } from 'zod';
import { releaseId, wholeNumber } from '../../contract/actions/field-schemas.ts';
import type { JobDefinition } from '../../engine/tasks/job.ts';

const MAX_DIFFERENCES = 1000;

const PARSING = {
  lane: 'parse',
  scope: 'operate',
  groups: ['parse'],
  arguments: z.strictObject({}),
  resumable: true,
  maxAttempts: 1,
  // It only reads. An object that a cleanup deletes meanwhile belongs to no release that is indexed.
  storeLock: 'none',
} as const;

export const PARSE_JOB = {
  ...PARSING,
  kind: 'parse',
  summary: 'Indexes the text of the current official release; known containers are not parsed again.',
} as const satisfies JobDefinition;

export const PARSE_FULL_JOB = {
  ...PARSING,
  kind: 'parse-full',
  summary: 'Indexes the text of the current official release, and parses every container again.',
} as const satisfies JobDefinition;

export const TEXT_DIFFERENCES_JOB = {
  ...PARSING,
  kind: 'text-differences',
  scope: 'read',
  summary:
    'Lists the text units that were added, changed, moved or removed from one indexed release to the next.',
  arguments: z.strictObject({
    from: releaseId,
    to: releaseId,
    offset: wholeNumber({ min: 0 }).default(0),
    limit: wholeNumber({ min: 1, max: MAX_DIFFERENCES }).default(MAX_DIFFERENCES),
  }),
} as const satisfies JobDefinition;

export const PARSE_JOBS = [PARSE_JOB, PARSE_FULL_JOB, TEXT_DIFFERENCES_JOB] as const;
