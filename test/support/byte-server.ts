/**
 * The byte path with the fast path in front, metrics and verification on, as a process of its own for benches.
 * Arguments: the root of the objects, and a file with the manifest entries as JSON. Prints its port.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import type { ManifestEntry } from '../../src/domain/manifest.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { createHashPool } from '../../src/platform/hashing/hash-pool.ts';
import { createUlidFactory } from '../../src/platform/ids.ts';
import { createSilentLogger } from '../../src/platform/logging.ts';
import { createRegistry } from '../../src/platform/metrics.ts';
import { createCdnHandler } from '../../src/server/cdn/cdn-handler.ts';
import { DEFAULT_CDN_LIMITS } from '../../src/server/cdn/cdn-limits.ts';
import { installFastPath } from '../../src/server/fast-path/fast-path.ts';
import { createRequestObserver, createRequestRecorder } from '../../src/server/http/observe-request.ts';
import { createServerMetrics } from '../../src/server/metrics.ts';
import { FakeServing, fakeRelease } from '../fakes/fake-serving.ts';

const [root = '', entriesFile = '', mode = 'fast'] = process.argv.slice(2);
const entries = JSON.parse(await readFile(entriesFile, 'utf8')) as ManifestEntry[];
const serving = new FakeServing();
serving.serve([fakeRelease({ releaseId: 'r1', entries })]);
const registry = createRegistry({ name: 'slipway-server', version: 'bench' });
const logger = createSilentLogger();
const createRequestId = createUlidFactory({ clock: systemClock, randomBytes });
const cdn = createCdnHandler({
  serving,
  pool: createHashPool({ threads: 1 }),
  root,
  cdnHost: 'cdn.example',
  defaultChannel: 'official',
  logger,
  registry,
  clock: systemClock,
  createRequestId,
  limits: DEFAULT_CDN_LIMITS,
});
const record = createRequestRecorder({
  logger,
  metrics: createServerMetrics(registry),
  access: 'none',
  busyRoutes: new Set(),
});
const observe = createRequestObserver(record, systemClock);
const route = '/{cdn_host}/{path}';
const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
  observe({ request, response, route, requestId: '' });
  cdn.handle(request, response, request.url ?? '');
});
if (mode === 'fast')
  installFastPath(server, { serving, cdn: cdn.parts, clock: systemClock, record, route, createRequestId });
server.listen(0, '127.0.0.1');
await once(server, 'listening');
console.log((server.address() as AddressInfo).port);
