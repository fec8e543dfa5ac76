import { expect, it } from 'vitest';
import { createTaskReasons } from '../../../../../src/daemon/translation/work/requalified-reason.ts';
import { openTestWork, rowsOf } from '../../../../support/translation-work.ts';

it('reads the reason of a task from its own units, however many targets the language has', () => {
  const { database } = openTestWork();
  const statements: string[] = [];
  const prepare = (sql: string) => {
    statements.push(sql);
    return database.prepare(sql);
  };
  createTaskReasons({ ...database, prepare }, 'zh-Hans');
  const reads = statements.filter((sql) => sql.startsWith('SELECT'));
  expect(reads).toHaveLength(2);
  for (const read of reads) {
    const plan = rowsOf(database, `EXPLAIN QUERY PLAN ${read}`).map(({ detail }) => String(detail));
    expect(plan).toEqual([
      expect.stringContaining('SEARCH task_unit USING PRIMARY KEY (task_seq=?)'),
      expect.stringContaining('SEARCH target USING INDEX target_blocked (unit_id=? AND target_language=?)'),
    ]);
  }
});
