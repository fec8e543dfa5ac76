import type { TextUnitsBody, TextUnitsPage } from './index/text-units.ts';
import type { UnitQuery } from './index/unit-filter.ts';
import type { ReadTranslations } from './index/unit-translations.ts';

/**
 * Most bytes of the translations of one page, as JSON. The sources have at most 4 MiB, and the server reads 8 MiB of a report;
 * the rest is for a history, commas and the envelope.
 */
const TRANSLATION_BYTES = 3.25 * 1024 * 1024;

/**
 * Adds the translations to a page of units. The page ends earlier where they are long. When they cannot be read, the page says
 * why and has the sources alone.
 *
 * @throws the signal's reason
 */
export async function addTranslations(
  page: TextUnitsPage,
  query: UnitQuery,
  read: ReadTranslations,
  signal: AbortSignal,
): Promise<TextUnitsBody> {
  const found = await read(
    {
      releaseId: page.release_id,
      generation: page.generation,
      units: page.items.map(({ unit_id, source_digest }) => ({
        unitId: unit_id,
        sourceDigest: source_digest,
      })),
      withHistory: selectsOneUnit(page, query),
      maxBytes: TRANSLATION_BYTES,
    },
    signal,
  );
  if ('unavailable' in found) {
    return {
      ...page,
      translations: {
        available: false,
        reason: found.unavailable,
        source_language: null,
        target_language: null,
        tasks_built: false,
      },
      history: null,
      items: page.items.map((unit) => ({ ...unit, translation: null })),
    };
  }
  const items = found.items.flatMap((translation, at) => {
    const unit = page.items[at];
    return unit === undefined ? [] : [{ ...unit, translation }];
  });
  return {
    ...page,
    next_offset: items.length < page.items.length ? page.offset + items.length : page.next_offset,
    translations: {
      available: true,
      reason: null,
      source_language: found.sourceLanguage,
      target_language: found.targetLanguage,
      tasks_built: found.isBuilt,
    },
    history: found.history,
    items,
  };
}

function selectsOneUnit(
  { total, items }: TextUnitsPage,
  { destination, field_path: path }: UnitQuery,
): boolean {
  return destination !== undefined && path !== undefined && total === 1 && items.length === 1;
}
