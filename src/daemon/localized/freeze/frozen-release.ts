import type { GlobLists } from '../../../platform/config/glob-filter.ts';
import {
  coverageOf,
  noOutcomes,
  type PublishCounts,
  type PublishOutcome,
} from '../../../domain/translation/publish-outcome.ts';
import type { UsableState } from '../../../domain/translation/unit-state.ts';
import { countText } from '../../../domain/count-text.ts';
import { TaskError, type TaskResult } from '../../tasks/task.ts';
import type { FrozenContainer } from './frozen-container.ts';

/** The demands on the texts of a localized release. */
export interface PublishPolicy extends GlobLists {
  /** The lowest state of a target. */
  readonly minState: UsableState;
  /** Least coverage, from 0 to 1. */
  readonly minCoverage: number;
}

/** A unit whose target is blocked. */
export interface BlockedUnit {
  readonly destination: string;
  readonly archiveEntry: string | null;
  readonly unitId: string;
  readonly taskId: string;
  readonly checks: readonly string[];
  readonly qaIdentity: string | null;
}

/** The units of one file by what becomes of them. */
export interface DestinationCoverage {
  readonly destination: string;
  readonly counts: PublishCounts;
}

/** The texts of a localized release, as they were at one moment. */
export interface FrozenRelease {
  readonly baseReleaseId: string;
  /** Of the parse index. */
  readonly generation: number;
  /** Only those with edits, in the order of the parse index. */
  readonly containers: readonly FrozenContainer[];
  /** Units of the files that the globs select. */
  readonly counts: PublishCounts;
  /** Units of the other files. */
  readonly excludedUnits: number;
  /** The files that the globs select and that have units. */
  readonly destinations: readonly DestinationCoverage[];
  /** The first blocked units. */
  readonly blocked: readonly BlockedUnit[];
  /**
   * Units that the previous localized release has, whose source is the same and that this one has not, because their translation
   * no longer suffices. Units that people have put on hold or skipped do not count. `null` when the texts of the previous
   * release are not known.
   */
  readonly lostUnits: number | null;
  /** SHA-256 of the file that the targets come from; `null` for stored targets. */
  readonly translationFileSha256: string | null;
}

/** Why a frozen release cannot be published. */
export interface PublishBlocker {
  readonly code: 'qa_blocked' | 'coverage_incomplete';
  readonly message: string;
  readonly count: number;
}

/** Blocked units that a message names. */
const NAMED_UNITS = 20;

/** Collects the coverage of a release while it is frozen. */
export interface CoverageTally {
  add(destination: string, outcome: PublishOutcome, units: number): void;
  readonly counts: PublishCounts;
  readonly destinations: readonly DestinationCoverage[];
}

/** Creates the tally. The units of one destination come together. */
export function createCoverageTally(): CoverageTally {
  const counts = noOutcomes();
  const destinations: { destination: string; counts: Record<PublishOutcome, number> }[] = [];
  return {
    add: (destination, outcome, units) => {
      let last = destinations.at(-1);
      if (last?.destination !== destination) {
        last = { destination, counts: noOutcomes() };
        destinations.push(last);
      }
      last.counts[outcome] += units;
      counts[outcome] += units;
    },
    counts,
    destinations,
  };
}

/** Everything that stands against the publication of a release. */
export function blockersOf(
  { counts, blocked }: Pick<FrozenRelease, 'counts' | 'blocked'>,
  { minState, minCoverage }: PublishPolicy,
): readonly PublishBlocker[] {
  const blockers: PublishBlocker[] = [];
  if (counts.blocked > 0) {
    const named = blocked.slice(0, NAMED_UNITS).map(nameOf).join(', ');
    blockers.push({
      code: 'qa_blocked',
      message: `${countText(counts.blocked, 'unit has', 'units have')} blocking findings: ${named}; correct what they name, accept the findings, or put units on hold`,
      count: counts.blocked,
    });
  }
  const coverage = coverageOf(counts);
  if (counts.published === 0) {
    blockers.push({
      code: 'coverage_incomplete',
      message: `no unit can be published: ${describe(counts, minState)}`,
      count: 0,
    });
  } else if (coverage < minCoverage) {
    blockers.push({
      code: 'coverage_incomplete',
      message: `${percent(coverage)} of the units can be published, and localized.minCoverage demands ${percent(minCoverage)}: ${describe(counts, minState)}`,
      count: counts.published,
    });
  }
  return blockers;
}

/**
 * Refuses a release that must not be published.
 *
 * @param force waives incomplete coverage, never blocking findings, and not a file without a text that can be published
 * @throws TaskError `qa_blocked`, `coverage_incomplete`
 */
export function requirePublishable(
  frozen: Pick<FrozenRelease, 'counts' | 'blocked' | 'translationFileSha256'>,
  policy: PublishPolicy,
  force: boolean,
): void {
  const isUseless = frozen.translationFileSha256 !== null && frozen.counts.published === 0;
  const isWaived = force && !isUseless;
  const blocker = blockersOf(frozen, policy).find(({ code }) => !isWaived || code !== 'coverage_incomplete');
  if (blocker === undefined) return;
  const { code, message } = blocker;
  const remedy = isUseless
    ? 'name a file with translations'
    : 'translate more, lower the demand, or send force';
  const advice = code === 'coverage_incomplete' ? `; ${remedy}` : '';
  throw new TaskError(code, `${message}${advice}`, {
    details: { counts: frozen.counts, blocked: frozen.blocked.map(blockedFields) },
  });
}

/** A blocked unit as task results show it. */
export function blockedFields({
  destination,
  archiveEntry,
  unitId,
  taskId,
  checks,
  qaIdentity,
}: BlockedUnit): TaskResult {
  return {
    destination,
    archive_entry: archiveEntry,
    unit_id: unitId,
    task_id: taskId,
    codes: checks,
    qa_identity: qaIdentity,
  };
}

function nameOf({ unitId, checks, qaIdentity }: BlockedUnit): string {
  return `${unitId} (${[...checks, ...(qaIdentity === null ? [] : [qaIdentity])].join(', ')})`;
}

function describe(counts: PublishCounts, minState: UsableState): string {
  const all = [
    `${counts.untranslated} untranslated`,
    `${counts.stale} with a changed source`,
    `${counts.below_min_state} not ${minState} yet`,
    `${counts.held} on hold`,
    `${counts.blocked} blocked`,
  ];
  return all.filter((each) => !each.startsWith('0 ')).join(', ') || 'there are no units';
}

function percent(part: number): string {
  return `${Math.floor(part * 1000) / 10} %`;
}
