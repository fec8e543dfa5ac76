import { join } from 'node:path';
import { z } from 'zod';

/** The schema of `exchange` in the configuration of the daemon. */
export const exchangeConfigurationSchema = z.strictObject({
  root: z
    .string()
    .min(1)
    .max(4096)
    .optional()
    .describe(
      'Folder of the files that jobs import and export, which their argument `file` names relative to it. Mount a volume here that people reach, not that of snapshot.root. Default: exchange in data.dir.',
    ),
});

/** The parsed `exchange` section. */
export type ExchangeConfiguration = z.output<typeof exchangeConfigurationSchema>;

/** The folder on which files for people are exchanged. */
export function exchangeRootOf({ root }: ExchangeConfiguration, dataDirectory: string): string {
  return root ?? join(dataDirectory, 'exchange');
}
