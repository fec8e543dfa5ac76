import {
  MESSAGE_MAX,
  type ReleaseChannelStatus,
  type SyncResult,
} from '../../contract/crd/release-channel.ts';
import type { ChannelEvent } from '../channels/channel-writer.ts';
import type { ReleaseStatus } from '../pods/server-client.ts';
import { instant } from '../../domain/instant.ts';

type SyncRow = NonNullable<ReleaseChannelStatus['sync']>;
type SyncState = ReleaseStatus['sync'];

/** Unix seconds as metav1.Time is written; `undefined` for none. */
export function timestamp(unixSeconds: number | null | undefined): string | undefined {
  return unixSeconds === null || unixSeconds === undefined ? undefined : instant(unixSeconds);
}

/**
 * The syncs of the daemons behind one Service, as a status shows them: those of the daemon with the most failures in a row,
 * of several the first one.
 *
 * @returns `undefined` when no daemon reported its syncs
 */
export function syncRow(daemons: readonly ReleaseStatus[]): SyncRow | undefined {
  const [worst] = daemons
    .map(({ sync }) => sync)
    .sort((left, right) => right.consecutive_failures - left.consecutive_failures);
  return worst === undefined ? undefined : rowOf(worst);
}

function rowOf({ last, next_at: nextAt, consecutive_failures: consecutiveFailures }: SyncState): SyncRow {
  const next = timestamp(nextAt);
  const finishedAt = timestamp(last?.finished_at);
  return {
    ...(last === null ? {} : { result: resultOf(last) }),
    ...(finishedAt === undefined ? {} : { finishedAt }),
    ...(typeof last?.code === 'string' ? { reason: last.code } : {}),
    ...(typeof last?.message === 'string' ? { message: last.message.slice(0, MESSAGE_MAX) } : {}),
    ...(next === undefined ? {} : { nextAt: next }),
    consecutiveFailures,
  };
}

function resultOf({ status, result }: NonNullable<SyncState['last']>): SyncResult {
  if (status === 'failed') return 'Failed';
  if (status === 'cancelled') return 'Cancelled';
  return result === 'unchanged' ? 'Unchanged' : 'Changed';
}

/**
 * The event for a change of the last sync: it fails, it fails for another reason, or it succeeds again. One failure after
 * the other for the same reason is one event.
 */
export function syncEvent(
  now: ReleaseChannelStatus['sync'],
  before: ReleaseChannelStatus['sync'],
): ChannelEvent | null {
  if (now?.result === 'Failed') {
    if (before?.result === 'Failed' && before.reason === now.reason) return null;
    const next =
      now.nextAt === undefined ? 'no other one is planned' : `the next one starts at ${now.nextAt}`;
    return {
      type: 'Warning',
      reason: 'SyncFailed',
      note: `${now.reason}: ${now.message}; ${next}`,
    };
  }
  const hasSucceeded = now?.result === 'Changed' || now?.result === 'Unchanged';
  if (!hasSucceeded || before?.result !== 'Failed') return null;
  return { type: 'Normal', reason: 'SyncSucceeded', note: 'upstream was synced again' };
}
