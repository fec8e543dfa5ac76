import { describe, expect, it } from 'vitest';
import { HealthAnswer, type Health } from '../../../../src/contract/schemas/answers/health.ts';
import { decideServiceState } from '../../../../src/domain/service-state/decide-service-state.ts';
import type { DaemonConditionCode } from '../../../../src/domain/service-state/daemon-conditions.ts';
import type { Reason } from '../../../../src/domain/verdict/reasons.ts';
import type { PodEvidence } from '../../../../src/operator/pods/evidence-book.ts';
import { factsOfVerdicts, serviceOf } from '../../../support/service-answer.ts';
import { restingChannel } from '../../../../src/operator/reconcile/resting-channel.ts';

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
type Report = Parameters<typeof restingChannel>[2][number];
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

/** A pod whose server has this condition from the daemon. */
function told(
  code: DaemonConditionCode,
  message: string,
  reason: Reason,
  release: string | null,
): PodEvidence {
  const { health, ...more } = pod(reason, release);
  const verdicts = health?.verdicts ?? HealthAnswer.example.verdicts;
  const conditions = [{ code, message, since: 1, next_try: null }];
  const service = structuredClone(
    decideServiceState(factsOfVerdicts(verdicts, { conditions })),
  ) as Health['service'];
  return { ...more, health: health === null ? null : { ...health, service } };
}

const withdrawn = (): PodEvidence => told('localized_withdrawn', 'rolled back', 'BaseReleaseChanged', 'l0');

describe('a localized channel rests', () => {
  it.each([
    ['if no pod and no daemon knows a release', [pod()], [none], 'NothingPublished'],
    ['also while a pod or every daemon is silent', [pod(), silent], [], 'NothingPublished'],
    ['if a rollback has withdrawn it', [withdrawn()], [none], 'ReleaseWithdrawn'],
    ['also before every pod knows of the rollback', [pod(), withdrawn()], [none], 'ReleaseWithdrawn'],
    ['unless a daemon has a release', [pod()], [none, one], null],
    ['unless a release was withdrawn without a cause', [pod('ReleaseNotAuthorized', 'l1')], [none], null],
    ['unless its base has changed', [pod('BaseReleaseChanged', 'l1')], [none], null],
    ['unless a pod serves one', [pod(), pod(null, 'l1')], [none], null],
    [
      'if a server of the previous version says so',
      [pod(undefined, null, false)],
      [none],
      'NothingPublished',
    ],
    ['unless its base has changed there', [pod('BaseReleaseChanged', 'l1', false)], [none], null],
    ['unless nobody answers', [silent], [], null],
    ['unless there is no pod', [], [none], null],
  ])('%s', (_when, pods, daemons, reason) => {
    expect(restingChannel({ channel: 'localized' }, pods, daemons)?.reason ?? null).toBe(reason);
  });

  it('says how a first release comes, which is at the origin for a channel that is copied', () => {
    const copied = told('localized_mirrored', 'it is copied', 'ReleaseNotAuthorized', null);
    const messages = [pod(), copied, withdrawn()].map(
      (each) => restingChannel({ channel: 'localized' }, [each], [none])?.message,
    );
    expect(messages).toEqual([
      'no localized release is published yet; publish one, or name it in spec.release',
      'it is copied',
      'a rollback has withdrawn the channel; to serve a release again, publish with args=resume=true',
    ]);
    expect(restingChannel({ channel: 'localized' }, [pod(), copied], [none])?.message).toBe('it is copied');
  });

  it('unless the spec asks for a release, and an official channel always should have one', () => {
    expect(restingChannel({ channel: 'localized', release: 'l1' }, [pod()], [none])).toBeNull();
    expect(restingChannel({ channel: 'official' }, [pod()], [none])).toBeNull();
  });
});
