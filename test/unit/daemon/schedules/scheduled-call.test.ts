import { describe, expect, it } from 'vitest';
import { LOCALIZED_PUBLISH_JOB } from '../../../../src/daemon/localized/publish/publish-job.ts';
import { RELEASE_JOBS } from '../../../../src/daemon/releases/jobs/release-jobs.ts';
import { scheduledCall } from '../../../../src/daemon/schedules/scheduled-call.ts';
import { createJobRegistry } from '../../../../src/daemon/tasks/job-registry.ts';
import { implementJob } from '../../../../src/daemon/tasks/job.ts';

const jobs = createJobRegistry();
jobs.register(...RELEASE_JOBS.map((job) => implementJob(job, async () => ({}))));

function parse(action: string, args: readonly string[]): ReturnType<typeof scheduledCall> {
  return scheduledCall({ group: 'res', action, args }, jobs);
}

describe('the arguments of a schedule', () => {
  it('become those of the job, each as the type of its field', () => {
    expect(parse('sync', ['force=true'])).toMatchObject({ kind: 'sync', args: { force: true } });
    expect(parse('release-cleanup', ['count=3', 'dry_run=true', 'reason=a=b'])).toEqual({
      kind: 'release-cleanup',
      args: { count: 3, force: false, dry_run: true },
      audit: { reason: 'a=b' },
    });
    expect(parse('release-cleanup', ['id=12']).args).toMatchObject({ id: '12' });
    expect(parse('verify', ['channel=official']).args).toEqual({ force: false, channel: 'official' });
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
    let refusal: unknown = null;
    try {
      parse(action, args);
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toMatchObject({
      code: 'invalid_request',
      options: { errors: pointers.map((pointer) => ({ pointer })) },
    });
  });

  it('cannot undo a decision of a person', () => {
    jobs.register(implementJob(LOCALIZED_PUBLISH_JOB, async () => ({})));
    const call = (...args: string[]) =>
      scheduledCall(
        { group: 'i18n', action: 'localized-publish', args: ['from_worker=true', ...args] },
        jobs,
      );
    expect(call('resume=false').args).toMatchObject({ from_worker: true, resume: false });
    expect(() => call('reason=nightly', 'resume=true')).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        message:
          'resume undoes a decision of a person, so a schedule cannot set it; run localized-publish with it by hand',
        options: { errors: [expect.objectContaining({ pointer: '/args/2' })] },
      }),
    );
  });

  it('name the field in the message', () => {
    expect(() => parse('release-cleanup', ['count=0'])).toThrow(
      expect.objectContaining({
        options: { errors: [{ pointer: '/args/0', message: expect.stringMatching(/^count must be/) }] },
      }),
    );
  });
});
