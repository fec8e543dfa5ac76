import { describe, expect, it } from 'vitest';
import type { ReleaseChannelStatus } from '../../../../src/contract/crd/release-channel.ts';
import { syncEvent } from '../../../../src/operator/reconcile/sync-status.ts';

type SyncRow = ReleaseChannelStatus['sync'];

const failed = (reason: string, consecutiveFailures = 1): SyncRow => ({
  result: 'Failed',
  reason,
  message: 'm',
  consecutiveFailures,
});
const done: SyncRow = { result: 'Unchanged', consecutiveFailures: 0 };
const cancelled: SyncRow = { result: 'Cancelled', message: 'enough', consecutiveFailures: 0 };

describe('the event of a sync', () => {
  it.each([
    ['the first failure', failed('timeout'), undefined, 'Warning SyncFailed'],
    ['a failure after a success', failed('timeout'), done, 'Warning SyncFailed'],
    ['the same failure again', failed('timeout', 2), failed('timeout'), null],
    ['another failure', failed('disk_full', 2), failed('timeout'), 'Warning SyncFailed'],
    ['a success after a failure', done, failed('timeout'), 'Normal SyncSucceeded'],
    ['a success after a success', done, done, null],
    ['the first success', done, undefined, null],
    ['a cancelled sync', cancelled, failed('timeout'), null],
    ['no sync at all', undefined, undefined, null],
  ])('%s', (_what, now, before, expected) => {
    const event = syncEvent(now, before);
    expect(event === null ? null : `${event.type} ${event.reason}`).toBe(expected);
  });

  it('says why it failed and when the next one starts', () => {
    expect(syncEvent(failed('timeout'), undefined)?.note).toBe('timeout: m; no other one is planned');
    const next: SyncRow = { consecutiveFailures: 1, ...failed('timeout'), nextAt: '2026-01-15T12:00:00Z' };
    expect(syncEvent(next, done)?.note).toBe('timeout: m; the next one starts at 2026-01-15T12:00:00Z');
  });
});
