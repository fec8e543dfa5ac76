import type { EvaluationFinding } from '../../../../domain/translation/evaluation-finding.ts';
import type { Finding } from '../store/target-rows.ts';
import { writeFindings } from '../store/new-judgement.ts';
import { getTarget } from '../store/target-store.ts';
import type { Work } from '../store/work.ts';

/** The findings of an evaluation on the target of a unit. */
export interface EvaluatedTarget {
  readonly unitId: Uint8Array;
  readonly text: string;
  readonly findings: readonly EvaluationFinding[];
}

/**
 * Stores what an evaluation found. Its findings replace those of the previous one, and nothing else of the target changes. A target
 * that has another text now is left out.
 *
 * @returns how many targets have the findings of the evaluation now
 */
export function storeEvaluated(work: Work, evaluated: readonly EvaluatedTarget[]): number {
  return work.database.transaction(() => {
    let stored = 0;
    for (const { unitId, text, findings } of evaluated) {
      const target = getTarget(work, unitId);
      if (target === null || target.text !== text || target.state === 'stale') continue;
      const others = target.findings.filter(({ origin }) => origin !== 'evaluation');
      const own = findings.map(({ kind, severity, message, span }): Finding => ({
        check: kind,
        origin: 'evaluation',
        severity,
        message,
        waivable: true,
        source_span: null,
        target_span: span,
      }));
      writeFindings(work, target, [...others, ...own], target.qaIdentity);
      stored += 1;
    }
    return stored;
  });
}
