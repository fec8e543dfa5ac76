import { execFile } from 'node:child_process';
import { readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRandom, type Random } from '../../src/cli/dev/seeded-random.ts';
import { crc64Decimal } from '../support/crc64-decimal.ts';
import { BYTE_PATHS } from '../support/byte-path.ts';
import { startChopper, type Chopper, type Cut } from '../support/chopper.ts';
import { DOWNLOAD_CLIENTS, type DownloadClient } from '../support/download-clients.ts';
import { ask } from '../support/http-connection.ts';
import { startNginx, type NginxCache } from '../support/nginx.ts';
import { startServedProcess, type ServedProcess } from '../support/served-process.ts';
import { sharedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { startSlowDownload } from '../support/slow-download.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { hasTool } from '../support/tools.ts';

const run = promisify(execFile);
const MIB = 1024 * 1024;
/** Two paths through the server, three routes to it, five clients: 240 cuts in all. */
const CUTS_EACH = 8;
const SEED = Number(process.env['SLIPWAY_FUZZ_SEED'] ?? '210');
const MAX_ATTEMPTS = 3 * CUTS_EACH;
const ROUTES = [
  ['directly', null],
  ['through nginx that caches whole answers', 'whole'],
  ['through nginx that caches slices', 'slices'],
] as const;

/** A client's route to the server: over a chopper, perhaps a cache, perhaps a second chopper. */
interface Route {
  readonly served: ServedProcess;
  readonly near: Chopper;
  /** Between the cache and the server. */
  readonly far: Chopper | null;
}

const NEWER = 'TableBundles/newer.hash';
const FILES: Readonly<Record<string, Buffer>> = files();

/** Each client has its own file, so that a cache does not hold it yet. */
function files(): Record<string, Buffer> {
  const random = createRandom(SEED);
  const sizes = DOWNLOAD_CLIENTS.map(({ tool }) => (tool === 'aria2c' ? 16 : 2) * MIB + 4321);
  return {
    [NEWER]: random.bytes(5000),
    ...Object.fromEntries(sizes.map((size, i) => [fileOf(i), random.bytes(size)])),
  };
}

function fileOf(client: number): string {
  return `MediaResources/client ${client}.bin`;
}

async function startRoute(fastPath: boolean, cache: NginxCache | null, atEnd: AtEnd): Promise<Route> {
  const served = await startServedProcess({ fastPath, release: { releaseId: 'r1', files: FILES }, atEnd });
  if (cache === null) return { served, near: await startChopper(served.port, atEnd), far: null };
  const far = await startChopper(served.port, atEnd);
  const nginx = await startNginx(far.port, cache, atEnd);
  return { served, near: await startChopper(nginx.port, atEnd), far };
}

/** Cuts whose bytes together are fewer than the file has, so that every cut happens. */
function planCuts(random: Random, count: number, size: number): readonly Cut[] {
  const most = Math.floor(Math.min(size, 2 * MIB) / (2 * CUTS_EACH));
  return Array.from({ length: count }, () =>
    random.below(4) === 0
      ? // Inside the head of the answer, or right after it. Some clients accept a head that ends cleanly as complete.
        { afterBytes: 1 + random.below(600), kind: 'reset' }
      : { afterBytes: 1 + random.below(most), kind: random.pick(['end', 'reset', 'silence'] as const) },
  );
}

/** Lets a client retry until it reports success. A silent connection kills the client. */
async function downloadAll(
  client: DownloadClient,
  { near, far }: Route,
  target: { readonly url: string; readonly file: string; readonly size: number },
): Promise<void> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const killed = new AbortController();
    const onCut = ({ kind }: Cut): void => {
      if (kind === 'silence') killed.abort();
    };
    near.onCut = onCut;
    if (far !== null) far.onCut = onCut;
    if (await client.attempt({ ...target, killed: killed.signal })) return;
  }
  throw new Error(`${client.name} is not done after ${MAX_ATTEMPTS} attempts`);
}

describe.each(BYTE_PATHS)('over the %s', (_name, fastPath) => {
  it.skipIf(!hasTool('nginx'))('a cache that requests slice by slice never mixes two releases', async () => {
    const old = createRandom(SEED + 1).bytes(20 * MIB);
    const served = await startServedProcess({
      fastPath,
      release: { releaseId: 'r1', files: { [NEWER]: old } },
    });
    const nginx = await startNginx(served.port, 'slices', onTestFinished);
    const next = createRandom(SEED + 2).bytes(old.length);
    const release = await served.store.addRelease({ releaseId: 'r2', files: { [NEWER]: next } });
    const download = await startSlowDownload(nginx.port, served.target(NEWER));
    served.attest({ official: release });
    await served.untilReady(true, 'r2');
    const { body, wasCut } = await download.finish();
    expect(body.equals(old.subarray(0, body.length))).toBe(true);
    expect(wasCut || body.length === old.length).toBe(true);
    const answer = await ask(nginx.port, 'GET', served.target(NEWER));
    expect([answer.status, answer.body.equals(next)]).toEqual([200, true]);
  });

  describe.each(ROUTES)('%s', (way, cache) => {
    const isMissing = cache !== null && !hasTool('nginx');
    const route = sharedFixture(async (atEnd) => await startRoute(fastPath, isMissing ? null : cache, atEnd));

    it.skipIf(isMissing || !hasTool('curl'))('curl -z downloads only newer files', async () => {
      const { served, near } = route();
      const file = join(await temporaryDirectory(), 'file');
      const url = `http://127.0.0.1:${near.port}${served.target(NEWER, 'r1')}`;
      const fetchInto = async (modified: number): Promise<string> => {
        await utimes(file, modified, modified);
        const args = ['-sS', '-z', file, '-o', file, '-w', '%{http_code}', url];
        return (await run('curl', args)).stdout;
      };
      await writeFile(file, 'earlier content');
      expect(await fetchInto(served.release.created_at)).toBe('304');
      expect(await fetchInto(served.release.created_at - 60)).toBe('200');
      expect((await readFile(file)).equals(FILES[NEWER]!)).toBe(true);
      expect(await fetchInto(served.release.created_at + 60)).toBe('304');
    });

    describe.skipIf(isMissing)('a file whose transfer is cut repeatedly is complete in the end', () => {
      for (const [index, client] of DOWNLOAD_CLIENTS.entries()) {
        const isThere = client.tool === null || hasTool(client.tool);
        it.skipIf(!isThere)(`with ${client.name}`, async () => {
          const { served, near, far } = route();
          const name = fileOf(index);
          const bytes = FILES[name]!;
          const random = createRandom(SEED + index + 10 * way.length + (fastPath ? 1000 : 0));
          const farCuts = far === null ? 0 : 3;
          const before = near.cuts + (far?.cuts ?? 0);
          near.plan(planCuts(random, CUTS_EACH - farCuts, bytes.length));
          far?.plan(planCuts(random, farCuts, bytes.length));
          const file = join(await temporaryDirectory(), 'part');
          const url = `http://127.0.0.1:${near.port}${served.target(name, 'r1')}`;
          await downloadAll(client, route(), { url, file, size: bytes.length });
          const received = await readFile(file);
          expect(received.length).toBe(bytes.length);
          expect(await crc64Decimal(received)).toBe(await crc64Decimal(bytes));
          expect(received.equals(bytes)).toBe(true);
          // One cut may not have happened, because the rest of the file was smaller than its limit.
          expect(near.cuts + (far?.cuts ?? 0) - before).toBeGreaterThanOrEqual(CUTS_EACH - 1);
        });
      }
    });
  });
});
