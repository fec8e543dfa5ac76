import type { ReportBodyOf } from '../../contract/reports/reports.ts';
import type { UsableState } from '../../domain/translation/unit-state.ts';
import { fileLists, type GlobLists } from '../../platform/config/glob-filter.ts';
import { defineReport, type DefinedReport } from '../../engine/define-report.ts';
import { markExcluded } from './left-out-units.ts';
import { coverageOf } from './release-coverage.ts';
import { translationServiceError } from './work/translation-failure.ts';
import type { TranslationThread } from './work/translation-worker.ts';

export interface TranslationReportDependencies {
  readonly thread: TranslationThread;
  /** Counts the conflicts of the Translation Memory; `null` when it cannot be used. */
  readonly openConflicts: (signal: AbortSignal) => Promise<number | null>;
  /** The current official release, or `null`. */
  readonly officialReleaseId: () => string | null;
  /** Which files a localized release has, and the lowest state of its translations. */
  readonly publishPolicy: () => GlobLists & { readonly minState: UsableState };
}

/** What the reports show of the localized channel. */
export interface ReportedChannel {
  /** The part about localized releases. */
  readonly localizedStatus: () => Pick<
    ReportBodyOf<'translation.status'>,
    'current' | 'mirrored_from' | 'automation' | 'history'
  >;
  /** The blockers of every publication, whatever the units are. */
  readonly publishBlockers: () => Readonly<ReportBodyOf<'translation.status'>['publish_blockers']>;
}

/** The reports `translation.tasks`, `translation.handoff` and `translation.status`. */
export function createTranslationReports(
  { thread, openConflicts, officialReleaseId, publishPolicy }: TranslationReportDependencies,
  { localizedStatus, publishBlockers }: ReportedChannel,
): readonly DefinedReport[] {
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
      async (query, signal) => await guarded(thread.tasks(query, { signal }), signal),
    ),
    defineReport('translation.handoff', async (_query, signal) => {
      const files = fileLists(publishPolicy());
      const handoff = await guarded(thread.handoff(files, { signal }), signal);
      const releases = markExcluded(handoff.releases, files);
      return { ...handoff, releases, open_conflicts: await openConflicts(signal) };
    }),
    defineReport('translation.status', async (_query, signal) => {
      const policy = publishPolicy();
      const status = await guarded(thread.status(fileLists(policy), { signal }), signal);
      const { coverage, publish_blockers: ofUnits } = coverageOf(
        status,
        officialReleaseId(),
        policy.minState,
      );
      const localized = localizedStatus();
      // Nobody translates the texts of a copied channel here.
      const isCopied = typeof localized.mirrored_from === 'string';
      const blockers = [...publishBlockers(), ...(isCopied ? [] : ofUnits)];
      return { ...localized, coverage, publish_blockers: blockers };
    }),
  ];
}
