import type { GlobLists } from '../../../platform/config/glob-filter.ts';
import {
  incompleteCoverage,
  type CoverageDemand,
  type PublishCounts,
} from '../../../domain/translation/publish-outcome.ts';
import { countText } from '../../../domain/count-text.ts';
import { TaskError } from '../../../engine/tasks/task.ts';
import type { Blake3Hex } from '../../../domain/release/digest.ts';

export interface FrozenContainer {
  readonly destination: string;
  readonly official: { readonly blake3: Blake3Hex; readonly size: number };
  /**
   * JSONL, one {@link FrozenEdit} a line, in the order of the parse index. It lies below the work folder of the task and
   * is removed with it.
   */
  readonly editsPath: string;
  readonly edits: number;
  /** BLAKE3 over all that decides the bytes: patcher version, official BLAKE3, rules digest, edits in order. */
  readonly patchKey: Blake3Hex;
}

/** One text to replace, with its exact place in the official object. */
export interface FrozenEdit {
  readonly unitId: string;
  /** The path through archives, `!/` between levels; `null` outside of archives. */
  readonly archiveEntry: string | null;
  /** Unity object id, signed 64 bits, as decimal digits: JSON numbers cannot hold it. */
  readonly pathId: string | null;
  readonly fieldPath: string;
  readonly source: string;
  readonly target: string;
}

export type PublishPolicy = GlobLists & CoverageDemand;

/** A unit with blocking findings, as results of tasks name it. */
export interface BlockedUnit {
  readonly destination: string;
  readonly archive_entry: string | null;
  readonly unit_id: string;
  readonly task_id: string;
  /** Its beginning. */
  readonly source_text: string;
  readonly codes: readonly string[];
  readonly qa_identity: string | null;
}

interface DestinationCoverage {
  readonly destination: string;
  readonly counts: PublishCounts;
}

export interface FrozenRelease {
  readonly baseReleaseId: string;
  /** Of the parse index. */
  readonly generation: number;
  /** Only those with edits, in the order of the parse index. */
  readonly containers: readonly FrozenContainer[];
  readonly counts: PublishCounts;
  readonly excludedUnits: number;
  readonly destinations: readonly DestinationCoverage[];
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

interface PublishBlocker {
  readonly code: 'qa_blocked' | 'coverage_incomplete';
  readonly message: string;
  readonly count: number;
}

const NAMED_UNITS = 20;

export function blockersOf(
  { counts, blocked }: FrozenRelease,
  policy: PublishPolicy,
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
  const incomplete = incompleteCoverage(counts, policy);
  if (incomplete !== null) {
    blockers.push({ code: 'coverage_incomplete', message: incomplete, count: counts.published });
  }
  return blockers;
}

/**
 * Refuses a release that must not be published.
 *
 * @param force waives incomplete coverage, never blocking findings, and not a file without a text that can be published
 * @throws TaskError `qa_blocked`, `coverage_incomplete`
 */
export function requirePublishable(frozen: FrozenRelease, policy: PublishPolicy, force: boolean): void {
  const isUseless = frozen.translationFileSha256 !== null && frozen.counts.published === 0;
  const isWaived = force && !isUseless;
  const blocker = blockersOf(frozen, policy).find(({ code }) => !isWaived || code !== 'coverage_incomplete');
  if (blocker === undefined) return;
  const { code, message } = blocker;
  const remedy = isUseless
    ? 'name a file with translations'
    : 'translate or accept more, lower localized.minState or localized.minCoverage, or send force';
  const advice = code === 'coverage_incomplete' ? `; ${remedy}` : '';
  throw new TaskError(code, `${message}${advice}`, {
    details: { counts: frozen.counts, blocked: frozen.blocked },
  });
}

function nameOf({ unit_id, codes, qa_identity }: BlockedUnit): string {
  return `${unit_id} (${[...codes, ...(qa_identity === null ? [] : [qa_identity])].join(', ')})`;
}
