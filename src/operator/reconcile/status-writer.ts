import { isDeepStrictEqual } from 'node:util';
import type { ReleaseChannelStatus } from '../../contract/crd/release-channel.ts';
import { isCalm } from '../../domain/service-state/calm-reasons.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { ChannelWriter } from '../channels/channel-writer.ts';
import type { ReleaseChannel } from '../kubernetes/objects.ts';
import type { ReleaseRow } from '../pods/server-client.ts';
import { conditionOf } from './condition-of.ts';
import { syncEvent } from './sync-status.ts';

/** State of an object that is kept between two reconciliations; all of it can be rebuilt. */
export interface ChannelMemory {
  /** The status written last, and the resource version of the object that carries it. */
  written: { readonly status: ReleaseChannelStatus; readonly version: string } | null;
  /** The history, and the state of the current release for which it was read. */
  history: { readonly of: string; readonly rows: readonly ReleaseRow[] } | null;
}

/** Where statuses and events are written. */
export interface StatusWriterOptions {
  readonly writer: ChannelWriter;
  readonly logger: Logger;
}

/** Makes the function that writes a status if it differs from the previous one, and an event if readiness or the syncs changed. */
export function createStatusWriter({
  writer,
  logger,
}: StatusWriterOptions): (
  channel: ReleaseChannel,
  status: ReleaseChannelStatus,
  previous: ReleaseChannelStatus | null,
  memory: ChannelMemory,
) => Promise<void> {
  return async (channel, status, previous, memory) => {
    if (isDeepStrictEqual(status, previous)) return;
    const before = memory.written;
    // Set before the answer, because the watch may be faster.
    memory.written = { status, version: channel.resourceVersion };
    try {
      const version = await writer.applyStatus(channel, status);
      memory.written = { status, version };
    } catch (error) {
      memory.written = before;
      throw error;
    }
    const sync = syncEvent(status.sync, previous?.sync);
    if (sync !== null) await writer.record(channel, sync);
    const [ready, was] = [conditionOf(status, 'Ready'), conditionOf(previous, 'Ready')];
    if (ready === null || (ready.status === was?.status && ready.reason === was.reason)) return;
    const { reason, message: note } = ready;
    logger.info({ channel: channel.key, ready: ready.status, reason }, 'readiness changed');
    const isGood = ready.status === 'True' || isCalm(channel.spec.channel, reason);
    await writer.record(channel, { type: isGood ? 'Normal' : 'Warning', reason, note });
  };
}

/**
 * The status before this reconciliation: the one written last, until the cache has caught up with it.
 *
 * Source: resource versions of one collection are increasing decimal numbers (Kubernetes enhancement 5504).
 */
export function previousStatus(
  channel: ReleaseChannel,
  { written }: ChannelMemory,
): ReleaseChannelStatus | null {
  if (written === null) return channel.status;
  const [cached, ours] = [Number(channel.resourceVersion), Number(written.version)];
  return cached < ours ? written.status : channel.status;
}
