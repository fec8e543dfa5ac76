import { z } from 'zod';
import { globSchema } from '../../../platform/config/glob-schema.ts';
import { createFieldGlob } from '../../../domain/text/field-glob.ts';
import { guessTextKind, TEXT_KINDS, type TextKind } from '../../../domain/translation/kind-of-text.ts';
import { createGlobTest } from '../../../platform/config/glob.ts';
import type { TextPlace } from '../judge/text-place.ts';
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
  textKinds: z
    .array(
      z.strictObject({
        files: globSchema.describe('Which files, by their paths.'),
        field: z.string().min(1).max(1024).default('**').describe('Glob of their field paths.'),
        kind: z.enum(TEXT_KINDS).describe('What their texts are.'),
      }),
    )
    .max(64)
    .default([])
    .describe(
      'What some texts are for, where the guess from field, file and speaker is wrong; the first that fits counts. Language models are told.',
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

/** What the configuration tells language models about the texts of a file. */
export function aboutFiles({
  instructions,
}: WorkerConfiguration): (destination: string) => readonly string[] {
  const tests = instructions.map(({ files, text }) => ({ test: createGlobTest(files), text }));
  return (destination) => tests.filter(({ test }) => test(destination)).map(({ text }) => text);
}

/** What a text is for: the first rule of the configuration that fits, and otherwise a guess. */
export function kindsOfTexts({ textKinds }: WorkerConfiguration): (place: TextPlace) => TextKind | null {
  const rules = textKinds.map(({ files, field, kind }) => ({
    isFile: createGlobTest(files),
    isField: createFieldGlob(field),
    kind,
  }));
  return (place) =>
    rules.find(({ isFile, isField }) => isFile(place.destination) && isField(place.fieldPath))?.kind ??
    guessTextKind(place);
}
