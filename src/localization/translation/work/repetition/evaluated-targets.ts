import { createFindingsWriter } from '../store/new-judgement.ts';
import type { Finding } from '../store/target-rows.ts';
import type { WorkTools } from '../store/work-tools.ts';

/** The findings of an evaluation on the target of a unit. */
export interface EvaluatedTarget {
  readonly unitId: Uint8Array;
  readonly text: string;
  readonly findings: readonly (Pick<Finding, 'message'> & {
    readonly severity: Exclude<Finding['severity'], 'error'>;
  })[];
}

/** The name of every finding of an evaluation. */
const CHECK = 'evaluation';

/** Evaluations of stored targets. */
export interface EvaluatedTargets {
  /**
   * Stores what an evaluation found. Its findings replace those of the previous one, and nothing else of the target changes. A target
   * that has another text now is left out.
   *
   * @returns how many targets have the findings of the evaluation now
   */
  storeEvaluated(evaluated: readonly EvaluatedTarget[]): number;
}

/** Creates the storing of evaluations. */
export function createEvaluatedTargets({ database, targetLanguage, targets }: WorkTools): EvaluatedTargets {
  const writeFindings = createFindingsWriter(database, targetLanguage);
  return {
    storeEvaluated: (evaluated) =>
      database.transaction(() => {
        let stored = 0;
        for (const { unitId, text, findings } of evaluated) {
          const target = targets.get(unitId);
          if (target === null || target.text !== text || target.state === 'stale') continue;
          const others = target.findings.filter(({ origin }) => origin !== 'evaluation');
          const own = findings.map(({ severity, message }): Finding => ({
            check: CHECK,
            origin: 'evaluation',
            severity,
            message,
            waivable: true,
            source_span: null,
            target_span: null,
          }));
          writeFindings(target, [...others, ...own], target.qaIdentity);
          stored += 1;
        }
        return stored;
      }),
  };
}
