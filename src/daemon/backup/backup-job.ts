import { z } from 'zod';
import type { JobDefinition } from '../../engine/tasks/job.ts';

/** Copies the databases that hold human work. */
export const BACKUP_JOB = {
  kind: 'backup',
  summary:
    'Copies the databases that hold human work (memory, glossary, translation) to `backup.folder`, checks the copies and removes old backups.',
  lane: 'i18n',
  scope: 'operate',
  groups: ['i18n'],
  arguments: z.strictObject({}),
  resumable: true,
  maxAttempts: 1,
  storeLock: 'none',
} as const satisfies JobDefinition;
