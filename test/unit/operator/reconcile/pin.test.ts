import { describe, expect, it } from 'vitest';
import { parseControlBody } from '../../../../src/contract/actions/parse-control-body.ts';
import type { ReleaseRow, ReleaseStatus } from '../../../../src/operator/pods/server-client.ts';
import { planPin, type PinPlan } from '../../../../src/operator/reconcile/pin.ts';
import { releaseRow, translationStatus } from '../../../support/fake-slipway.ts';

const NOW: ReleaseStatus['official'] = {
  release_id: 'now',
  snapshot_id: 'blake3:0',
  state: 'current',
  integrity: 'ok',
  verified_at: null,
  damaged: [],
  damaged_count: 0,
};

interface World {
  readonly history?: readonly ReleaseRow[];
  readonly localized?: ReleaseStatus['localized'];
  readonly relation?: ReleaseStatus['relation'];
  readonly texts?: Parameters<typeof planPin>[3];
  readonly announced?: Pick<ReleaseStatus, 'announced' | 'announced_localized'>;
}

function plan(
  channel: 'official' | 'localized',
  release: string | undefined,
  { history = [], localized = NOW, relation = 'in_sync', texts = null, announced = {} }: World = {},
): PinPlan {
  const spec = release === undefined ? { channel } : { channel, release };
  return planPin(spec, { official: NOW, localized, relation, ...announced }, history, texts);
}

describe('a pin', () => {
  it('that is absent or reached requires nothing', () => {
    expect(plan('official', undefined)).toEqual({ kind: 'none' });
    expect(plan('official', 'now')).toEqual({ kind: 'reached' });
    expect(plan('localized', 'now')).toEqual({ kind: 'reached' });
  });

  it('of an announced release waits for its time, and acts no more', () => {
    const next = { release_id: 'next', current_at: 1_784_000_000 };
    const message = 'next is announced and becomes current at 2026-07-14T03:33:20.000Z';
    const waiting = { kind: 'waiting', obstacle: { reason: 'ReleaseChanging', message } };
    expect(plan('official', 'next', { announced: { announced: next } })).toEqual(waiting);
    expect(plan('localized', 'next', { announced: { announced_localized: next } })).toEqual(waiting);
    expect(plan('localized', 'next', { announced: { announced: next } })).toMatchObject({ kind: 'act' });
  });

  it('of an earlier localized release rolls back to it, of an unknown one publishes it', () => {
    const rollback = plan('localized', 'old', {
      history: [releaseRow('localized', 'old', 'superseded')],
    });
    const publish = plan('localized', 'new');
    expect(rollback).toMatchObject({ kind: 'act', action: 'localized-rollback' });
    expect(publish).toMatchObject({ kind: 'act', action: 'localized-publish' });
    for (const each of [rollback, publish]) {
      expect(each.kind === 'act' && parseControlBody(each.action, each.body).ok).toBe(true);
    }
  });

  it('of a localized release that is damaged or missing is not followed blindly', () => {
    expect(plan('localized', 'bad', { history: [releaseRow('localized', 'bad', 'damaged')] })).toMatchObject({
      kind: 'stalled',
      obstacle: { reason: 'ActionRejected' },
    });
    expect(
      plan('localized', 'gone', { history: [releaseRow('localized', 'gone', 'deleted')] }),
    ).toMatchObject({
      kind: 'act',
      action: 'localized-publish',
    });
  });

  it('of a localized release publishes it again when none is current, because a rollback needs one to take back', () => {
    const history = [releaseRow('localized', 'old', 'rolled_back')];
    expect(plan('localized', 'old', { history, localized: null })).toMatchObject({
      kind: 'act',
      action: 'localized-publish',
    });
  });

  it('of the only localized release, which a rollback took back, stalls while its units are on hold', () => {
    const history = [releaseRow('localized', 'old', 'superseded')];
    const planOf = (
      blockers: ReadonlyArray<readonly [string, number]>,
      rolledBack: { at: number } | null,
    ): PinPlan => {
      const texts = {
        ...translationStatus({ base: null, blockers }),
        history: [{ localized_release_id: 'old', rolled_back: rolledBack }],
      };
      return plan('localized', 'old', { history, localized: null, texts });
    };
    expect(planOf([['on_hold', 2]], { at: 1 })).toMatchObject({
      kind: 'stalled',
      obstacle: {
        reason: 'ReleaseRolledBack',
        message: expect.stringContaining('review the units on hold, then publish with args') as string,
      },
    });
    expect(planOf([], { at: 1 })).toMatchObject({ kind: 'act', action: 'localized-publish' });
    expect(planOf([['on_hold', 2]], null)).toMatchObject({ kind: 'act', action: 'localized-publish' });
  });

  it('of any localized release stalls while a rollback has withdrawn the channel, which only a person resumes', () => {
    const texts = translationStatus({ base: null, blockers: [['release_rolled_back', 1]] });
    const stalls = {
      kind: 'stalled',
      obstacle: { reason: 'ReleaseRolledBack', message: 'because of release_rolled_back' },
    };
    expect(plan('localized', 'new', { localized: null, texts })).toMatchObject(stalls);
    const history = [releaseRow('localized', 'old', 'rolled_back')];
    expect(plan('localized', 'old', { history, localized: null, texts })).toMatchObject(stalls);
  });

  it('of a new localized release waits for the texts of the official one, and only for them', () => {
    const texts = (code: string): World => ({ texts: translationStatus({ blockers: [[code, 1]] }) });
    for (const code of ['tasks_not_built', 'no_official_release'])
      expect(plan('localized', 'new', texts(code))).toMatchObject({
        kind: 'waiting',
        obstacle: { reason: 'TextsNotReady', message: `because of ${code}` },
      });
    expect(plan('localized', 'new', texts('untranslated'))).toMatchObject({ kind: 'act' });
  });

  it('of a localized release that is not current stalls where the channel is copied from an origin', () => {
    const texts = translationStatus({ blockers: [['channel_mirrored', 1]] });
    const stalls = { kind: 'stalled', obstacle: { reason: 'ChannelMirrored' } };
    expect(plan('localized', 'new', { texts })).toMatchObject(stalls);
    const history = [releaseRow('localized', 'old', 'superseded')];
    expect(plan('localized', 'old', { history, texts })).toMatchObject(stalls);
    expect(plan('localized', 'now', { texts })).toMatchObject({ kind: 'reached' });
  });

  it('of a localized release for an earlier official one stalls, whether it is current or not', () => {
    const outdated = { kind: 'stalled', obstacle: { reason: 'PinOutdated' } };
    expect(plan('localized', 'now', { relation: 'stale' })).toMatchObject(outdated);
    const history = [{ ...releaseRow('localized', 'old', 'superseded'), base_release_id: 'before' }];
    expect(plan('localized', 'old', { history })).toMatchObject(outdated);
  });

  it('of an official release waits for it, and does not roll back to an old one', () => {
    expect(plan('official', 'next')).toMatchObject({
      kind: 'stalled',
      holdSync: false,
      obstacle: { reason: 'ReleaseUnknown' },
    });
    expect(plan('official', 'old', { history: [releaseRow('official', 'old', 'superseded')] })).toMatchObject(
      {
        kind: 'stalled',
        holdSync: true,
        obstacle: { reason: 'PinNotSupported' },
      },
    );
  });
});
