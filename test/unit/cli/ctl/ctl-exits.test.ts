import { describe, expect, it } from 'vitest';
import { failureOfProblem } from '../../../../src/cli/ctl/ctl-exits.ts';

describe('the failure of a refused request', () => {
  it('does not blame the arguments where the token has reached a limit', () => {
    const problem = {
      type: 'about:blank',
      title: 'Too many requests',
      status: 429,
      code: 'too_many_requests',
      detail: 'This token sends more requests than it may.',
      instance: 'x',
    } as Parameters<typeof failureOfProblem>[0];
    expect(failureOfProblem(problem)).toMatchObject({ exit: 5, code: 'too_many_requests' });
  });

  it('has the code of the daemon where the daemon has refused', () => {
    const problem = {
      status: 502,
      code: 'daemon_rejected',
      detail: 'There is a term of this id.',
      daemon: { status: 409, code: 'term_exists' },
    } as Parameters<typeof failureOfProblem>[0];
    expect(failureOfProblem(problem)).toMatchObject({
      exit: 1,
      code: 'term_exists',
      message: 'There is a term of this id. (daemon: 409 term_exists)',
    });
  });
});
