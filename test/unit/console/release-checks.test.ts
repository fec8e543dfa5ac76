import { describe, expect, it } from 'vitest';
import { checksOf } from '../../../src/console/releases/release-checks.ts';
import { REPORTS } from '../../../src/contract/reports/reports.ts';

const TASK = REPORTS['task.status'].answer.example.task;

describe('the checks of a release', () => {
  it('are the tasks that read or mended it, with the result for it alone', () => {
    const verify = {
      ...TASK,
      kind: 'verify',
      result: {
        releases: [
          { release_id: 'r1', damaged: 0 },
          { release_id: 'r2', damaged: 2 },
        ],
      },
    };
    const repair = { ...TASK, kind: 'repair', args: { release_id: 'r2' }, result: null };
    const sync = { ...TASK, kind: 'sync', args: { release_id: 'r2' } };
    const other = { ...TASK, kind: 'verify', args: {}, result: { releases: 'none' } };
    const found = checksOf([repair, verify, sync, other], 'r2');
    expect(found.map(({ task, outcome }) => [task.kind, outcome])).toEqual([
      ['repair', ''],
      ['verify', '2 damaged'],
    ]);
    expect(checksOf([verify], 'r3')).toEqual([]);
  });
});
