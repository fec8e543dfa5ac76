import { countText } from '../../../../domain/count-text.ts';
import type { Database } from '../../../../engine/database/sqlite-database.ts';
import type { Finding } from '../store/target-rows.ts';

/** Writes why a task is blocked although its targets were good when they were stored. */
interface TaskReasons {
  /** Writes or removes the reason; one that a person gave stays while nothing new blocks the task. @returns whether it changed */
  write(taskSeq: number): boolean;
}

const PREFIX = 'requalified: ';
/** Blocked units whose checks the reason names. */
const READ_UNITS = 100;
const NAMED_UNITS = 3;

/** Creates the reasons of one target language. */
export function createTaskReasons(database: Database, targetLanguage: string): TaskReasons {
  // In this order, because most targets of a language belong to other tasks.
  const from = `FROM task_unit CROSS JOIN target INDEXED BY target_blocked ON target.unit_id = task_unit.unit_id
    AND target_language = ?
    WHERE task_seq = ? AND state = 'blocked' AND state_before IS NOT NULL`;
  const count = database.prepare(`SELECT count(*) AS count ${from}`);
  const some = database.prepare(`SELECT findings, qa_identity ${from} ORDER BY number LIMIT ${READ_UNITS}`);
  const set = database.prepare('UPDATE task SET reason = ?1 WHERE task_seq = ?2 AND reason IS NOT ?1');
  const clear = database.prepare(
    `UPDATE task SET reason = NULL WHERE task_seq = ? AND reason LIKE '${PREFIX}%'`,
  );
  return {
    write: (taskSeq) => {
      const blocked = Number(count.get(targetLanguage, taskSeq)?.['count'] ?? 0);
      if (blocked === 0) {
        return clear.run(taskSeq).changes > 0;
      }
      const rows = some.all(targetLanguage, taskSeq);
      const errors = rows
        .flatMap(({ findings }) => JSON.parse(String(findings)) as Finding[])
        .filter(({ severity }) => severity === 'error');
      const checks = [...new Set(errors.map(({ check }) => check))].sort().join(', ');
      const identities = rows.flatMap(({ qa_identity: identity }) => identity ?? []).slice(0, NAMED_UNITS);
      const { changes } = set.run(
        `${PREFIX}a change of the Glossary or the rules blocks ${countText(blocked, 'unit')} with ${checks} (${identities.join(', ')})`,
        taskSeq,
      );
      return changes > 0;
    },
  };
}
