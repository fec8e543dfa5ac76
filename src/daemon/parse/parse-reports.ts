import type { ReportBodyOf } from '../../contract/reports/reports.ts';
import type { Thread } from '../../platform/threads/thread.ts';
import { defineReport, type DefinedReport } from '../api/define-report.ts';
import type { ReadTranslations } from './index/unit-translations.ts';
import type { Task } from '../tasks/task.ts';
import { parseReportError } from './parse-failure.ts';
import type { ParseCalls } from './run/index-worker.ts';
import { addTranslations } from './translated-page.ts';

export interface ParseReportDependencies {
  readonly thread: Pick<Thread<ParseCalls>, 'call'>;
  /** The run that ended or began last. */
  readonly lastRun: () => Task | null;
  readonly readTranslations: ReadTranslations;
}

/**
 * The reports `parse.status`, `parse.text_units` and `parse.errors`: what the index says about the last release, and the
 * translations of its units.
 */
export function createParseReports({
  thread,
  lastRun,
  readTranslations,
}: ParseReportDependencies): readonly DefinedReport[] {
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
      const { index, replacement } = await guarded(thread.call('status', null, { signal }), signal);
      const replaced =
        replacement === null ? null : { at: Math.floor(replacement.at / 1000), reason: replacement.reason };
      return { ...index, replaced, last_run: runOf(lastRun()) };
    }),
    defineReport('parse.text_units', async (query, signal) => {
      const page = await guarded(thread.call('textUnits', query, { signal }), signal);
      return await addTranslations(page, query, readTranslations, signal);
    }),
    defineReport(
      'parse.errors',
      async (query, signal) => await guarded(thread.call('errors', query, { signal }), signal),
    ),
  ];
}

function runOf(task: Task | null): ReportBodyOf<'parse.status'>['last_run'] {
  if (task === null || task.started_at === null) return null;
  const { task_id, status, started_at, finished_at } = task;
  return { task_id, status, started_at, finished_at };
}
