import { join } from 'node:path';
import { z } from 'zod';

const DAY_SECONDS = 86_400;
const YEAR_SECONDS = 366 * DAY_SECONDS;

/** The settings of backups. */
export const backupConfigurationSchema = z.strictObject({
  folder: z
    .string()
    .min(1)
    .max(4096)
    .optional()
    .describe(
      'Folder of the backups, for this daemon alone; put it on another volume than data.dir. Default: backups in data.dir.',
    ),
  keep: z
    .int()
    .min(1)
    .max(1000)
    .default(7)
    .describe('Number of backups of each database that are kept; the oldest are removed after a new one.'),
  intervalSeconds: z
    .int()
    .min(0)
    .max(YEAR_SECONDS)
    .refine((seconds) => seconds === 0 || seconds >= 60, 'must be 0, or at least 60')
    .default(DAY_SECONDS)
    .describe('Time between two backups; 0: none are scheduled.'),
});

/** The parsed settings of backups. */
export type BackupConfiguration = z.output<typeof backupConfigurationSchema>;

/** The folder of the backups. */
export function backupFolderOf({ folder }: BackupConfiguration, dataDirectory: string): string {
  return folder ?? join(dataDirectory, 'backups');
}
