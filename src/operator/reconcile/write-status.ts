import { isDeepStrictEqual } from 'node:util';
import { StoredStatusSchema, type ReleaseChannelStatus } from '../../contract/crd/release-channel.ts';
import { instant } from '../../domain/instant.ts';
import { isCalm } from '../../domain/service-state/calm-reasons.ts';
import { KubernetesError } from '../../platform/kubernetes/kubernetes-error.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { ChannelEvent, ChannelWriter } from '../channels/channel-writer.ts';
import type { ChannelDefinition } from '../kubernetes/channel-definition.ts';
import { conditionOf, type ReleaseChannel } from '../kubernetes/objects.ts';
import { syncEvent } from './sync-status.ts';

export interface StatusWriting {
  readonly definition: ChannelDefinition;
  readonly writer: ChannelWriter;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What is known of the status of an object between two reconciliations; it can be rebuilt. */
export interface StatusMemory {
  /** The status found last, what the definition takes of it, and the resource version of the object that carries that. */
  written: {
    readonly status: ReleaseChannelStatus;
    readonly stored: ReleaseChannelStatus | null;
    readonly version: string;
  } | null;
}

/** How often an unchanged status is confirmed. */
const OBSERVED_EVERY_MS = 300_000;

/**
 * The status before this reconciliation: the one written last, until the cache has caught up with it. What the definition did not
 * take of it is still known.
 *
 * Source: resource versions of one collection are increasing decimal numbers (Kubernetes enhancement 5504).
 */
export function previousStatus(
  channel: ReleaseChannel,
  { written }: StatusMemory,
): ReleaseChannelStatus | null {
  if (written === null) return channel.status;
  const isOlder = Number(channel.resourceVersion) < Number(written.version);
  return isOlder || isDeepStrictEqual(written.stored, channel.status) ? written.status : channel.status;
}

/**
 * Writes a status if it differs from the previous one or has not been confirmed recently, and an event if readiness, the syncs or what
 * the definition takes changed.
 */
export async function writeStatus(
  options: StatusWriting,
  channel: ReleaseChannel,
  found: ReleaseChannelStatus,
  previous: ReleaseChannelStatus | null,
  memory: StatusMemory,
): Promise<void> {
  const { writer, logger, clock } = options;
  const now = clock.now();
  const observedAt = previous?.observedAt;
  // A time in the future comes from a clock that was wrong.
  const isConfirmed = observedAt !== undefined && Math.abs(now - Date.parse(observedAt)) < OBSERVED_EVERY_MS;
  if (isConfirmed && isDeepStrictEqual({ ...found, observedAt }, previous)) return;
  const status = { ...found, observedAt: instant(now / 1000) };
  await storeStatus(options, channel, status, memory);
  const complete = completenessEvent(status, previous);
  if (complete !== null) await writer.record(channel, complete);
  const sync = syncEvent(status.sync, previous?.sync);
  if (sync !== null) await writer.record(channel, sync);
  const [ready, was] = [conditionOf(status, 'Ready'), conditionOf(previous, 'Ready')];
  if (ready === null || (ready.status === was?.status && ready.reason === was.reason)) return;
  const { reason, message: note } = ready;
  logger.info({ channel: channel.key, ready: ready.status, reason }, 'readiness changed');
  const isGood = ready.status === 'True' || isCalm(channel.spec.channel, reason);
  await writer.record(channel, { type: isGood ? 'Normal' : 'Warning', reason, note });
}

/** Writes the part of a status that the definition takes. When it is refused, the definition may have changed since. */
async function storeStatus(
  { writer, definition }: StatusWriting,
  channel: ReleaseChannel,
  status: ReleaseChannelStatus,
  memory: StatusMemory,
): Promise<void> {
  const before = memory.written;
  const store = async (): Promise<void> => {
    const fitting = definition.fit(status);
    if (fitting === undefined) {
      throw new Error(`no status can be written: ${definition.warnings().join('; ')}`);
    }
    const read = StoredStatusSchema.safeParse(fitting);
    const stored = read.success ? read.data : null;
    // Set before the answer, because the watch may be faster.
    memory.written = { status, stored, version: channel.resourceVersion };
    const version = await writer.applyStatus(channel, fitting);
    memory.written = { status, stored, version };
  };
  try {
    try {
      await store();
    } catch (error) {
      const mayBeOther = error instanceof KubernetesError && [400, 422, 500].includes(error.status);
      if (!mayBeOther || !(await definition.refresh())) throw error;
      await store();
    }
  } catch (error) {
    memory.written = before;
    throw error;
  }
}

/** The event for a definition that takes less of the status than before, or all of it again. */
function completenessEvent(
  status: ReleaseChannelStatus,
  previous: ReleaseChannelStatus | null,
): ChannelEvent | null {
  const [now, was] = [conditionOf(status, 'StatusComplete'), conditionOf(previous, 'StatusComplete')];
  if (now === null || now.message === was?.message) return null;
  if (now.status === 'False') return { type: 'Warning', reason: now.reason, note: now.message };
  const isGood = now.status === 'True' && was?.status === 'False';
  return isGood ? { type: 'Normal', reason: now.reason, note: now.message } : null;
}
