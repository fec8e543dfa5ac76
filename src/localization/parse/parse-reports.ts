import type { ReportBodyOf } from '../../contract/reports/reports.ts';
import type { CallerOf } from '../../platform/threads/caller.ts';
import { defineReport, type DefinedReport } from '../../engine/define-report.ts';
import type { ReadTranslations } from './index/read/unit-translations.ts';
import type { Task } from '../../engine/tasks/task.ts';
import { parseReportError } from './parse-task.ts';
import type { ParseStore } from './run/index-worker.ts';
import type { TextUnitsBody, TextUnitsPage } from './index/read/text-units.ts';
import type { UnitQuery } from './index/read/unit-filter.ts';

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

/**
 * The reports `parse.status`, `parse.text_units` and `parse.errors`: what the index says about the last release, and the
 * translations of its units.
 */
export function parseReports({
  thread,
  lastRun,
  readTranslations,
}: {
  readonly thread: CallerOf<ParseStore>;
  readonly lastRun: () => Task | null;
  readonly readTranslations: ReadTranslations;
}): readonly DefinedReport[] {
  const guarded = async <T>(answer: Promise<T>, signal: AbortSignal): Promise<T> => {
    try {
      return await answer;
    } catch (error) {
      signal.throwIfAborted();
      throw parseReportError(error);
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
      const page = await guarded(thread.textUnits(query, { signal }), signal);
      return await addTranslations(page, query, readTranslations, signal);
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
