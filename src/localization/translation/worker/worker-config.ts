import { z } from 'zod';
import { globSchema } from '../../../platform/config/glob-schema.ts';
import { providerNamed, providersSchema } from '../providers/provider-config.ts';

const filePath = z.string().min(1).max(4096);

/** The members of `translation` that runs of workers use. */
export const workerConfiguration = {
  provider: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe('Provider of runs that name none: one of providers, "fixture" or "memory-only".'),
  providers: providersSchema,
  maxTokens: z
    .int()
    .min(1)
    .optional()
    .describe('Tokens of prompts and answers after which a run stops that names no max_tokens.'),
  maxCost: z
    .number()
    .gt(0)
    .optional()
    .describe('Cost after which a run stops that names no max_cost, in the currency of the prices.'),
  charactersFile: filePath
    .optional()
    .describe(
      'Character sheet, a CSV file: name, gender, tone, first_person, address_forms and relations. It is read by each run, and tells language models who speaks.',
    ),
  instructions: z
    .array(
      z.strictObject({
        files: globSchema.describe('Which files, by their paths.'),
        text: z.string().min(1).max(2000).describe('What a translator should know about their texts.'),
      }),
    )
    .max(64)
    .default([])
    .describe(
      'What language models are told about the texts of some files: their kind, their style, the scene.',
    ),
  fixtureRoot: filePath
    .optional()
    .describe(
      'Folder of the files of prepared translations that runs name in fixture_path. Default: the folder fixtures in data.dir.',
    ),
};

/** The parsed members. */
export type WorkerConfiguration = z.output<z.ZodObject<typeof workerConfiguration>>;

/** Says what does not fit together in the settings of workers; the path is the member. */
export function workerConfigurationProblem({ provider, providers }: WorkerConfiguration): {
  readonly path: 'provider';
  readonly message: string;
} | null {
  if (provider === undefined || providerNamed(providers, provider) !== null) return null;
  return {
    path: 'provider',
    message: `names no provider; it can be ${[...Object.keys(providers), 'fixture', 'memory-only'].join(', ')}`,
  };
}
