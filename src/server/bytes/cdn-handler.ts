import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ServiceError } from '../../contract/problems/service-error.ts';
import {
  planByteResponse,
  type ByteRequestHeaders,
  type ByteResponsePlan,
} from '../../domain/http/byte-response.ts';
import type { Channel } from '../../domain/release/channel.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { HashPool } from '../../platform/hashing/digests.ts';
import { renderProblem, sendProblem } from '../../platform/http/problem.ts';
import { requestId } from '../../platform/process/ids.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Registry } from '../../platform/metrics/metrics.ts';
import type { Serving } from '../serving/serving.ts';
import { BlockCache } from './block-cache.ts';
import { createBodySender } from './body-sender.ts';
import { ByteFault } from './byte-fault.ts';
import type { CdnLimits } from './cdn-limits.ts';
import { createCdnMetrics, type CdnMetrics } from './cdn-metrics.ts';
import { ALLOW, problemHeaders, RangeRefusal, serviceErrorOf } from './cdn-problems.ts';
import { createDrainWatch, type DrainWatch } from './drain-watch.ts';
import { createEntrySelector, type SelectedEntry } from './entry-selector.ts';
import { InFlightBudget } from './in-flight-budget.ts';
import { createObjectSource, type ObjectSource } from './object-source.ts';
import { ReadBuffers } from './read-buffers.ts';
import { VerifiedMemory } from './verified-memory.ts';
import { createVerifiedReader, type VerifiedReader } from './verified-reader.ts';

/**
 * Most bytes of {@link ReadBuffers} that wait for the next read: enough for a handful of fast downloads. They count
 * against the budget of the cache, up to a share of it.
 */
const SPARE_BYTES = 8 * 1024 * 1024;
const SPARE_SHARE = 1 / 8;

/** What {@link createCdnHandler} needs. */
export interface CdnHandlerDeps {
  readonly serving: Serving;
  readonly pool: Pick<HashPool, 'hashBlock'>;
  /** Root of the snapshot volume. */
  readonly root: string;
  /** The fixed first path segment. */
  readonly cdnHost: string;
  /** The channel behind paths that name no release. */
  readonly defaultChannel: Channel;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly clock: Clock;
  /** Makes the id of a request that brought none. */
  readonly createRequestId: () => string;
  readonly limits: CdnLimits;
  /** How objects are read; default: from the volume at `root`. */
  readonly source?: ObjectSource;
}

/** What another door to the same bytes shares with the handler. */
export interface CdnParts {
  /** Finds what a target names; throws whatever is to be answered when it may not leave. */
  readonly select: (target: string) => SelectedEntry;
  readonly reader: VerifiedReader;
  readonly cache: BlockCache;
  readonly buffers: ReadBuffers;
  readonly budget: InFlightBudget;
  readonly metrics: CdnMetrics;
  readonly drainWatch: DrainWatch;
}

/** Answers everything below `/{cdn_host}/`. */
export interface CdnHandler {
  readonly parts: CdnParts;
  /** Whether a request target belongs to this handler. */
  accepts(target: string): boolean;
  /**
   * Answers one request, whatever happens.
   *
   * @param target the request target in origin form, as received
   */
  handle(request: IncomingMessage, response: ServerResponse, target: string): void;
  /** Lets go of descriptors, memory and timers; answers on their way are finished. */
  close(): void;
}

/**
 * Makes the handler of the byte path: it selects the entry, asks whether it may leave, plans the answer by the rules of
 * HTTP, and sends verified bytes.
 */
export function createCdnHandler(deps: CdnHandlerDeps): CdnHandler {
  const { serving, pool, root, cdnHost, defaultChannel, logger, clock, limits } = deps;
  const prefix = `/${cdnHost}/`;
  const selector = createEntrySelector({
    serving,
    prefix,
    defaultChannel,
    retryAfterSeconds: limits.retryAfterSeconds,
  });
  const budget = new InFlightBudget(limits.inFlightBytes);
  const buffers = new ReadBuffers(SPARE_BYTES);
  const spareBytes = Math.min(SPARE_BYTES, limits.blockCacheBytes * SPARE_SHARE);
  const cache = new BlockCache(limits.blockCacheBytes - spareBytes, buffers);
  const metrics = createCdnMetrics(deps.registry, {
    inFlightBytes: () => budget.used,
    openDescriptors: () => reader.openDescriptors,
    cachedBytes: () => cache.bytes,
  });
  const reader = createVerifiedReader({
    source: deps.source ?? createObjectSource(root),
    pool,
    cache,
    buffers,
    metrics,
    logger,
    memory: new VerifiedMemory(limits.verifiedObjects),
    openDescriptors: limits.openDescriptors,
    reportDamage: (report) => {
      serving.reportDamage(report);
    },
  });
  // Others find damage too: the scrub, a revalidation, another process. And a repaired file is another file.
  serving.watchDamage(({ blake3 }) => {
    reader.forget(blake3);
  });
  const sender = createBodySender({ budget, cache, buffers, clock });
  const drainWatch = createDrainWatch({
    clock,
    minimumBytesPerSecond: limits.minimumBytesPerSecond,
    windowMs: limits.drainWindowMs,
  });

  const plan = (request: IncomingMessage, { representation }: SelectedEntry): ByteResponsePlan =>
    planByteResponse(
      {
        method: request.method === 'HEAD' ? 'HEAD' : 'GET',
        headers: conditionalHeaders(request),
        nowSeconds: Math.floor(clock.now() / 1000),
        boundary: () => randomBytes(16).toString('hex'),
      },
      representation,
    );

  const sendBytes = async (
    response: ServerResponse,
    selected: SelectedEntry,
    answer: ByteResponsePlan,
  ): Promise<void> => {
    const { entry, release, generation } = selected;
    const { channel } = release;
    const opened = await reader.open(entry, generation, channel);
    try {
      const begin = (): void => {
        // The verdict may have changed while the first bytes were read.
        selector.requireServable(release);
        response.writeHead(answer.status, [...answer.headers, 'X-Content-Type-Options', 'nosniff']);
        metrics.answered(channel, answer.status);
        if (answer.status === 206) metrics.ranges[answer.tail === '' ? 'single' : 'multiple'].add(1);
      };
      if (response.headersSent || response.closed) return;
      if (answer.parts.length === 0) {
        begin();
        response.end();
        return;
      }
      await sender.send({
        response,
        plan: answer,
        reader: opened,
        begin,
        onSent: (bytes) => {
          metrics.sentBytes[channel].add(bytes);
        },
      });
    } finally {
      opened.release();
    }
  };

  const answer = async (
    request: IncomingMessage,
    response: ServerResponse,
    target: string,
  ): Promise<void> => {
    if (request.method === 'OPTIONS') {
      response.writeHead(204, ['Allow', ALLOW]);
      response.end();
      return;
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new ServiceError('method_not_allowed', 'Resources can be read with GET and HEAD only.');
    }
    const selected = selector.select(target);
    const planned = plan(request, selected);
    if (planned.status === 412) {
      throw new ServiceError(
        'precondition_failed',
        'If-Match or If-Unmodified-Since does not hold for this resource.',
      );
    }
    if (planned.status === 416) throw new RangeRefusal(planned.headers[1] ?? '');
    if (planned.status === 304) {
      response.writeHead(304, [...planned.headers]);
      response.end();
      metrics.answered(selected.release.channel, 304);
      return;
    }
    drainWatch.watch(response, () => {
      onStalled(request, response);
    });
    await sendBytes(response, selected, planned);
  };

  const onStalled = (request: IncomingMessage, response: ServerResponse): void => {
    if (response.headersSent) {
      metrics.stalledClients.inc();
      response.destroy();
    } else {
      fail(request, response, new ByteFault('overloaded', 'the snapshot volume does not answer'));
    }
  };

  const fail = (request: IncomingMessage, response: ServerResponse, error: unknown): void => {
    const id = requestId(request.headers['x-request-id'], deps.createRequestId);
    const problem = renderProblem(serviceErrorOf(error, limits.retryAfterSeconds), id, problemHeaders(error));
    if (problem.logLevel === 'error') {
      logger.error(
        { request_id: id, route: '/{cdn_host}/{path}', internal: problem.internal },
        'a request failed',
      );
    }
    if (response.closed) return;
    if (!response.headersSent) metrics.answered('none', problem.status);
    sendProblem(response, problem);
  };

  const run = async (request: IncomingMessage, response: ServerResponse, target: string): Promise<void> => {
    try {
      await answer(request, response, target);
    } catch (error) {
      fail(request, response, error);
    }
  };

  return {
    parts: {
      select: (target) => selector.select(target),
      reader,
      cache,
      buffers,
      budget,
      metrics,
      drainWatch,
    },
    accepts: (target) => target.startsWith(prefix),
    handle: (request, response, target) => {
      void run(request, response, target);
    },
    close: () => {
      drainWatch.close();
      reader.close();
      cache.clear();
    },
  };
}

/** The fields that decide, with repetitions kept: of dates Node keeps the first only, and a list must be ignored. */
function conditionalHeaders(request: IncomingMessage): ByteRequestHeaders {
  const { headers } = request;
  if (headers['if-modified-since'] === undefined && headers['if-unmodified-since'] === undefined)
    return headers;
  const all = request.headersDistinct;
  return {
    ...headers,
    'if-modified-since': all['if-modified-since']?.join(', '),
    'if-unmodified-since': all['if-unmodified-since']?.join(', '),
  };
}
