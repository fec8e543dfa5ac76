import { z } from 'zod';

/** The schema of `memory` in the configuration of the daemon. */
export const memoryConfigurationSchema = z.strictObject({
  root: z
    .string()
    .min(1)
    .max(4096)
    .optional()
    .describe(
      'Folder of other Translation Memory files, which requests name in translation_memory_path and only read. Default: the folder memory in data.dir.',
    ),
  penalties: z
    .record(z.string().min(1).max(1024), z.int().min(0).max(100))
    .default({})
    .describe(
      'Points that the matches of another file lose, by its path in memory.root. A match below 100 is never reused automatically.',
    ),
});

export type MemoryConfiguration = z.output<typeof memoryConfigurationSchema>;
