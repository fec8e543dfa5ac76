import { describe, expect, it } from 'vitest';
import { triedBody } from '../../../../src/domain/release/tried-body.ts';

const RESULT = { dry_run: true, rolled_back_release_id: 'l2', localized_release_id: 'l1' };

describe('the body of an action that was tried', () => {
  it('names the release that the dry run of a rollback takes back', () => {
    expect(triedBody('localized-rollback', { reason: 'x' }, RESULT)).toEqual({
      reason: 'x',
      args: ['from=l2'],
    });
    expect(triedBody('localized-rollback', { args: ['dry_run=false'] }, RESULT)).toEqual({
      args: ['dry_run=false', 'from=l2'],
    });
  });

  it.each<[string, object, Record<string, unknown>]>([
    ['localized-rollback', { args: ['from=l3'] }, RESULT],
    ['localized-rollback', {}, { dry_run: true }],
    ['release-cleanup', {}, RESULT],
  ])('of %s with %j stays', (action, body, result) => {
    expect(triedBody(action, body, result)).toBe(body);
  });
});
