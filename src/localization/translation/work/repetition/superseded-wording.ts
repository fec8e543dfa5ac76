import { finding, shown } from '../../../../domain/text/checks/finding.ts';
import { normalText } from '../../../../domain/text/normal-text.ts';
import { blake3OfText } from '../../../../platform/hashing/text-blake3.ts';
import { SUPERSEDED_WORDING } from '../store/new-judgement.ts';
import { NO_PROVENANCE, targetOf, type Finding, type StoredTarget } from '../store/target-rows.ts';
import { putTarget } from '../store/target-store.ts';
import { refreshTasks } from '../store/task-counts.ts';
import type { Work } from '../store/work.ts';

/** A wording that reviewers of the Translation Memory replaced by another one. */
export interface SupersededWording {
  readonly sourceText: string;
  /** As in the superseded record. */
  readonly targetText: string;
  readonly wordingNow: string;
  /** For the history of the targets. */
  readonly reason: string;
}

const PART_TARGETS = 200;
const FIND = `SELECT * FROM target WHERE target_language = ? AND source_digest IN (?, ?)
  AND unit_id > ? AND author_kind = 'memory' AND state IN ('draft', 'translated', 'blocked')
  ORDER BY unit_id LIMIT ${PART_TARGETS}`;

/**
 * Marks a part of the targets of one source whose wording the Translation Memory gave and has replaced since. A target that nobody
 * has reviewed is at most a draft then, with a finding that names the other wording. Reviewed targets, and those of people and
 * programs, stay.
 *
 * @param query.after the unit after which the part begins; `null` for the first part
 * @returns how many targets were marked that were not before, and the unit after which the next part begins; `null` at the end
 */
export function markSuperseded(
  work: Work,
  { wording, after }: { readonly wording: SupersededWording; readonly after: Uint8Array | null },
): { readonly marked: number; readonly next: Uint8Array | null } {
  return work.database.transaction(() => {
    // The memory has the source with single line feeds; a game may have both kinds.
    const digest = blake3OfText(wording.sourceText);
    const windows = blake3OfText(wording.sourceText.replaceAll('\n', '\r\n'));
    const found = work
      .sql(FIND)
      .all(work.targetLanguage, digest, windows, after ?? new Uint8Array())
      .map(targetOf);
    const old = normalText(wording.targetText);
    const message = `the Translation Memory has ${shown(wording.wordingNow)} for this text now`;
    const affected = found.filter((target) => normalText(target.text) === old && !isMarked(target, message));
    for (const target of affected) {
      putTarget(work, marked(target, message, work.now()), { ...NO_PROVENANCE, reason: wording.reason });
    }
    refreshTasks(work);
    const next = found.length < PART_TARGETS ? null : (found.at(-1)?.unitId ?? null);
    return { marked: affected.length, next };
  });
}

function isMarked({ findings }: StoredTarget, message: string): boolean {
  return findings.some((each) => each.check === SUPERSEDED_WORDING && each.message === message);
}

/** The target with one mark: a later wording takes the place of an earlier one. */
function marked(target: StoredTarget, message: string, now: number): StoredTarget {
  const mark: Finding = { ...finding(SUPERSEDED_WORDING, message), origin: 'target' };
  return {
    ...target,
    state: target.state === 'translated' ? 'draft' : target.state,
    stateBefore: target.stateBefore === 'translated' ? 'draft' : target.stateBefore,
    findings: [...target.findings.filter(({ check }) => check !== SUPERSEDED_WORDING), mark],
    updatedAt: now,
  };
}
