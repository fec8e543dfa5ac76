import type { MemoryLookup } from '../../memory/store/memory-lookup.ts';
import { longestTarget } from '../../../domain/text/checks/longest-target.ts';
import { memoryContext } from '../judge/offer-targets.ts';
import { constraintLookup } from '../judge/target-judge.ts';
import { contextOf } from '../judge/text-place.ts';
import { charactersOfScene } from '../providers/character-sheet.ts';
import { placedText } from '../providers/script.ts';
import type {
  Character,
  MemoryExample,
  TermConstraint,
  TranslationProvider,
  UnitToTranslate,
} from '../providers/provider.ts';
import type { ChunkUnit } from './chunk-units.ts';
import type { RunSetup } from './run-world.ts';

const MAX_EXAMPLES = 3;

/**
 * Whether a provider or its fallback reads more than the text: a prompt has terms, examples, neighbours, speakers and findings.
 */
export function usesContext({ promptDigest, fallback }: TranslationProvider): boolean {
  return promptDigest !== null || (fallback !== null && usesContext(fallback));
}

/** Writes what a provider is asked. Terms and examples are looked up only for providers that use them. */
export async function writeUnits(
  world: RunSetup,
  units: readonly ChunkUnit[],
  wasProofread: boolean,
  signal: AbortSignal,
): Promise<readonly UnitToTranslate[]> {
  const isRich = usesContext(world.provider);
  const constraintsOf = constraintLookup(await world.rules());
  const { targetLanguage } = world.languages();
  const terms = isRich ? await termsOf(world, units, wasProofread, signal) : [];
  const examples = isRich ? await examplesOf(world, units, signal) : [];
  const targets = isRich ? await targetsAround(world, units, signal) : undefined;
  return units.map(({ key, source }, index) => ({
    unitId: key,
    sourceText: source.unit.sourceText,
    speaker: source.unit.speaker,
    kind: world.kindOf(source.unit),
    scene: source.unit.scene,
    ...placedText(source, targets),
    constraints: terms[index] ?? [],
    examples: examples[index] ?? [],
    maxLength: longestTarget(constraintsOf(source.unit), source.unit.sourceText, targetLanguage),
    findings: [],
  }));
}

/** The translations around some units that a person made or accepted, by the place of their text. */
async function targetsAround(
  { thread }: RunSetup,
  units: readonly ChunkUnit[],
  signal: AbortSignal,
): Promise<ReadonlyMap<number, string>> {
  const around = units.flatMap(({ source: { before, after } }) => [...before, ...after]);
  const neighbours = [...new Map(around.map((unit) => [unit.ordinal, unit])).values()];
  const trusted = await thread.trustedTargets(
    neighbours.map(({ unitId, sourceDigest }) => ({ unitId, sourceDigest })),
    { signal },
  );
  return new Map(
    neighbours.flatMap(({ ordinal }, at) => {
      const target = trusted[at] ?? null;
      return target === null ? [] : [[ordinal, target] as const];
    }),
  );
}

/** Everyone who speaks in the scenes of some units, as far as the chunk and the neighbours show them. */
export function charactersAround(
  { characters }: RunSetup,
  asked: readonly ChunkUnit[],
  chunk: readonly ChunkUnit[],
): readonly Character[] {
  if (characters.size === 0) return [];
  const scenes = new Set(asked.map(({ source }) => source.unit.scene));
  const speakers = [...asked, ...chunk].flatMap(({ source: { unit, before, after } }) =>
    [...before, unit, ...after].flatMap(({ scene, speaker }) =>
      speaker !== null && scenes.has(scene) ? [speaker] : [],
    ),
  );
  return charactersOfScene(characters, speakers);
}

async function termsOf(
  { glossary, settings, languages }: RunSetup,
  units: readonly ChunkUnit[],
  wasProofread: boolean,
  signal: AbortSignal,
): Promise<readonly (readonly TermConstraint[])[]> {
  const { diagnoses } = await glossary.diagnose(
    {
      languages: languages(),
      ...(settings.glossaryPath === undefined ? {} : { glossaryPath: settings.glossaryPath }),
      units: units.map(({ source: { unit } }) => ({
        sourceText: unit.sourceText,
        translatedText: null,
        context: contextOf(unit),
        wasProofread,
      })),
    },
    signal,
  );
  return diagnoses.map(({ constraints }) => mergeConstraints(constraints));
}

interface ReportedConstraint {
  readonly matched_text: string;
  readonly recommended_translation: string;
  readonly allowed_translations: readonly string[];
  readonly requirement: 'must' | 'should' | 'forbidden';
}

/** The constraints of one text by the words that they are for; each once, with the wording that must not be used. */
export function mergeConstraints(constraints: readonly ReportedConstraint[]): readonly TermConstraint[] {
  const forbidden = constraints.filter(({ requirement }) => requirement === 'forbidden');
  const merged = new Map<string, TermConstraint>();
  for (const { matched_text: source, requirement, ...wording } of constraints) {
    if (requirement === 'forbidden' || merged.has(source)) continue;
    merged.set(source, {
      source,
      recommended: wording.recommended_translation,
      allowed: wording.allowed_translations,
      forbidden: forbidden
        .filter(({ matched_text: text }) => text === source)
        .map(({ recommended_translation: text }) => text),
    });
  }
  return [...merged.values()];
}

/** Similar translations of the memory that people confirmed: a model would repeat the flaws of others. A memory that cannot be used only makes the request poorer. */
async function examplesOf(
  { memory, settings, languages, logger }: RunSetup,
  units: readonly ChunkUnit[],
  signal: AbortSignal,
): Promise<readonly (readonly MemoryExample[])[]> {
  try {
    const answers = await memory.lookUp(
      units.map((unit) => lookUpOf(unit, languages(), 'trusted_similar', MAX_EXAMPLES)),
      { path: settings.memoryPath, signal },
    );
    return answers.map(({ matches }) =>
      matches.map(({ record, proposed_text: target }) => ({ source: record.source_text, target })),
    );
  } catch (error) {
    signal.throwIfAborted();
    logger.warn({ err: error }, 'the Translation Memory gives no examples');
    return [];
  }
}

/** A look-up of a unit in the memory. */
export function lookUpOf(
  { source }: ChunkUnit,
  languages: { readonly sourceLanguage: string; readonly targetLanguage: string },
  depth: MemoryLookup['depth'],
  limit: number,
): MemoryLookup {
  return {
    source_language: languages.sourceLanguage,
    target_language: languages.targetLanguage,
    source_text: source.unit.sourceText,
    context: memoryContext(source),
    depth,
    limit,
  };
}
