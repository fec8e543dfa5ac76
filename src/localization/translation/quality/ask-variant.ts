import { diagnose } from '../../../domain/glossary/diagnose.ts';
import type { CompiledGlossary } from '../../../domain/glossary/compile-glossary.ts';
import { longestTarget } from '../../../domain/text/checks/longest-target.ts';
import { splitIntoBatches } from '../../../domain/translation/batches.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import { contextOf } from '../judge/text-place.ts';
import { charactersOfScene } from '../providers/character-sheet.ts';
import { PROVIDER_FAILURES, isOfProvider, type FailedUnit } from '../providers/provider-failure.ts';
import type {
  GlossaryTerms,
  RequestCounts,
  TranslationProvider,
  TranslationSubject,
  UnitToTranslate,
} from '../providers/provider.ts';
import { addUsage, NO_USAGE, type Spending, type Usage } from '../providers/spending.ts';
import { mergeConstraints } from '../worker/write-requests.ts';
import type { QualitySettings } from './quality-settings.ts';
import type { ReferenceText } from './read-reference-set.ts';

/** A batch of a set: texts of one file, in order. */
export interface Portion {
  readonly destination: string;
  readonly units: readonly UnitToTranslate[];
}

/** What a provider gave for each text. */
interface Answers {
  /** By the id of the text: its translation, or why there is none. */
  readonly byUnit: ReadonlyMap<string, { readonly target: string } | { readonly failure: FailedUnit }>;
  readonly usage: Usage;
  /** From the first request to the last answer, waits included. */
  readonly seconds: number;
}

/** Writes what providers are asked, as runs of workers do, but without examples: those would be the reviewed translations. */
export function portionsOf(
  texts: readonly ReferenceText[],
  glossary: CompiledGlossary,
  { translation: { targetLanguage }, constraintsOf, kindOf }: QualitySettings,
): readonly Portion[] {
  const units = texts.map(({ sourceText, place }, at) => ({
    destination: place.destination,
    unit: {
      unitId: String(at),
      sourceText,
      speaker: place.speaker,
      place: at,
      around: [],
      constraints: mergeConstraints(
        diagnose(glossary, {
          sourceText,
          translatedText: null,
          context: contextOf(place),
          blocksWhenMissing: () => false,
        }).constraints.map(({ term, matchedText, requirement }) => ({
          matched_text: matchedText,
          recommended_translation: term.recommendedTranslation,
          allowed_translations: term.allowedTranslations,
          requirement,
        })),
      ),
      examples: [],
      maxLength: longestTarget(constraintsOf(place), sourceText, targetLanguage),
      findings: [],
      kind: kindOf(place),
      scene: place.scene,
    },
  }));
  const byFile = Map.groupBy(units, ({ destination }) => destination);
  return [...byFile].map(([destination, items]) => ({ destination, units: items.map(({ unit }) => unit) }));
}

/** Estimates what a provider would use, high rather than low, without a request. */
export function estimateVariant(
  provider: TranslationProvider,
  portions: readonly Portion[],
  settings: QualitySettings,
): Usage {
  let usage = NO_USAGE;
  for (const { destination, units } of portions) {
    for (const batch of splitIntoBatches(units, provider.stepSize)) {
      usage = addUsage(usage, provider.estimate(subjectOf(destination, batch, settings)));
    }
  }
  return usage;
}

/** Requests in a row that may meet trouble which passes. */
const MOST_TROUBLES = 3;

/**
 * Asks a provider for all texts, one request at a time. When nothing more can be asked of it, or several requests in a row met
 * trouble of the provider itself, the other texts have its failure.
 *
 * @param run.terms absent where no Glossary is to be followed
 * @param progress gets the number of texts that are done
 * @throws the reason of the signal
 */
export async function askVariant(
  provider: TranslationProvider,
  portions: readonly Portion[],
  settings: QualitySettings,
  run: {
    readonly spending: Spending;
    readonly terms?: GlossaryTerms;
    readonly clock: Clock;
    readonly signal: AbortSignal;
    readonly progress: (done: number) => void;
  },
): Promise<Answers> {
  const { spending, terms, clock, signal } = run;
  const byUnit = new Map<string, { readonly target: string } | { readonly failure: FailedUnit }>();
  const startedAt = clock.monotonic();
  const counts: RequestCounts = new Map();
  let usage = NO_USAGE;
  let troubles = 0;
  let trouble: FailedUnit | undefined;
  for (const { destination, units } of portions) {
    for (const batch of splitIntoBatches(units, provider.stepSize)) {
      signal.throwIfAborted();
      if (trouble === undefined) {
        const subject = subjectOf(destination, batch, settings);
        const outcome = await provider.translateBatch({
          ...subject,
          spending,
          counts,
          ...(terms === undefined ? {} : { terms }),
          signal,
        });
        usage = addUsage(usage, outcome.usage);
        for (const { unitId, translatedText: target } of outcome.results) byUnit.set(unitId, { target });
        for (const failure of outcome.failures) byUnit.set(failure.unitId, { failure });
        const failed = outcome.failures.find(({ code }) => isOfProvider(code));
        troubles = failed === undefined ? 0 : troubles + 1;
        trouble = outcome.failures.find(({ code }) => PROVIDER_FAILURES[code] === 'stop');
        if (troubles >= MOST_TROUBLES) trouble ??= failed;
      } else {
        for (const { unitId } of batch) byUnit.set(unitId, { failure: { ...trouble, unitId } });
      }
      run.progress(byUnit.size);
    }
  }
  return { byUnit, usage, seconds: (clock.monotonic() - startedAt) / 1000 };
}

function subjectOf(
  destination: string,
  units: readonly UnitToTranslate[],
  { translation: { sourceLanguage, targetLanguage }, characters, about }: QualitySettings,
): TranslationSubject {
  return {
    sourceLanguage,
    targetLanguage,
    characters: charactersOfScene(
      characters,
      units.flatMap(({ speaker }) => speaker ?? []),
    ),
    about: about(destination),
    units,
  };
}
