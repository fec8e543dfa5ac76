import { execFile } from 'node:child_process';
import { readFile, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRandom, type Random } from '../../demo/game/seeded-random.ts';
import type { AttestedRelease } from '../../src/domain/verdict/attestation.ts';
import { crc64Decimal } from '../support/crc64-decimal.ts';
import { BYTE_PATHS } from '../support/byte-path.ts';
import { startChopper, type Chopper, type Cut } from '../support/chopper.ts';
import { DOWNLOAD_CLIENTS, type DownloadClient } from '../support/download-clients.ts';
import { ask } from '../support/http-connection.ts';
import { startNginx, type NginxCache } from '../support/nginx.ts';
import { startServedProcess, type ServedProcess } from '../support/served-process.ts';
import { reusedFixture, sharedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { startSlowDownload } from '../support/slow-download.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { hasTool } from '../support/tools.ts';
import { until } from '../support/until.ts';

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
const DATED = 'TableBundles/Excel.zip';
const PIECES = 'TableBundles/pieces.bin';
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

async function startRoute(served: ServedProcess, cache: NginxCache | null, atEnd: AtEnd): Promise<Route> {
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

/** Clients that send the date of their file, and how each is asked to bring a file up to date. */
const DATED_CLIENTS: ReadonlyArray<
  readonly [tool: string, argumentsFor: (url: string, file: string) => readonly string[]]
> = [
  ['wget', (url, file) => ['-q', '-N', `--directory-prefix=${dirname(file)}`, url]],
  ['curl', (url, file) => ['-sS', '--fail', '-R', '-z', file, '-o', file, url]],
  [
    'aria2c',
    (url, file) => [
      '-q',
      '--no-conf=true',
      '--conditional-get=true',
      '--allow-overwrite=true',
      '--remote-time=true',
      `--dir=${dirname(file)}`,
      `--out=${basename(file)}`,
      url,
    ],
  ],
];

/** A server whose tests switch between two releases, each time to one that becomes current later than the one before. */
interface Switching {
  readonly served: ServedProcess;
  readonly switchTo: (id: 'r1' | 'r2') => Promise<void>;
}

const SWITCHED = {
  r1: { [DATED]: createRandom(SEED + 3).bytes(5000), [NEWER]: createRandom(SEED + 1).bytes(20 * MIB) },
  r2: { [DATED]: createRandom(SEED + 4).bytes(5000), [NEWER]: createRandom(SEED + 2).bytes(20 * MIB) },
};
const pieces = createRandom(SEED + 5).bytes(MIB);

async function startSwitching(fastPath: boolean, atEnd: AtEnd): Promise<Switching> {
  const files = { ...SWITCHED.r1, [PIECES]: pieces };
  const served = await startServedProcess({
    fastPath,
    release: { releaseId: 'r1', files },
    attest: false,
    atEnd,
  });
  const r2 = await served.store.addRelease({ releaseId: 'r2', files: SWITCHED.r2 });
  const releases: Readonly<Record<'r1' | 'r2', AttestedRelease>> = { r1: served.release, r2 };
  let since = Math.floor(Date.now() / 1000) - 100_000;
  return {
    served,
    switchTo: async (id) => {
      since += 100;
      served.attest({ official: { ...releases[id], current_since: since } });
      await served.untilReady(true, id);
    },
  };
}

describe.each(BYTE_PATHS)('over the %s', (_name, fastPath) => {
  const switching = reusedFixture(async (atEnd) => await startSwitching(fastPath, atEnd));

  describe.each(DATED_CLIENTS)('%s, which compares dates,', (tool, argumentsFor) => {
    it.skipIf(!hasTool(tool))('follows a switch and a switch back, and completes half a file', async () => {
      const { served, switchTo } = await switching();
      const file = join(await temporaryDirectory(), basename(DATED));
      const url = `http://127.0.0.1:${served.port}${served.target(DATED)}`;
      const update = async (): Promise<Buffer> => {
        await run(tool, argumentsFor(url, file));
        return await readFile(file);
      };
      for (const id of ['r1', 'r2', 'r1'] as const) {
        await switchTo(id);
        expect((await update()).equals(SWITCHED[id][DATED])).toBe(true);
      }
      const first = SWITCHED.r1[DATED];
      // Bytes count as sent when the network has taken them.
      await until(async () => (await served.metric('slipway_cdn_in_flight_bytes')) === 0);
      const sent = await served.metric('slipway_cdn_sent_bytes_total');
      expect((await update()).equals(first)).toBe(true);
      expect(await served.metric('slipway_cdn_sent_bytes_total')).toBe(sent);
      // curl also compares dates itself, and drops an answer that is older than its file.
      if (tool === 'curl') return;
      // As after a kill: the rest is missing, and the time is that of the last write.
      await writeFile(file, first.subarray(0, 2500));
      expect((await update()).equals(first)).toBe(true);
    });
  });

  it.skipIf(!hasTool('zsync'))('zsync completes a file from an older one', async () => {
    const { served, switchTo } = await switching();
    await switchTo('r1');
    const old = Buffer.from(pieces);
    for (let at = 10_000; at < old.length; at += 100_000) old.fill(at % 251, at, at + 5000);
    const cwd = await temporaryDirectory();
    await writeFile(join(cwd, 'whole'), pieces);
    await writeFile(join(cwd, 'old'), old);
    const url = `http://127.0.0.1:${served.port}${served.target(PIECES, 'r1')}`;
    await run('zsyncmake', ['-u', url, '-o', 'whole.zsync', 'whole'], { cwd });
    const sentBefore = await served.metric('slipway_cdn_sent_bytes_total');
    // One that does not understand the answers asks for ever.
    await run('zsync', ['-q', '-i', 'old', '-o', 'result', 'whole.zsync'], { cwd, timeout: 170_000 });
    expect((await readFile(join(cwd, 'result'))).equals(pieces)).toBe(true);
    const sent = (await served.metric('slipway_cdn_sent_bytes_total')) - sentBefore;
    expect(sent).toBeLessThan(pieces.length / 2);
  });

  it.skipIf(!hasTool('nginx'))('a cache that requests slice by slice never mixes two releases', async () => {
    const { served, switchTo } = await switching();
    await switchTo('r1');
    const nginx = await startNginx(served.port, 'slices', onTestFinished);
    const download = await startSlowDownload(nginx.port, served.target(NEWER));
    await switchTo('r2');
    const { body, wasCut } = await download.finish();
    const old = SWITCHED.r1[NEWER];
    expect(body.equals(old.subarray(0, body.length))).toBe(true);
    expect(wasCut || body.length === old.length).toBe(true);
    const answer = await ask(nginx.port, 'GET', served.target(NEWER));
    expect([answer.status, answer.body.equals(SWITCHED.r2[NEWER])]).toEqual([200, true]);
  });

  const shared = sharedFixture(
    async (atEnd) =>
      await startServedProcess({ fastPath, release: { releaseId: 'r1', files: FILES }, atEnd }),
  );

  describe.each(ROUTES)('%s', (way, cache) => {
    const isMissing = cache !== null && !hasTool('nginx');
    const route = sharedFixture(async (atEnd) => await startRoute(shared(), isMissing ? null : cache, atEnd));

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
      // The server sends the file, and curl takes its date for a reason to drop it.
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
