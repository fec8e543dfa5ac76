import { z } from 'zod';

/** The settings of reviews. */
export const reviewConfigurationSchema = z.strictObject({
  fourEyes: z
    .boolean()
    .default(false)
    .describe(
      'Whether a target must be accepted with another token than the one that sent it. Tokens without an id count as one.',
    ),
});

/** The parsed settings of reviews. */
export type ReviewConfiguration = z.output<typeof reviewConfigurationSchema>;
