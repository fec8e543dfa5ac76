import type { ByteResponsePlan } from '../../domain/http/byte-response.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { BlockCache } from './block-cache.ts';
import { createBodySender } from './body-sender.ts';
import type { BytePathMetrics } from './byte-path-metrics.ts';
import type { DrainWatch } from './drain-watch.ts';
import type { EntrySelector, SelectedEntry } from './entry-selector.ts';
import { extentOf, extentSpan } from './extents.ts';
import { SLICE_BYTES, type InFlightBudget } from './in-flight-budget.ts';
import { Outflow, type ByteResponse, type PendingBytes } from './outflow.ts';
import type { ReadBuffers } from './read-buffers.ts';
import type { VerifiedReader } from './verified-reader.ts';

interface EntrySenderDependencies {
  readonly selector: EntrySelector;
  readonly reader: VerifiedReader;
  readonly cache: BlockCache;
  readonly buffers: ReadBuffers;
  readonly budget: InFlightBudget;
  readonly metrics: BytePathMetrics;
  readonly drainWatch: DrainWatch;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Sends planned responses, for the full server and for the fast path. */
export interface EntrySender {
  /**
   * Sends a 200, 206 or 304 and counts it. Bytes of one extent in memory are written before it returns.
   *
   * @param entry selected in the same turn of the event loop
   * @param options.fromVolume whether the bytes must come from the volume, not from memory
   * @param options.onStalled called when the volume does not answer, or when the client takes too little for too long
   * @throws ByteFault or ServiceError. Nothing was sent unless `response.headersSent`; then the connection must be cut
   */
  send(
    response: ByteResponse,
    entry: SelectedEntry,
    plan: ByteResponsePlan,
    options: SendOptions,
  ): Promise<void>;
}

interface SendOptions {
  readonly fromVolume: boolean;
  readonly onStalled: () => void;
}

export function createEntrySender(dependencies: EntrySenderDependencies): EntrySender {
  const { selector, reader, buffers, budget, metrics, drainWatch, logger } = dependencies;
  const sendBody = createBodySender(dependencies);

  const writeHead = (response: ByteResponse, { release }: SelectedEntry, plan: ByteResponsePlan): void => {
    const { status, headers, tail } = plan;
    response.writeHead(
      status,
      status === 304 ? [...headers] : [...headers, 'X-Content-Type-Options', 'nosniff'],
    );
    metrics.answered(release.channel, status);
    if (status === 206) metrics.ranges[tail === '' ? 'single' : 'multiple'].add(1);
  };

  const watch = (response: ByteResponse, { entry, release }: SelectedEntry, onStalled: () => void): void => {
    drainWatch.watch(response, (side) => {
      if (side === 'client') metrics.stalledClients.inc();
      else if (response.headersSent) {
        logger.error(
          { channel: release.channel, destination: entry.destination, blake3: entry.blake3 },
          'the snapshot volume stopped answering during a response, so its connection is cut; check the mount of the volume',
        );
      }
      onStalled();
    });
  };

  const sendFromVolume = async (
    response: ByteResponse,
    selected: SelectedEntry,
    plan: ByteResponsePlan,
    fromVolume: boolean,
  ): Promise<void> => {
    const { entry, release, generation } = selected;
    const opened = await reader.open(entry, generation, release.channel);
    try {
      const begin = (): void => {
        // The verdict may have changed while the first bytes were read.
        selector.requireServable(release);
        writeHead(response, selected, plan);
      };
      if (response.headersSent || response.closed) return;
      if (plan.parts.length === 0) {
        begin();
        response.end();
        return;
      }
      const onSent = (bytes: number): void => {
        metrics.sentBytes[release.channel].add(bytes);
      };
      await sendBody({ response, plan, reader: opened, fromVolume, begin, onSent });
    } finally {
      opened.release();
    }
  };

  return {
    send: async (response, selected, plan, { fromVolume, onStalled }) => {
      if (plan.status === 304) {
        writeHead(response, selected, plan);
        response.end();
        return;
      }
      const inMemory = fromVolume ? null : takeFromMemory(selected, plan, dependencies);
      if (inMemory === null) {
        watch(response, selected, onStalled);
        await sendFromVolume(response, selected, plan, fromVolume);
        return;
      }
      const { channel } = selected.release;
      const outflow = new Outflow(response, budget, (bytes) => {
        buffers.giveBack(bytes);
        metrics.sentBytes[channel].add(bytes.length);
      });
      writeHead(response, selected, plan);
      outflow.write(inMemory, true);
      if (response.socket?.writableLength !== 0) watch(response, selected, onStalled);
    },
  };
}

/** The bytes of a plan if one extent in memory holds all of them and the budget has room, else `null`. */
function takeFromMemory(
  { entry }: SelectedEntry,
  { parts }: ByteResponsePlan,
  { cache, buffers, budget, metrics }: EntrySenderDependencies,
): PendingBytes | null {
  const [part] = parts;
  if (part === undefined || parts.length > 1) return null;
  const extent = extentOf(part.start);
  const span = extentSpan(extent, entry.size);
  if (part.end > span.end) return null;
  const bytes = cache.get(entry.blake3, extent, part.start - span.start, part.end - span.start);
  if (bytes === undefined) return null;
  // The view keeps its whole extent in memory, even after the cache has evicted it.
  const held = bytes.buffer.byteLength;
  const granted = budget.take(held);
  if (granted === held || held <= SLICE_BYTES) {
    metrics.cacheHits.add(1);
    return { bytes, granted };
  }
  budget.giveBack(granted);
  buffers.giveBack(bytes);
  return null;
}
