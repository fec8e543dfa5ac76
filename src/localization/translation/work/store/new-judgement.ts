import { requalify } from '../../../../domain/translation/requalify.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import { createAcceptedFindings } from './accepted-findings.ts';
import { createLaterJudgement } from './target-store.ts';
import type { WorkTools } from './work-tools.ts';
import { NO_PROVENANCE, type Finding, type Provenance, type StoredTarget } from './target-rows.ts';

/** The name of the finding of one source with several targets. The comparison of targets writes it, and no judge does. */
export const INCONSISTENT_TARGET = 'inconsistent_target';

/** The name of the finding of a target whose record in the Translation Memory was replaced. No judge writes it. */
export const SUPERSEDED_WORDING = 'superseded_wording';

/** Findings of checks that a new judgement keeps while the target stays. */
const KEPT_FINDINGS: ReadonlySet<string> = new Set([INCONSISTENT_TARGET, SUPERSEDED_WORDING]);

interface NewJudgement extends Pick<Provenance, 'judgedBy' | 'taskId' | 'releaseId'> {
  readonly findings: readonly Finding[];
  /** Of the Glossary diagnosis; `null` without one. */
  readonly qaIdentity: string | null;
  /** Why the target was judged again, for the history. */
  readonly cause: 'requalified' | 'checked again';
}

/** Creates the writer of findings. A target whose findings stay is not written. @returns a function that says whether it wrote */
export function createFindingsWriter(
  database: Database,
  targetLanguage: string,
): (target: StoredTarget, findings: readonly Finding[], qaIdentity: string | null) => boolean {
  const write = database.prepare(
    'UPDATE target SET findings = ?, qa_identity = ? WHERE unit_id = ? AND target_language = ?',
  );
  return (target, findings, qaIdentity) => {
    const text = JSON.stringify(findings);
    if (text === JSON.stringify(target.findings) && qaIdentity === target.qaIdentity) return false;
    write.run(text, qaIdentity, target.unitId, targetLanguage);
    return true;
  };
}

/**
 * Creates the one way of storing a new judgement of a stored target; call it inside a transaction. A change of the state is a new
 * revision with an entry in the history. Other findings alone are not. The findings that no judge writes stay.
 *
 * @returns a function that says what changed: the state, the findings only, or `null` for nothing
 */
export function createNewJudgements({
  database,
  targetLanguage,
  targets,
  now,
}: WorkTools): (target: StoredTarget, judgement: NewJudgement) => 'blocked' | 'freed' | 'findings' | null {
  const accepted = createAcceptedFindings(database, targetLanguage);
  const writeFindings = createFindingsWriter(database, targetLanguage);
  const judgeLater = createLaterJudgement(database);
  return (target, { cause, qaIdentity, findings: judged, ...provenance }) => {
    const findings = [...withAccepted(target, judged), ...keptFindings(target)];
    const blocking = accepted.blocking({ ...target, findings, qaIdentity });
    const change = requalify(target, blocking.length > 0);
    if (change === null) {
      judgeLater(target.unitId, provenance.judgedBy);
      return writeFindings(target, findings, qaIdentity) ? 'findings' : null;
    }
    const isBlocked = change.state === 'blocked';
    const checks = [...new Set(blocking.map(({ check }) => check))].join(', ');
    targets.put(
      { ...target, ...change, findings, qaIdentity, updatedAt: now() },
      {
        ...NO_PROVENANCE,
        ...provenance,
        reason: `${cause}: ${isBlocked ? checks : 'nothing blocks it now'}`,
      },
    );
    return isBlocked ? 'blocked' : 'freed';
  };
}

/** The findings that no judge writes. */
export function keptFindings({ findings }: Pick<StoredTarget, 'findings'>): Finding[] {
  return findings.filter(({ check, origin }) => KEPT_FINDINGS.has(check) || origin === 'evaluation');
}

/** The findings of an evaluation: they stay as long as the target has its text. */
export function evaluationFindings({ findings }: Pick<StoredTarget, 'findings'>): Finding[] {
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
