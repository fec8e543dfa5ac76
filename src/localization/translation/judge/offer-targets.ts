import type { LanguagePair } from '../../../domain/glossary/term.ts';
import type { MemoryProvenance } from '../../../domain/memory/memory-record.ts';
import type { TargetAuthor } from '../../../domain/translation/four-eyes.ts';
import type { Logger } from '../../../platform/logging/logging.ts';
import type { ProposedRecord } from '../../memory/store/memory-writer.ts';
import type { TranslationMemory } from '../../memory/translation-memory.ts';
import type { SourceUnit } from './unit-source.ts';
import { contextOf } from './text-place.ts';

/** A target that the Translation Memory is told of. */
export interface OfferedTarget {
  /** The unit with its neighbours; read it with at least one on each side. */
  readonly source: SourceUnit;
  /** As reports write it. */
  readonly unitId: string;
  readonly targetText: string;
  /** `null` when it is not known. */
  readonly author: TargetAuthor | null;
  readonly provider: string | null;
  readonly provider_run_id: string | null;
  readonly task_id: string | null;
}

/** Offers stored targets to the Translation Memory as candidates. */
export interface TargetOffers {
  /** @returns whether the memory took them. It never throws: the targets are stored in any case. */
  offer(
    targets: readonly OfferedTarget[],
    origin: MemoryProvenance['origin'],
    releaseId: string | null,
  ): Promise<boolean>;
  /**
   * Rejects the candidates that targets were; records that someone confirmed stay.
   *
   * @returns whether the memory answered. It never throws
   */
  withdraw(targets: readonly OfferedTarget[], by: WithdrawnBy, releaseId: string | null): Promise<boolean>;
}

interface WithdrawnBy {
  readonly reviewer: string;
  readonly tokenId: string | null;
  readonly reason: string;
}

interface TargetOffersOptions {
  readonly memory: TranslationMemory;
  readonly languages: () => LanguagePair;
  readonly logger: Logger;
}

/** Longest neighbour in a context, in UTF-16 code units: its beginning tells places apart. */
const NEIGHBOUR_CHARACTERS = 500;

/**
 * The context of a unit in the Translation Memory. Look-ups and records must use the same one, read with at least one neighbour
 * on each side.
 */
export function memoryContext({ unit, before, after }: SourceUnit): Record<string, string> {
  const previous = before.at(-1);
  const next = after[0];
  return {
    ...contextOf(unit),
    ...(previous === undefined ? {} : { previous: beginningOf(previous.sourceText) }),
    ...(next === undefined ? {} : { next: beginningOf(next.sourceText) }),
  };
}

/** The records that targets would be in the Translation Memory. */
export function proposalsOf(
  targets: readonly OfferedTarget[],
  origin: MemoryProvenance['origin'],
  releaseId: string | null,
  { sourceLanguage, targetLanguage }: LanguagePair,
): Omit<ProposedRecord, 'record_id'>[] {
  return targets.map(({ source, unitId, targetText, author, ...provenance }) => ({
    source_language: sourceLanguage,
    target_language: targetLanguage,
    source_text: source.unit.sourceText,
    target_text: targetText,
    context: memoryContext(source),
    ...(author === null ? {} : { author }),
    provenance: { ...provenance, origin, unit_id: unitId, release_id: releaseId },
  }));
}

/** Creates the offers. */
export function createTargetOffers({ memory, languages, logger }: TargetOffersOptions): TargetOffers {
  return {
    offer: async (targets, origin, releaseId) => {
      if (targets.length === 0) return true;
      const proposals = proposalsOf(targets, origin, releaseId, languages());
      try {
        await memory.propose(proposals);
        return true;
      } catch (error) {
        logger.warn(
          { err: error, origin, targets: targets.length },
          'the Translation Memory did not take stored targets',
        );
        return false;
      }
    },
    withdraw: async (targets, by, releaseId) => {
      if (targets.length === 0) return true;
      try {
        const records = await memory.known(proposalsOf(targets, 'task_update', releaseId, languages()));
        for (const record of records) {
          if (record?.state === 'candidate') await memory.reject({ record_id: record.record_id, ...by });
        }
        return true;
      } catch (error) {
        logger.warn({ err: error }, 'the Translation Memory did not reject what was taken back');
        return false;
      }
    },
  };
}

function beginningOf(text: string): string {
  return text.slice(0, NEIGHBOUR_CHARACTERS).toWellFormed();
}
