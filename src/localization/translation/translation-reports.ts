import type { ReportBodyOf } from '../../contract/reports/reports.ts';
import { UNIT_STATES, isBelow, noUnits, type UnitCounts } from '../../domain/translation/unit-state.ts';
import { createFileTest, fileLists, type GlobLists } from '../../platform/config/glob-filter.ts';
import { defineReport, type DefinedReport } from '../../engine/define-report.ts';
import { answerOf } from './work/translation-failure.ts';
import type { TranslationThread } from './work/translation-worker.ts';
import { expectedOutcomes } from '../../domain/translation/expected-outcomes.ts';
import {
  incompleteCoverage,
  type CoverageDemand,
  type PublishCounts,
} from '../../domain/translation/publish-outcome.ts';
import { HELD_COUNT_MAX } from './work/read/held-units.ts';
import type { WorkStatus } from './work/read/work-status.ts';
import type { CountedUnits, TaskPage, TaskQuery } from './work/store/task-page.ts';

type StatusBody = ReportBodyOf<'translation.status'>;

/** The facts of other parts for reports. */
export interface ReportOptions {
  /** Counts the conflicts of the Translation Memory; `null` when it cannot be used. */
  readonly openConflicts: (signal: AbortSignal) => Promise<number | null>;
  /** The current official release, or `null`. */
  readonly officialReleaseId: () => string | null;
  /** Which files and translations a localized release has. */
  readonly publishPolicy: () => GlobLists & CoverageDemand;
}

/** What the reports show of the localized channel. */
export interface ReportedChannel {
  /** The part about localized releases. */
  readonly localizedStatus: () => Omit<StatusBody, 'coverage' | 'machine_translation' | 'publish_blockers'>;
  /** The blockers of every publication, whatever the units are. */
  readonly publishBlockers: () => Readonly<StatusBody['publish_blockers']>;
}

/** The reports `translation.tasks`, `translation.handoff` and `translation.status`. */
export function translationReports(
  thread: TranslationThread,
  machineTranslation: () => StatusBody['machine_translation'],
  { openConflicts, officialReleaseId, publishPolicy }: ReportOptions,
  { localizedStatus, publishBlockers }: ReportedChannel,
): readonly DefinedReport[] {
  return [
    defineReport(
      'translation.tasks',
      async (query, signal) => await answerOf(readTasks(thread, query, signal), signal),
    ),
    defineReport('translation.handoff', async (_query, signal) => {
      const files = fileLists(publishPolicy());
      const handoff = await answerOf(thread.handoff(files, { signal }), signal);
      const releases = markExcluded(handoff.releases, files);
      return { ...handoff, releases, open_conflicts: await openConflicts(signal) };
    }),
    defineReport('translation.status', async (_query, signal) => {
      const policy = publishPolicy();
      const status = await answerOf(thread.status(fileLists(policy), { signal }), signal);
      const { coverage, publish_blockers: ofUnits } = coverageOf(status, officialReleaseId(), policy);
      const localized = localizedStatus();
      // Nobody translates the texts of a copied channel here.
      const isCopied = typeof localized.mirrored_from === 'string';
      const blockers = [...publishBlockers(), ...(isCopied ? [] : ofUnits)];
      const machine = machineTranslation();
      return { ...localized, coverage, machine_translation: machine, publish_blockers: blockers };
    }),
  ];
}

/** Reads a page of tasks. The thread answers other calls while it counts the targets that the query chooses. */
export async function readTasks(
  thread: Pick<TranslationThread, 'countChosen' | 'tasks'>,
  query: TaskQuery,
  signal: AbortSignal,
): Promise<TaskPage> {
  const chosen = new Map<number, number>();
  for (let from: number | null = 0; from !== null;) {
    const counted: CountedUnits | null = await thread.countChosen({ query, from }, { signal });
    if (counted === null) return await thread.tasks(query, { signal });
    for (const [task, units] of counted.units) chosen.set(task, (chosen.get(task) ?? 0) + units);
    from = counted.next;
  }
  return await thread.tasks({ ...query, chosen }, { signal });
}

type Releases = ReportBodyOf<'translation.handoff'>['releases'];

/** Marks the listed units whose files are in no publication. @param files which files a localized release has */
export function markExcluded(releases: Releases, files: GlobLists): Releases {
  const isPublished = createFileTest(files);
  const mark = <Unit extends { readonly destination: string }>(unit: Unit) =>
    isPublished(unit.destination) ? unit : { ...unit, left_out: 'excluded_file' as const };
  return releases.map((release) => ({
    ...release,
    blocked: release.blocked.map(mark),
    held: release.held.map(mark),
  }));
}

type Blocker = StatusBody['publish_blockers'][number];

/**
 * How much of a release is translated, and what prevents its publication.
 *
 * @param releaseId the current official release; `null` when there is none
 * @param demand what a localized release must have
 */
export function coverageOf(
  status: WorkStatus,
  releaseId: string | null,
  demand: CoverageDemand,
): { readonly coverage: StatusBody['coverage']; readonly publish_blockers: Blocker[] } {
  const isBuilt = releaseId !== null && status.built?.releaseId === releaseId;
  const units = isBuilt ? status.units : noUnits();
  const skipped = isBuilt ? status.skippedUnits : noUnits();
  const excluded = isBuilt ? status.excludedUnits : noUnits();
  const outcomes = expectedOutcomes(status, demand.minState);
  const all = noUnits();
  for (const state of UNIT_STATES) all[state] = units[state] + skipped[state] + excluded[state];
  return {
    coverage: {
      release_id: releaseId,
      target_language: status.targetLanguage,
      units: sumOf(all),
      accepted: all.proofread,
      translated: all.translated + all.proofread,
      blocked: all.blocked,
      blocked_left_out: skipped.blocked + excluded.blocked,
      skipped: sumOf(skipped),
      excluded: sumOf(excluded),
      by_state: all,
      publishable: isBuilt ? publishableUnits(status, outcomes) : 0,
    },
    publish_blockers: isBuilt ? blockersOf(outcomes, status, demand) : [missingTasks(releaseId)],
  };
}

/** The units that a publication would localize; `null` when more units are on hold than were counted. */
function publishableUnits({ heldUnits }: WorkStatus, { published }: PublishCounts): number | null {
  return sumOf(heldUnits) >= HELD_COUNT_MAX ? null : published;
}

function blockersOf(outcomes: PublishCounts, status: WorkStatus, demand: CoverageDemand): Blocker[] {
  const { blockedUnits } = status;
  const { minState } = demand;
  const below = (['draft', 'translated'] as const).filter((state) => isBelow(state, minState));
  const areBlocked = below.some((state) => blockedUnits[state] > 0);
  const all: Blocker[] = [
    {
      code: 'qa_blocked',
      message: 'units with blocking findings; slipway ctl translations handoff lists them',
      count: outcomes.blocked,
      unit_state: 'blocked',
    },
    {
      code: 'on_hold',
      message: 'units on hold until someone reviews them; slipway ctl translations handoff lists them',
      count: outcomes.held,
    },
    {
      code: 'stale',
      message: 'units whose source has changed since they were translated',
      count: outcomes.stale,
      unit_state: 'stale',
    },
    {
      code: 'untranslated',
      message: 'units without a translation',
      count: outcomes.untranslated,
      unit_state: 'untranslated',
    },
    {
      code: 'below_min_state',
      message: `${minState === 'proofread' ? 'drafts and translated units' : 'drafts'}; localized.minState demands ${minState}`,
      count: outcomes.below_min_state,
      // Blocked units that are below the state even without their findings count here.
      unit_state: [...below, ...(areBlocked ? ['blocked'] : [])].join(','),
    },
  ];
  const incomplete =
    publishableUnits(status, outcomes) === null ? null : incompleteCoverage(outcomes, demand);
  return [
    ...(incomplete === null
      ? []
      : [{ code: 'coverage_incomplete', message: incomplete, count: outcomes.published }]),
    ...all.filter(({ count }) => count > 0),
  ];
}

function missingTasks(releaseId: string | null): Blocker {
  return releaseId === null
    ? { code: 'no_official_release', message: 'there is no official release', count: 1 }
    : {
        code: 'tasks_not_built',
        message: `the translation tasks of ${releaseId} are not built yet`,
        count: 1,
      };
}

function sumOf(units: UnitCounts): number {
  return UNIT_STATES.reduce((sum, state) => sum + units[state], 0);
}
