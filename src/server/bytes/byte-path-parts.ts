import type { Channel } from '../../domain/release/channel.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Registry } from '../../platform/metrics/metrics.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { Serving } from '../serving/serving.ts';
import { BlockCache } from './block-cache.ts';
import type { BytePathLimits } from './byte-path-limits.ts';
import { createBytePathMetrics, type BytePathMetrics } from './byte-path-metrics.ts';
import { createDrainWatch, type DrainWatch } from './drain-watch.ts';
import { createEntrySelector, type EntrySelector } from './entry-selector.ts';
import { createEntrySender, type EntrySender } from './entry-sender.ts';
import { InFlightBudget } from './in-flight-budget.ts';
import { createObjectSource, type ObjectSource } from '../../snapshot/objects/object-source.ts';
import { ReadBuffers } from './read-buffers.ts';
import { createVerifiedReader, type VerifiedReader } from './verified-reader.ts';

/**
 * Maximum bytes that {@link ReadBuffers} keep for the next read: enough for a handful of fast downloads. They count
 * against the budget of the cache, up to a share of it.
 */
const SPARE_BYTES = 8 * 1024 * 1024;
const SPARE_SHARE = 1 / 8;
/**
 * Maximum bytes of block lists in memory. A list has 1/2,048 of the size of its object: they are enough for 32 GiB of large objects, and
 * the list of a larger one is read again for each read.
 */
const BLOCK_LIST_BYTES = 16 * 1024 * 1024;

/** Settings and collaborators of the byte path. */
export interface BytePathOptions {
  readonly serving: Serving;
  /** Root of the snapshot volume. */
  readonly root: string;
  /** The fixed first path segment. */
  readonly cdnHost: string;
  /** The channel for paths that name no release. */
  readonly defaultChannel: Channel;
  /** Whether reading files needs a token. */
  readonly needsToken: boolean;
  /** Address of the runbooks, which problems with a reason link to; `null` for no link. */
  readonly runbooks: string | null;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly clock: Clock;
  /** Makes an id for a request without one. */
  readonly createRequestId: () => string;
  readonly limits: BytePathLimits;
  /** Reads objects; default: from the volume at `root`. */
  readonly source?: ObjectSource;
}

/** The parts that the full server and the fast path share. */
export interface BytePathParts {
  readonly selector: EntrySelector;
  readonly sender: EntrySender;
  readonly reader: VerifiedReader;
  readonly cache: BlockCache;
  readonly buffers: ReadBuffers;
  readonly budget: InFlightBudget;
  readonly metrics: BytePathMetrics;
  readonly drainWatch: DrainWatch;
  /** Closes descriptors, memory and timers; responses in progress are finished. */
  close(): void;
}

/** Puts the parts of the byte path together. */
export function createBytePathParts(options: BytePathOptions): BytePathParts {
  const { serving, clock, limits } = options;
  const selector = createEntrySelector({
    serving,
    prefix: `/${options.cdnHost}/`,
    defaultChannel: options.defaultChannel,
    retryAfterSeconds: limits.retryAfterSeconds,
    needsToken: options.needsToken,
  });
  const budget = new InFlightBudget(limits.inFlightBytes);
  const buffers = new ReadBuffers(SPARE_BYTES);
  const spareBytes = Math.min(SPARE_BYTES, limits.blockCacheBytes * SPARE_SHARE);
  const cache = new BlockCache(limits.blockCacheBytes - spareBytes, buffers);
  const metrics = createBytePathMetrics(options.registry, {
    inFlightBytes: () => budget.used,
    openDescriptors: () => reader.openDescriptors,
    cachedBytes: () => cache.bytes,
  });
  const blockLists = new BlockCache(BLOCK_LIST_BYTES, buffers);
  const reader = createVerifiedReader({
    source: options.source ?? createObjectSource(options.root),
    cache,
    blockLists,
    buffers,
    metrics,
    logger: options.logger,
    openDescriptors: limits.openDescriptors,
    reportDamage: (report) => {
      serving.reportDamage(report);
    },
  });
  // The scrub, a revalidation or another process can find damage too, and a repair replaces the file.
  serving.watchDamage(({ blake3 }) => {
    reader.forget(blake3);
  });
  const drainWatch = createDrainWatch({
    clock,
    minimumBytesPerSecond: limits.minimumBytesPerSecond,
    windowMs: limits.drainWindowMs,
  });
  const shared = { selector, reader, cache, buffers, budget, metrics, drainWatch };
  return {
    ...shared,
    sender: createEntrySender({ ...shared, clock, logger: options.logger }),
    close: () => {
      drainWatch.close();
      reader.close();
      cache.clear();
      blockLists.clear();
    },
  };
}
