import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { startOriginProxy, type OriginProxy } from './origin-proxy.ts';
import { writeReleaseTree, type ReleaseFiles } from './release-tree.ts';
import type { AtEnd } from './shared-fixture.ts';
import { CDN_HOST, startSystem, WITHOUT_TEXTS, type SystemOptions, type TestSystem } from './system.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { until, WAIT_MS } from './until.ts';

/** A running origin with a proxy in front of it, and what starts an edge behind that. */
export interface OriginWithEdges {
  readonly origin: TestSystem;
  readonly proxy: OriginProxy;
  /** What was published last. */
  latest: { readonly id: string; readonly files: ReleaseFiles };
  /** Publishes a release at the origin. */
  publish(id: string, files: ReleaseFiles): Promise<void>;
  /** Puts a release into the folder that the origin syncs from. */
  offer(id: string, files: ReleaseFiles): Promise<void>;
  /** Starts an edge of the origin. */
  startEdge(settings?: EdgeSettings): Promise<TestSystem>;
}

/** The settings of an edge that differ between tests. */
export interface EdgeSettings {
  /** The public key to trust; by default that of the origin. */
  readonly trustedKeys?: readonly string[];
  /** More settings of `upstream.slipway`. */
  readonly slipway?: object;
  readonly daemon?: SystemOptions['daemon'];
  readonly startNothing?: boolean;
  /** By default it stops with the running test. */
  readonly atEnd?: AtEnd;
}

/** The public key file of a system. */
export function publicKeyOf({ directory }: TestSystem): string {
  return join(directory, 'keys', 'signing.pub');
}

/** Starts an origin over a folder that holds a release. By default it stops with the running test. */
export async function startOrigin(
  release: { readonly id: string; readonly files: ReleaseFiles; readonly serverInfo?: object },
  daemon: SystemOptions['daemon'] = {},
  server: SystemOptions['server'] = {},
  originEnd: AtEnd = onTestFinished,
): Promise<OriginWithEdges> {
  const folder = await temporaryDirectory(originEnd);
  const tree = join(folder, 'upstream');
  await writeReleaseTree(tree, release);
  const origin = await startSystem({
    upstream: { kind: 'directory', directory: { path: tree } },
    daemon: { ...WITHOUT_TEXTS, ...daemon },
    server: { ...server },
    atEnd: originEnd,
  });
  await origin.untilReady(true);
  const proxy = await startOriginProxy(origin.serverUrl, originEnd);
  const offer = async (id: string, files: ReleaseFiles): Promise<void> => {
    await writeReleaseTree(tree, { ...release, id, files });
  };
  const world: OriginWithEdges = {
    origin,
    proxy,
    offer,
    latest: release,
    publish: async (id, files) => {
      await offer(id, files);
      await origin.succeed('sync');
      await untilServed(origin, id);
      world.latest = { id, files };
    },
    startEdge: async ({
      trustedKeys,
      slipway,
      daemon: more = {},
      startNothing = false,
      atEnd = onTestFinished,
    } = {}) => {
      const key = join(folder, 'origin.pub');
      await copyFile(publicKeyOf(origin), key);
      return await startSystem({
        upstream: {
          kind: 'slipway',
          slipway: { url: proxy.url, trustedKeys: trustedKeys ?? [key], pollSeconds: 1, ...slipway },
          maxAttempts: 3,
          backoffBaseMs: 5,
          backoffCapMs: 50,
        },
        daemon: more,
        startNothing,
        atEnd,
      });
    },
  };
  return world;
}

/** Waits until a system serves this release. */
export async function untilServed(
  { serverUrl }: TestSystem,
  id: string,
  deadlineMs = WAIT_MS,
): Promise<void> {
  await until(async () => {
    const response = await fetch(`${serverUrl}/readyz`);
    const body = (await response.json()) as { distributable: boolean; release_id: string | null };
    if (!body.distributable || body.release_id !== id) throw new Error(JSON.stringify(body));
    return true;
  }, deadlineMs);
}

/** The bytes of a file under the immutable path of a release; the status when it is not served. */
export async function bytesOf(
  { serverUrl }: TestSystem,
  releaseId: string,
  destination: string,
): Promise<Buffer | number> {
  const path = destination.split('/').map(encodeURIComponent).join('/');
  const response = await fetch(`${serverUrl}/${CDN_HOST}/${releaseId}/${path}`);
  const bytes = Buffer.from(await response.arrayBuffer());
  return response.status === 200 ? bytes : response.status;
}
