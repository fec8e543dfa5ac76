import { describe, expect, it } from 'vitest';
import { HealthAnswer } from '../../../../src/contract/schemas/answers/health.ts';
import type { Reason } from '../../../../src/domain/verdict/reasons.ts';
import type { PodEvidence } from '../../../../src/operator/pods/evidence-book.ts';
import { serviceOf } from '../../../support/service-answer.ts';
import { isUnpublished } from '../../../../src/operator/reconcile/unpublished.ts';

/** @param tellsState false for a server of the previous version */
function pod(
  reason: Reason | null = 'ReleaseNotAuthorized',
  release: string | null = null,
  tellsState = true,
): PodEvidence {
  const health = structuredClone(HealthAnswer.example);
  health.verdicts.localized = {
    distributable: reason === null,
    reason,
    message: '',
    since: 1,
    release_id: release,
  };
  const service = tellsState ? serviceOf(health.verdicts) : undefined;
  return { name: 'a', origin: '', endpoint: 'ready', health: { ...health, service }, failure: null };
}

const silent: PodEvidence = { ...pod(), health: null, failure: 'no answer' };
type Report = Parameters<typeof isUnpublished>[2][number];
const none: Report = { localized: null };
const one: Report = {
  localized: {
    release_id: 'l1',
    snapshot_id: '',
    state: 'current',
    integrity: 'ok',
    verified_at: 1,
    damaged: [],
    damaged_count: 0,
  },
};

describe('a localized channel has nothing to serve', () => {
  it.each([
    ['if no pod and no daemon knows a release', [pod()], [none], true],
    ['also while a pod or every daemon is silent', [pod(), silent], [], true],
    ['unless a daemon has a release', [pod()], [none, one], false],
    ['unless a release was withdrawn', [pod('ReleaseNotAuthorized', 'l1')], [none], false],
    ['unless its base has changed', [pod('BaseReleaseChanged', 'l1')], [none], false],
    ['unless a pod serves one', [pod(), pod(null, 'l1')], [none], false],
    ['if a server of the previous version says so', [pod(undefined, null, false)], [none], true],
    ['unless its base has changed there', [pod('BaseReleaseChanged', 'l1', false)], [none], false],
    ['unless nobody answers', [silent], [], false],
    ['unless there is no pod', [], [none], false],
  ])('%s', (_when, pods, daemons, unpublished) => {
    expect(isUnpublished({ channel: 'localized' }, pods, daemons)).toBe(unpublished);
  });

  it('unless the spec asks for one, and an official channel always should have one', () => {
    expect(isUnpublished({ channel: 'localized', release: 'l1' }, [pod()], [none])).toBe(false);
    expect(isUnpublished({ channel: 'official' }, [pod()], [none])).toBe(false);
  });
});
