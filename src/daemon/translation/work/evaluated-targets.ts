import type { Database } from '../../database/sqlite-database.ts';
import { createFindingsWriter } from './new-judgement.ts';
import type { Finding } from './target-rows.ts';
import type { TargetStore } from './target-store.ts';

/** The findings of an evaluation on the target of a unit. */
export interface EvaluatedTarget {
  readonly unitId: Uint8Array;
  /** The target that was evaluated. */
  readonly text: string;
  readonly findings: readonly (Pick<Finding, 'message'> & {
    readonly severity: Exclude<Finding['severity'], 'error'>;
  })[];
}

export interface EvaluatedTargetsOptions {
  readonly database: Database;
  readonly targetLanguage: string;
  readonly targets: Pick<TargetStore, 'get'>;
}

/** The name of every finding of an evaluation. */
const CHECK = 'evaluation';

/**
 * Creates the storing of evaluations. The findings of an evaluation replace those of the previous one, and nothing else of the target
 * changes. A target that has another text now is left out.
 *
 * @returns a function that says how many targets have the findings of the evaluation now
 */
export function createEvaluatedTargets({
  database,
  targetLanguage,
  targets,
}: EvaluatedTargetsOptions): (evaluated: readonly EvaluatedTarget[]) => number {
  const writeFindings = createFindingsWriter(database, targetLanguage);
  return (evaluated) =>
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
    });
}
