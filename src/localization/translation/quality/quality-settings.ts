import { z } from 'zod';
import { keepSections } from '../../../platform/config/keep-sections.ts';
import { loadConfiguration } from '../../../platform/config/load-configuration.ts';
import { readConfigurationFile } from '../../../platform/config/run-configured.ts';
import { readBoundedFile } from '../../../platform/files/files.ts';
import { messageOf } from '../../../platform/errors.ts';
import type { TextKind } from '../../../domain/translation/kind-of-text.ts';
import type { FieldConstraints } from '../../../domain/text/checks/check-input.ts';
import { parseConfigurationSchema } from '../../parse/rules/parse-config.ts';
import { constraintLookup } from '../judge/target-judge.ts';
import type { TextPlace } from '../judge/text-place.ts';
import { createTextRules } from '../judge/text-rules.ts';
import { readCharacterSheet, type CharacterSheet } from '../providers/character-sheet.ts';
import { providerNamed, type ProviderConfiguration } from '../providers/provider-config.ts';
import { translationConfigurationSchema, type TranslationConfiguration } from '../translation-config.ts';
import { aboutFiles, kindsOfTexts } from '../worker/worker-config.ts';
import { QualityError } from './quality-error.ts';
import type { QualityOptions } from './quality-options.ts';

const fileSchema = z.strictObject({
  translation: translationConfigurationSchema.prefault({}),
  parse: parseConfigurationSchema.prefault({}),
});

/** What translations are asked for with, and judged by. */
export interface QualitySettings {
  readonly translation: TranslationConfiguration;
  readonly constraintsOf: (place: TextPlace) => FieldConstraints;
  readonly characters: CharacterSheet;
  /** What language models are told about the texts of a file. */
  readonly about: (destination: string) => readonly string[];
  readonly kindOf: (place: TextPlace) => TextKind | null;
}

/** One column of the comparison: a provider with the instructions of its prompts. */
export interface Variant {
  /** For people. */
  readonly name: string;
  readonly provider: string;
  readonly config: ProviderConfiguration;
  /** The file of prepared translations; `null` for a provider that is asked. */
  readonly fixture: string | null;
}

/**
 * Reads the configuration and the files that it names. Relative paths in it start at the working directory, as they do for the daemon.
 *
 * @throws QualityError that names every problem
 */
export async function readQualitySettings(config: string | null): Promise<QualitySettings> {
  const loaded = loadConfiguration({
    schema: fileSchema,
    name: 'slipway translations evaluate',
    argv: config === null ? [] : [`--config=${config}`],
    env: {},
    readFile: (file) => keepSections(readConfigurationFile(file), ['translation', 'parse']),
  });
  if (!loaded.ok) throw new QualityError(loaded.error.join('\n'));
  const { translation, parse } = loaded.value.config;
  try {
    const { charactersFile } = translation;
    const constraintsOf = constraintLookup(await createTextRules(() => parse)());
    return {
      translation,
      // Rules are for files.
      constraintsOf: (place) => (place.destination === '' ? {} : constraintsOf(place)),
      characters: charactersFile === undefined ? new Map() : await readCharacterSheet(charactersFile),
      about: aboutFiles(translation),
      kindOf: kindsOfTexts(translation),
    };
  } catch (error) {
    throw new QualityError(messageOf(error));
  }
}

const MOST_VARIANTS = 16;
const INSTRUCTION_CHARACTERS = 8000;

/**
 * Lists what is compared: each provider as it is configured, then each language model with each file of instructions, then each file
 * of prepared translations.
 *
 * @throws QualityError
 */
export async function listVariants(
  { providers: wanted, instructions, fixtures }: QualityOptions,
  { translation }: QualitySettings,
): Promise<readonly Variant[]> {
  const { provider: usual, providers } = translation;
  const names = wanted.length > 0 || fixtures.length > 0 || usual === undefined ? wanted : [usual];
  const configured = [...new Set(names)].map((name): Variant => {
    const config = providerNamed(providers, name);
    if (config?.kind !== 'fixture' && config?.kind !== 'memory-only' && config !== null) {
      // What another provider gives would count for this one.
      const { fallback: _fallback, ...alone } = config;
      return { name, provider: name, config: alone, fixture: null };
    }
    const known = Object.keys(providers);
    throw new QualityError(
      `--provider ${name}: ${config === null ? 'there is no provider of this name' : 'it cannot be asked; for prepared translations use --fixture FILE'}; ` +
        (known.length === 0 ? 'the configuration has none' : `the configuration has ${known.join(', ')}`),
    );
  });
  const texts = await Promise.all(
    instructions.map(async (path) => [path, await readInstructions(path)] as const),
  );
  const prompted = configured.filter(({ config }) => config.kind === 'openai');
  if (texts.length > 0 && prompted.length === 0) {
    throw new QualityError(
      '--instructions: none of the providers is a language model, and others have no prompts',
    );
  }
  const variants = [
    ...configured.flatMap((variant) => [
      variant,
      ...(prompted.includes(variant) ? texts : []).map(([path, text]): Variant => ({
        ...variant,
        name: `${variant.name} with ${path}`,
        config: { ...variant.config, instructions: text },
      })),
    ]),
    ...fixtures.map((path): Variant => ({ name: path, provider: 'fixture', config: FIXTURE, fixture: path })),
  ];
  if (variants.length === 0) {
    throw new QualityError(
      'nothing to compare: name providers with --provider, or set translation.provider in --config',
    );
  }
  if (variants.length <= MOST_VARIANTS) return variants;
  throw new QualityError(`at most ${MOST_VARIANTS} variants can be compared; these are ${variants.length}`);
}

const FIXTURE = requireFixture();

function requireFixture(): ProviderConfiguration {
  const config = providerNamed({}, 'fixture');
  if (config === null) throw new Error('the built-in provider "fixture" is missing');
  return config;
}

async function readInstructions(path: string): Promise<string> {
  let text: string;
  try {
    text = (await readBoundedFile(path, INSTRUCTION_CHARACTERS * 4)).toString('utf8').trim();
  } catch (error) {
    throw new QualityError(`--instructions: ${path} cannot be read: ${messageOf(error)}`);
  }
  if (text !== '' && text.length <= INSTRUCTION_CHARACTERS) return text;
  throw new QualityError(`--instructions: ${path} must have 1 to ${INSTRUCTION_CHARACTERS} characters`);
}
