import { describe, expect, it } from 'vitest';
import { createRunTally } from '../../../../../src/daemon/translation/worker/run-tally.ts';
import { NO_USAGE } from '../../../../../src/daemon/translation/providers/spending.ts';

describe('the result of a run', () => {
  it('names only tasks with settled units or requests, and at most 50 of them', () => {
    const tally = createRunTally();
    for (let task = 0; task < 300; task += 1) tally.usage(`idle ${task}`, NO_USAGE);
    tally.usage('asked', { ...NO_USAGE, requests: 1 });
    for (let task = 0; task < 60; task += 1) tally.unit(`done ${task}`, 'reused');
    const { tasks, per_task: named } = tally.report(400, 0) as {
      tasks: number;
      per_task: { task_id: string }[];
    };
    expect(tasks).toBe(361);
    expect(named).toHaveLength(50);
    expect(named.slice(0, 2)).toMatchObject([
      { task_id: 'asked', units: 0 },
      { task_id: 'done 0', units: 1 },
    ]);
  });
});
