import { describe, expect, it } from 'vitest';
import { parseScheduledBody } from '../../../../src/daemon/schedules/scheduled-body.ts';

describe('the arguments of a schedule', () => {
  it('become the body of the action, each as the type of its field', () => {
    expect(parseScheduledBody('sync', ['force=true'])).toEqual({ ok: true, value: { force: true } });
    expect(parseScheduledBody('release-cleanup', ['count=3', 'dry_run=true', 'reason=a=b'])).toEqual({
      ok: true,
      value: { count: 3, args: ['dry_run=true'], reason: 'a=b' },
    });
    expect(parseScheduledBody('release-cleanup', ['id=12'])).toEqual({ ok: true, value: { id: '12' } });
    expect(parseScheduledBody('verify', ['channel=official'])).toEqual({
      ok: true,
      value: { args: ['channel=official'] },
    });
  });

  it.each([
    ['sync', ['force=yes'], ['/args/0']],
    ['sync', ['force=true', 'force=false'], ['/args/1']],
    ['sync', ['count=3'], ['/args/0']],
    ['sync', ['__proto__=1'], ['/args/0']],
    ['verify', ['force=true', 'channel=none'], ['/args/1']],
    ['verify', ['args=channel'], ['/args/0']],
    ['release-cleanup', ['count=0'], ['/args/0']],
    ['release-cleanup', ['count=1', 'id=r1'], ['/args/0', '/args/1']],
  ] as const)('of %s refuse %j', (action, args, pointers) => {
    const parsed = parseScheduledBody(action, args);
    expect(parsed.ok ? [] : parsed.error.map(({ pointer }) => pointer)).toEqual(pointers);
  });
});
