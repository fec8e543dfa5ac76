import { describe, expect, it } from 'vitest';
import { parseControlBody } from '../../../../src/contract/actions/parse-control-body.ts';
import type { ReleaseRow, ReleaseStatus } from '../../../../src/operator/pods/server-client.ts';
import { planPin, type PinPlan } from '../../../../src/operator/reconcile/pin.ts';
import { releaseRow } from '../../../support/fake-slipway.ts';

function plan(
  channel: 'official' | 'localized',
  release: string | undefined,
  history: ReleaseRow[] = [],
): PinPlan {
  const current: ReleaseStatus['official'] = {
    release_id: 'now',
    snapshot_id: 'blake3:0',
    state: 'current',
    integrity: 'ok',
    verified_at: null,
    damaged: [],
    damaged_count: 0,
  };
  const spec = release === undefined ? { channel } : { channel, release };
  return planPin(spec, { official: current, localized: current }, history);
}

describe('a pin', () => {
  it('that is absent or reached requires nothing', () => {
    expect(plan('official', undefined)).toEqual({ kind: 'none' });
    expect(plan('official', 'now')).toEqual({ kind: 'reached' });
    expect(plan('localized', 'now')).toEqual({ kind: 'reached' });
  });

  it('of an earlier localized release rolls back to it, of an unknown one publishes it', () => {
    const rollback = plan('localized', 'old', [releaseRow('localized', 'old', 'superseded')]);
    const publish = plan('localized', 'new');
    expect(rollback).toMatchObject({ kind: 'act', action: 'localized-rollback' });
    expect(publish).toMatchObject({ kind: 'act', action: 'localized-publish' });
    for (const each of [rollback, publish]) {
      expect(each.kind === 'act' && parseControlBody(each.action, each.body).ok).toBe(true);
    }
  });

  it('of a localized release that is damaged or missing is not followed blindly', () => {
    expect(plan('localized', 'bad', [releaseRow('localized', 'bad', 'damaged')])).toMatchObject({
      kind: 'stalled',
      obstacle: { reason: 'ActionRejected' },
    });
    expect(plan('localized', 'gone', [releaseRow('localized', 'gone', 'deleted')])).toMatchObject({
      kind: 'act',
      action: 'localized-publish',
    });
  });

  it('of an official release waits for it, and does not roll back to an old one', () => {
    expect(plan('official', 'next')).toMatchObject({
      kind: 'stalled',
      holdSync: false,
      obstacle: { reason: 'ReleaseUnknown' },
    });
    expect(plan('official', 'old', [releaseRow('official', 'old', 'superseded')])).toMatchObject({
      kind: 'stalled',
      holdSync: true,
      obstacle: { reason: 'PinNotSupported' },
    });
  });
});
