import { describe, expect, it } from 'vitest';
import type { ControlScope } from '../../../src/contract/actions/control-scopes.ts';
import { renderConsoleContract } from '../../../src/contract/console/console-contract.ts';
import { mayRunOn, permittedContract } from '../../../src/console/state/permitted-jobs.ts';

const contract = renderConsoleContract();

/** A token with one scope. The server allows it actions on schedules and tasks, whose job decides. */
function tokenWith(scope: ControlScope): Parameters<typeof mayRunOn>[0] {
  return { contract, mayRun: () => true, hasScope: (wanted) => wanted === scope };
}

describe('an action on a schedule or a task', () => {
  it('is offered to a token with the scope of its job', () => {
    const kinds = ['sync', 'worker-run', 'localized-publish', 'localized-rollback', 'proofread', 'new-job'];
    const offered = (scope: ControlScope): string[] =>
      kinds.filter((kind) => mayRunOn(tokenWith(scope), 'task-cancel', kind));
    expect(offered('operate')).toEqual(['sync', 'new-job']);
    expect(offered('translate')).toEqual(['worker-run']);
    expect(offered('publish')).toEqual(['localized-publish', 'localized-rollback']);
    expect(offered('review')).toEqual(['proofread']);
  });

  it('is offered to every token for a job that only reads', () => {
    expect(mayRunOn(tokenWith('translate'), 'task-cancel', 'text-differences')).toBe(true);
  });

  it('is never offered where the server forwards no action', () => {
    expect(mayRunOn({ ...tokenWith('operate'), mayRun: () => false }, 'schedule-run', 'sync')).toBe(false);
  });

  it('adds only the jobs that the token may schedule', () => {
    expect(Object.keys(permittedContract(tokenWith('publish')).jobs)).toEqual([
      'text-differences',
      'localized-publish',
      'localized-follow',
    ]);
  });
});
