import { describe, expect, it } from 'vitest';
import { success } from '../../../../src/domain/result.ts';
import {
  localizationRow,
  localizedConditions,
} from '../../../../src/operator/reconcile/localization-status.ts';
import { translationStatus } from '../../../support/fake-slipway.ts';

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
        'True NothingBlocks: no unit has a blocking finding',
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
        'True NothingBlocks: no unit has a blocking finding',
      ],
    ],
    [
      'are on hold in great number',
      { blockers: [['on_hold', 10_000]], publishable: null },
      [
        'True BaseCurrent: l1 is built on r1',
        'False Incomplete: an unknown part of 20 units, because too many are on hold to be counted: on_hold 10000',
        'True NothingBlocks: no unit has a blocking finding',
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
        'True NothingBlocks: no unit has a blocking finding',
      ],
    ],
  ])('that %s show it in the conditions', (_what, state, expected) => {
    expect(briefly(state)).toEqual(expected);
  });
});
