import { exampleOf } from '../../../scripts/reference/examples.ts';
import { describe, expect, it } from 'vitest';
import { HealthAnswer, type Health } from '../../../src/contract/schemas/answers/health.ts';
import { success } from '../../../src/domain/result.ts';
import type { DaemonConditionCode } from '../../../src/domain/service-state/daemon-conditions.ts';
import { decideServiceState } from '../../../src/domain/service-state/decide-service-state.ts';
import type { Reason } from '../../../src/domain/verdict/reasons.ts';
import type { PodHealth } from '../../../src/operator/pods/pod-health.ts';
import { localizationRow, localizedConditions } from '../../../src/operator/reconcile/localization-status.ts';
import { restingChannel } from '../../../src/operator/reconcile/resting-channel.ts';
import { translationStatus } from '../../support/fake-slipway.ts';
import { factsOfVerdicts, serviceOf } from '../../support/service-answer.ts';

type State = Parameters<typeof translationStatus>[0];

const briefly = (state: State): string[] =>
  Object.values(localizedConditions(success(translationStatus(state)))).map(
    ({ status, reason, message }) => `${status} ${reason}: ${message}`,
  );

describe('the translations of a localized channel', () => {
  it('are shown with base, coverage and blockers', () => {
    const blockers = [
      ['qa_blocked', 1],
      ['untranslated', 6],
    ] as const;
    expect(localizationRow(translationStatus({ blockers, skipped: 3 }))).toEqual({
      baseRelease: 'r1',
      stale: false,
      officialRelease: 'r1',
      targetLanguage: 'zh-Hans',
      coverage: '65%',
      units: { total: 23, ready: 13, accepted: 11, translated: 12, blocked: 0, skipped: 3 },
      blockers: [
        { code: 'qa_blocked', message: 'because of qa_blocked', count: 1 },
        { code: 'untranslated', message: 'because of untranslated', count: 6 },
      ],
      automation: { state: 'off', message: 'localized.auto is off' },
    });
  });

  it('have no coverage before the tasks are built, and never round up to all', () => {
    const unbuilt = { blockers: [['tasks_not_built', 1]], publishable: 0 } as const;
    expect(localizationRow(translationStatus(unbuilt))).toMatchObject({ units: { ready: 0 } });
    expect(localizationRow(translationStatus(unbuilt))).not.toHaveProperty('coverage');
    const almost = translationStatus({ blockers: [['untranslated', 1]], publishable: 999 });
    almost.coverage.units = 1000;
    expect(localizationRow(almost).coverage).toBe('99%');
    expect(localizationRow(translationStatus()).coverage).toBe('100%');
  });

  it('have no coverage while more units are on hold than the daemon counts', () => {
    const row = localizationRow(translationStatus({ blockers: [['on_hold', 10_000]], publishable: null }));
    expect(row).not.toHaveProperty('coverage');
    expect(row.units).not.toHaveProperty('ready');
  });

  it.each<[string, State, string[]]>([
    [
      'are all translated',
      {},
      [
        'True BaseCurrent: l1 is built on r1',
        'True Complete: 20 of 20 units (100%)',
        'True NothingBlocks: nothing prevents a publication',
      ],
    ],
    [
      'are incomplete, and blocked',
      {
        blockers: [
          ['qa_blocked', 2],
          ['untranslated', 8],
        ],
      },
      [
        'True BaseCurrent: l1 is built on r1',
        'False Incomplete: 10 of 20 units (50%): qa_blocked 2, untranslated 8',
        'False PublishBlocked: 2 because of qa_blocked',
      ],
    ],
    [
      'are complete, and a rollback has withdrawn the channel',
      { blockers: [['release_rolled_back', 1]], publishable: 20 },
      [
        'True BaseCurrent: l1 is built on r1',
        'True Complete: 20 of 20 units (100%)',
        'False PublishBlocked: because of release_rolled_back',
      ],
    ],
    [
      'are blocked for a reason of a later daemon',
      { blockers: [['not_known_yet', 1]] },
      [
        'True BaseCurrent: l1 is built on r1',
        'False Incomplete: 19 of 20 units (95%): not_known_yet 1',
        'False PublishBlocked: 1 because of not_known_yet',
      ],
    ],
    [
      'are on hold, some of them without a translation',
      {
        blockers: [
          ['on_hold', 8],
          ['untranslated', 8],
        ],
        publishable: 11,
      },
      [
        'True BaseCurrent: l1 is built on r1',
        'False Incomplete: 11 of 20 units (55%): on_hold 8, untranslated 8',
        'True NothingBlocks: nothing prevents a publication',
      ],
    ],
    [
      'are on hold in great number',
      { blockers: [['on_hold', 10_000]], publishable: null },
      [
        'True BaseCurrent: l1 is built on r1',
        'False Incomplete: an unknown part of 20 units, because too many are on hold to be counted: on_hold 10000',
        'True NothingBlocks: nothing prevents a publication',
      ],
    ],
    [
      'belong to an earlier official release',
      { stale: true, blockers: [['tasks_not_built', 1]] },
      [
        'False BaseReleaseChanged: l1 is built on r1, and r2 is the current official release; localized.auto is off',
        'Unknown TextsNotReady: because of tasks_not_built',
        'False TextsNotReady: because of tasks_not_built',
      ],
    ],
    [
      'are copied from an origin',
      { blockers: [['channel_mirrored', 1]] },
      [
        'True BaseCurrent: l1 is built on r1',
        'Unknown ChannelMirrored: because of channel_mirrored',
        'False ChannelMirrored: because of channel_mirrored',
      ],
    ],
    [
      'are not published',
      { base: null },
      [
        'Unknown NothingPublished: no localized release is current; localized.auto is off',
        'True Complete: 20 of 20 units (100%)',
        'True NothingBlocks: nothing prevents a publication',
      ],
    ],
  ])('that %s show it in the conditions', (_what, state, expected) => {
    expect(briefly(state)).toEqual(expected);
  });
});

function pod(reason: Reason | null = 'ReleaseNotAuthorized', release: string | null = null): PodHealth {
  const health = structuredClone(exampleOf(HealthAnswer));
  health.verdicts.localized = {
    distributable: reason === null,
    reason,
    message: '',
    since: 1,
    release_id: release,
  };
  const service = serviceOf(health.verdicts);
  return { name: 'a', origin: '', endpoint: 'ready', health: { ...health, service }, failure: null };
}

const silent: PodHealth = { ...pod(), health: null, failure: 'no answer' };
const LOCALIZED = { channel: 'localized', wanted: null } as const;

/** A pod whose server has this condition from the daemon. */
function told(code: DaemonConditionCode, message: string, reason: Reason, release: string | null): PodHealth {
  const { health, ...more } = pod(reason, release);
  const verdicts = health?.verdicts ?? exampleOf(HealthAnswer).verdicts;
  const conditions = [{ code, message, since: 1, next_try: null }];
  const service = structuredClone(
    decideServiceState(factsOfVerdicts(verdicts, { conditions })),
  ) as Health['service'];
  return { ...more, health: health === null ? null : { ...health, service } };
}

const withdrawn = (): PodHealth => told('localized_withdrawn', 'rolled back', 'BaseReleaseChanged', 'l0');

describe('a localized channel rests', () => {
  it.each([
    ['if no pod and no daemon knows a release', [pod()], false, 'NothingPublished'],
    ['also while a pod or every daemon is silent', [pod(), silent], false, 'NothingPublished'],
    ['if a rollback has withdrawn it', [withdrawn()], false, 'ReleaseWithdrawn'],
    ['also before every pod knows of the rollback', [pod(), withdrawn()], false, 'ReleaseWithdrawn'],
    ['unless a daemon has a release', [pod()], true, null],
    ['unless its base has changed', [pod('BaseReleaseChanged', 'l1')], false, null],
    ['unless a pod serves one', [pod(), pod(null, 'l1')], false, null],
    ['unless nobody answers', [silent], false, null],
    ['unless there is no pod', [], false, null],
  ])('%s', (_when, pods, isPublished, reason) => {
    expect(restingChannel(LOCALIZED, pods, isPublished)?.reason ?? null).toBe(reason);
  });

  it('says how a first release comes, which is at the origin for a channel that is copied', () => {
    const copied = told('localized_mirrored', 'it is copied', 'ReleaseNotAuthorized', null);
    const messages = [pod(), copied, withdrawn()].map(
      (each) => restingChannel(LOCALIZED, [each], false)?.message,
    );
    expect(messages).toEqual([
      'no localized release is published yet; publish one, or name it in spec.release',
      'it is copied',
      'a rollback has withdrawn the channel; to serve a release again, publish with args=resume=true',
    ]);
    expect(restingChannel(LOCALIZED, [pod(), copied], false)?.message).toBe('it is copied');
  });

  it('unless the spec asks for a release, and an official channel always should have one', () => {
    expect(restingChannel({ ...LOCALIZED, wanted: 'l1' }, [pod()], false)).toBeNull();
    expect(restingChannel({ channel: 'official', wanted: null }, [pod()], false)).toBeNull();
  });
});
