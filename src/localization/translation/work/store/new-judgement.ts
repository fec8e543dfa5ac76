import { MACHINE_CHECKS } from '../../../../domain/translation/machine-flaws.ts';
import { requalify } from '../../../../domain/translation/requalify.ts';
import { blockingFindings } from './accepted-findings.ts';
import { NO_PROVENANCE, type Finding, type JudgedBy, type StoredTarget } from './target-rows.ts';
import { judgeLater, putTarget } from './target-store.ts';
import type { Work } from './work.ts';

/** The name of the finding of one source with several targets. The comparison of targets writes it, and no judge does. */
export const INCONSISTENT_TARGET = 'inconsistent_target';

/** The name of the finding of a target whose record in the Translation Memory was replaced. No judge writes it. */
export const SUPERSEDED_WORDING = 'superseded_wording';

/** Findings of checks that a new judgement keeps while the target stays. */
const KEPT_FINDINGS: ReadonlySet<string> = new Set([
  INCONSISTENT_TARGET,
  SUPERSEDED_WORDING,
  ...MACHINE_CHECKS,
]);

/** Writes the findings of a target. @returns false when it has them already, and nothing was written */
export function writeFindings(
  work: Work,
  target: StoredTarget,
  findings: readonly Finding[],
  qaIdentity: string | null,
): boolean {
  const text = JSON.stringify(findings);
  if (text === JSON.stringify(target.findings) && qaIdentity === target.qaIdentity) return false;
  work
    .sql('UPDATE target SET findings = ?, qa_identity = ? WHERE unit_id = ? AND target_language = ?')
    .run(text, qaIdentity, target.unitId, work.targetLanguage);
  return true;
}

/**
 * The one way of storing a new judgement of a stored target; call it inside a transaction. A change of the state is a new revision
 * with an entry in the history. Other findings alone are not. The findings that no judge writes stay.
 *
 * @param judged the findings, and the identity of the Glossary diagnosis
 * @param by the judge, and the task for the history
 * @param cause why the target was judged again, for the history
 * @returns the change: of the state, of the findings only, or `null` for none
 */
export function storeJudgement(
  work: Work,
  target: StoredTarget,
  judged: { readonly findings: readonly Finding[]; readonly qaIdentity: string | null },
  by: { readonly judgedBy: JudgedBy; readonly taskId: string; readonly releaseId: string },
  cause: 'requalified' | 'checked again',
): 'blocked' | 'freed' | 'findings' | null {
  const { qaIdentity } = judged;
  const findings = [...withAccepted(target, judged.findings), ...keptFindings(target.findings)];
  const blocking = blockingFindings(work, { ...target, findings, qaIdentity });
  const change = requalify(target, blocking.length > 0);
  if (change === null) {
    judgeLater(work, target.unitId, by.judgedBy);
    return writeFindings(work, target, findings, qaIdentity) ? 'findings' : null;
  }
  const isBlocked = change.state === 'blocked';
  const checks = [...new Set(blocking.map(({ check }) => check))].join(', ');
  const reason = `${cause}: ${isBlocked ? checks : 'nothing blocks it now'}`;
  putTarget(
    work,
    { ...target, ...change, findings, qaIdentity, updatedAt: work.now() },
    { ...NO_PROVENANCE, ...by, reason },
  );
  return isBlocked ? 'blocked' : 'freed';
}

/** The findings that no judge writes. */
export function keptFindings(findings: readonly Finding[]): Finding[] {
  return findings.filter(({ check, origin }) => KEPT_FINDINGS.has(check) || origin === 'evaluation');
}

/** The findings of an evaluation: they stay as long as the target has its text. */
export function evaluationFindings(findings: readonly Finding[]): Finding[] {
  return findings.filter(({ origin }) => origin === 'evaluation');
}

/**
 * The findings of a judgement. A reviewer has accepted a proofread target with the warnings that it had, and a term that is missing
 * becomes an error with that very review. So a finding of the Glossary that the review had keeps its severity.
 */
function withAccepted({ state, findings: before }: StoredTarget, judged: readonly Finding[]): Finding[] {
  if (state !== 'proofread') return [...judged];
  return judged.map((finding) => {
    const known = before.find(
      ({ origin, check, message }) =>
        origin === 'glossary' && check === finding.check && message === finding.message,
    );
    return finding.origin === 'glossary' && known !== undefined
      ? { ...finding, severity: known.severity }
      : finding;
  });
}
