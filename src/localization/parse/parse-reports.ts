import type { ReportBodyOf } from '../../contract/reports/reports.ts';
import type { CallerOf } from '../../platform/threads/caller.ts';
import { defineReport, type DefinedReport } from '../../engine/define-report.ts';
import type { ReadBoxes, ReadTranslations } from './index/read/unit-translations.ts';
import type { Task } from '../../engine/tasks/task.ts';
import { parseReportError } from './parse-task.ts';
import type { ParseStore } from './run/index-worker.ts';
import type { TextUnitsBody, TextUnitsPage } from './index/read/text-units.ts';
import type { UnitQuery } from './index/read/unit-filter.ts';
import { isSearch, searchUnits, type EndPage, type SearchTargets } from './search-units.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';

/**
 * Most bytes of the translations of one page, as JSON. The sources have at most 4 MiB, and the server reads 8 MiB of a report;
 * the rest is for a history, commas and the envelope.
 */
const TRANSLATION_BYTES = 3.25 * 1024 * 1024;

/** The translations of the shown units, and what a search asks about them. */
export interface ShownTranslations {
  readonly read: ReadTranslations;
  readonly search: SearchTargets;
}

/**
 * Adds the translations to a page of units, and the boxes of the game that show them. The page ends earlier where they are long.
 * When they cannot be read, the page says why and has the sources alone.
 *
 * @param endAfter ends a page that has fewer units
 * @throws the signal's reason
 */
export async function addTranslations(
  page: TextUnitsPage,
  query: UnitQuery,
  { read, readBoxes }: { readonly read: ReadTranslations; readonly readBoxes: ReadBoxes },
  signal: AbortSignal,
  endAfter: EndPage = (items) => ({ items, next: page.offset + items }),
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
  const boxOf = await readBoxes();
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
      items: page.items.map((unit) => ({ ...unit, box: boxOf(unit), translation: null })),
    };
  }
  const items = found.items.flatMap((translation, at) => {
    const unit = page.items[at];
    return unit === undefined ? [] : [{ ...unit, box: boxOf(unit), translation }];
  });
  const isShorter = items.length < page.items.length;
  const end = isShorter ? endAfter(items.length) : { items: items.length, next: page.next_offset };
  return {
    ...page,
    next_offset: end.next,
    translations: {
      available: true,
      reason: null,
      source_language: found.sourceLanguage,
      target_language: found.targetLanguage,
      tasks_built: found.isBuilt,
    },
    history: found.history,
    items: items.slice(0, end.items),
  };
}

function selectsOneUnit(
  { total, items }: TextUnitsPage,
  { destination, field_path: path }: UnitQuery,
): boolean {
  return destination !== undefined && path !== undefined && total === 1 && items.length === 1;
}

/**
 * The reports `parse.status`, `parse.text_units` and `parse.errors`: what the index says about the last release, and the
 * translations of its units.
 */
export function parseReports({
  thread,
  lastRun,
  translations,
  readBoxes,
  now,
}: {
  readonly thread: CallerOf<ParseStore>;
  readonly lastRun: () => Task | null;
  readonly translations: ShownTranslations;
  readonly readBoxes: ReadBoxes;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}): readonly DefinedReport[] {
  const guarded = async <T>(answer: Promise<T>, signal: AbortSignal): Promise<T> => {
    try {
      return await answer;
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof ServiceError ? error : parseReportError(error);
    }
  };
  return [
    defineReport('parse.status', async (_query, signal) => {
      const { index, replacement } = await guarded(thread.status(null, { signal }), signal);
      const replaced =
        replacement === null ? null : { at: Math.floor(replacement.at / 1000), reason: replacement.reason };
      return { ...index, replaced, last_run: runOf(lastRun()) };
    }),
    defineReport('parse.text_units', async (query, signal) => {
      if (!isSearch(query)) {
        const page = await guarded(thread.textUnits(query, { signal }), signal);
        return await addTranslations(page, query, { ...translations, readBoxes }, signal);
      }
      const options = { thread, targets: translations.search, now };
      const { endAfter, ...page } = await guarded(searchUnits(options, query, signal), signal);
      return await addTranslations(page, query, { ...translations, readBoxes }, signal, endAfter);
    }),
    defineReport(
      'parse.errors',
      async (query, signal) => await guarded(thread.errors(query, { signal }), signal),
    ),
  ];
}

function runOf(task: Task | null): ReportBodyOf<'parse.status'>['last_run'] {
  if (task === null || task.started_at === null) return null;
  const { task_id, status, started_at, finished_at } = task;
  return { task_id, status, started_at, finished_at };
}
