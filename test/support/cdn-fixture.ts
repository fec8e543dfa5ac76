import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { Registry } from 'prom-client';
import { onTestFinished } from 'vitest';
import { hasBlockList } from '../../src/domain/release/blocks.ts';
import { RUNBOOK_BASE } from '../../src/contract/problems/problem-links.ts';
import type { Crc64Decimal } from '../../src/domain/release/digest.ts';
import type { ManifestEntry } from '../../src/domain/release/manifest.ts';
import { systemClock, type Clock } from '../../src/platform/process/clock.ts';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';
import { createLogger, createSilentLogger } from '../../src/platform/logging/logging.ts';
import { createBytePathHandler, type BytePathHandler } from '../../src/server/bytes/byte-path-handler.ts';
import { DEFAULT_BYTE_PATH_LIMITS, type BytePathLimits } from '../../src/server/bytes/byte-path-limits.ts';
import { createObjectSource, type ObjectSource } from '../../src/snapshot/objects/object-source.ts';
import { blockListPath, objectPath } from '../../src/snapshot/volume/layout.ts';
import { destinationOf, FakeServing, fakeRelease } from '../fakes/fake-serving.ts';
import { blockListOf } from './block-list-of.ts';
import { rawRequest, type RawAnswer } from './raw-http.ts';
import { temporaryDirectory } from './temporary-directory.ts';

export const CDN_HOST = 'cdn.example';

/** A byte path over a real server and real files. */
export interface CdnFixture {
  readonly root: string;
  readonly port: number;
  readonly serving: FakeServing;
  readonly registry: Registry;
  readonly handler: BytePathHandler;
  readonly server: Server;
  /** Reads of the volume so far, as `start-end`. */
  readonly reads: string[];
  /** Requests `/{cdn_host}/` + path. */
  request(method: string, path: string, fields?: Readonly<Record<string, string>>): Promise<RawAnswer>;
  /** The value of a metric, summed over its labels. */
  metric(name: string): Promise<number>;
}

/** Bytes that differ from block to block and from offset to offset. */
export function patternBytes(size: number, seed = 1): Buffer {
  const bytes = Buffer.allocUnsafe(size);
  let state = seed | 1;
  for (let i = 0; i < size; i += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

/** Writes the object of some bytes, and its block list if it has one. Returns its manifest entry. */
export async function storeObject(
  root: string,
  destination: string,
  bytes: Buffer,
  mediaType = 'application/octet-stream',
): Promise<ManifestEntry> {
  const blake3 = blake3Hex(bytes);
  const path = objectPath(root, blake3);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, bytes);
  const entry: ManifestEntry = {
    destination: destinationOf(destination),
    size: bytes.length,
    blake3,
    crc64: '0' as Crc64Decimal,
    source: 'official',
    media_type: mediaType,
  };
  if (!hasBlockList(bytes.length)) return entry;
  const list = blockListOf(bytes);
  await writeFile(blockListPath(root, blake3), list);
  return { ...entry, blocks: blake3Hex(list) };
}

/** Starts a byte path that serves nothing yet. Everything stops with the running test. */
export async function startCdn(
  options: {
    readonly limits?: Partial<BytePathLimits>;
    readonly clock?: Clock;
    readonly source?: (root: string) => ObjectSource;
    /** Receives each line of the log. */
    readonly onLog?: (line: string) => void;
  } = {},
): Promise<CdnFixture> {
  const root = await temporaryDirectory();
  const serving = new FakeServing();
  const registry = new Registry();
  const source = (options.source ?? createObjectSource)(root);
  const reads: string[] = [];
  const handler = createBytePathHandler({
    serving,
    root,
    cdnHost: CDN_HOST,
    defaultChannel: 'official',
    needsToken: false,
    runbooks: RUNBOOK_BASE,
    logger:
      options.onLog === undefined
        ? createSilentLogger()
        : createLogger({ name: 'test', level: 'info', destination: { write: options.onLog } }),
    registry,
    clock: options.clock ?? systemClock,
    createRequestId: () => 'request-id-of-the-test',
    limits: { ...DEFAULT_BYTE_PATH_LIMITS, ...options.limits },
    source: {
      ...source,
      read: async (fd, start, memory) => {
        reads.push(`${start}-${start + memory.length}`);
        return await source.read(fd, start, memory);
      },
    },
  });
  const server = createServer((request, response) => {
    handler.handle(request, response, request.url ?? '');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    handler.close();
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const { port } = server.address() as AddressInfo;
  return {
    root,
    port,
    serving,
    registry,
    handler,
    server,
    reads,
    request: async (method, path, fields) => await rawRequest(port, method, `/${CDN_HOST}/${path}`, fields),
    metric: async (name) => {
      const metric = await registry.getSingleMetric(name)?.get();
      if (metric === undefined) throw new Error(`no metric ${name}`);
      return metric.values.reduce((sum, { value }) => sum + value, 0);
    },
  };
}

/** Serves some bytes under destinations as the current official release `r1`. */
export async function serveFiles(
  fixture: CdnFixture,
  files: Readonly<Record<string, Buffer>>,
): Promise<Map<string, ManifestEntry>> {
  const entries = new Map<string, ManifestEntry>();
  for (const [destination, bytes] of Object.entries(files)) {
    entries.set(destination, await storeObject(fixture.root, destination, bytes));
  }
  fixture.serving.serve([fakeRelease({ releaseId: 'r1', entries: [...entries.values()] })]);
  return entries;
}
