import type { ReportBodyOf } from '../../contract/reports/reports.ts';
import type { UsableState } from '../../domain/translation/unit-state.ts';
import type { Thread } from '../../platform/threads/thread.ts';
import { defineReport, type DefinedReport } from '../api/define-report.ts';
import { coverageOf } from './release-coverage.ts';
import { translationServiceError } from './work/translation-failure.ts';
import type { TranslationCalls } from './work/translation-worker.ts';

export interface TranslationReportDependencies {
  readonly thread: Pick<Thread<TranslationCalls>, 'call'>;
  /** Counts the conflicts of the Translation Memory; `null` when it cannot be used. */
  readonly openConflicts: (signal: AbortSignal) => Promise<number | null>;
  /** The current official release, or `null`. */
  readonly officialReleaseId: () => string | null;
  /** The lowest state of a translation that a localized release has. */
  readonly minState: () => UsableState;
  /** The part about localized releases. */
  readonly localizedStatus: () => Pick<
    ReportBodyOf<'translation.status'>,
    'current' | 'automation' | 'history'
  >;
}

/** The reports `translation.tasks`, `translation.handoff` and `translation.status`. */
export function createTranslationReports({
  thread,
  openConflicts,
  officialReleaseId,
  minState,
  localizedStatus,
}: TranslationReportDependencies): readonly DefinedReport[] {
  const guarded = async <T>(answer: Promise<T>, signal: AbortSignal): Promise<T> => {
    try {
      return await answer;
    } catch (error) {
      signal.throwIfAborted();
      throw translationServiceError(error);
    }
  };
  return [
    defineReport(
      'translation.tasks',
      async (query, signal) => await guarded(thread.call('tasks', query, { signal }), signal),
    ),
    defineReport('translation.handoff', async (_query, signal) => {
      const handoff = await guarded(thread.call('handoff', null, { signal }), signal);
      return { ...handoff, open_conflicts: await openConflicts(signal) };
    }),
    defineReport('translation.status', async (_query, signal) => {
      const status = await guarded(thread.call('status', null, { signal }), signal);
      return { ...localizedStatus(), ...coverageOf(status, officialReleaseId(), minState()) };
    }),
  ];
}
