import { appendFile, mkdir, rm, truncate, writeFile } from 'node:fs/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MANIFEST_DESTINATION, type ReportedObject } from '../../../src/contract/formats/damage-report.ts';
import { blockCount } from '../../../src/domain/release/blocks.ts';
import type { Blake3Hex } from '../../../src/domain/release/digest.ts';
import type { ManifestEntry } from '../../../src/domain/release/manifest.ts';
import { damageKindOf, reasonOfDamage, type DamageKind } from '../../../src/domain/verdict/damage-kind.ts';
import { REASONS } from '../../../src/domain/verdict/reasons.ts';
import type { HashPool } from '../../../src/platform/hashing/digests.ts';
import { createHashPool } from '../../../src/platform/hashing/hash-pool.ts';
import { createSilentLogger } from '../../../src/platform/logging/logging.ts';
import { byteFaultOf } from '../../../src/server/bytes/byte-fault.ts';
import { createRevalidator } from '../../../src/server/public/distribution/revalidator.ts';
import { scrubObject } from '../../../src/server/scrub/scrub-object.ts';
import type { ScrubObject } from '../../../src/server/scrub/scrub-order.ts';
import {
  createDamageSender,
  RESEND_MS,
  SENDER_OBJECTS_MAX,
  SENDS,
} from '../../../src/server/serving/damage-sender.ts';
import type { DaemonClient } from '../../../src/server/daemon-client/daemon-client.ts';
import { createObjectInspector } from '../../../src/server/serving/object-inspector.ts';
import type { DamageChange } from '../../../src/server/serving/serving.ts';
import { readVerifiedDocument } from '../../../src/server/serving/verified-document.ts';
import { createObjectSource, type ObjectSource } from '../../../src/snapshot/objects/object-source.ts';
import { verifyObject } from '../../../src/snapshot/objects/object-verifier.ts';
import { blockListPath, objectPath } from '../../../src/snapshot/volume/layout.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeServing } from '../../fakes/fake-serving.ts';
import { patternBytes, serveFiles, startCdn, type CdnFixture } from '../../support/cdn-fixture.ts';

type DamageReport = NonNullable<DamageChange['report']>;

interface Bench {
  readonly serving: FakeServing;
  readonly clock: FakeClock;
  /** Every request, as the destinations that it named. */
  readonly requests: string[][];
  readonly posted: ReportedObject[];
  isDaemonAway: boolean;
  /** Called while a request is in progress. */
  onPost: () => void;
}

function start(): Bench {
  const bench: Bench = {
    serving: new FakeServing(),
    clock: new FakeClock(),
    requests: [],
    posted: [],
    isDaemonAway: false,
    onPost: () => undefined,
  };
  const sender = createDamageSender({
    serving: bench.serving,
    client: {
      postDamage: async (reports: readonly DamageReport[]) => {
        bench.requests.push(reports.map(({ destination }) => destination));
        if (bench.isDaemonAway) throw new Error('connection refused');
        bench.onPost();
        bench.posted.push(...reports);
        await Promise.resolve();
      },
    } as unknown as DaemonClient,
    clock: bench.clock,
    random: () => 1,
    logger: createSilentLogger(),
  });
  sender.start();
  onTestFinished(async () => await sender.stop());
  return bench;
}

function digestOf(name: string): Blake3Hex {
  return Buffer.from(name.padEnd(32)).toString('hex').slice(0, 64) as Blake3Hex;
}

function reportOf(name: string, kind: DamageReport['kind'] = 'damaged'): DamageReport {
  return { destination: name, blake3: digestOf(name), kind, message: 'bad' };
}

describe('the damage sender', () => {
  it('sends concurrent changes in one request, and each change once', async () => {
    const { serving, clock, requests, posted } = start();
    serving.reportDamage(reportOf('a'));
    serving.reportDamage(reportOf('b'));
    await clock.advance(1000);
    expect(requests).toEqual([['a', 'b']]);
    expect(posted[0]).toEqual(reportOf('a'));
    await clock.advance(RESEND_MS / 2);
    expect(requests).toHaveLength(1);
    serving.reportDamage(reportOf('c'));
    await clock.advance(1000);
    expect(requests).toEqual([['a', 'b'], ['c']]);
  });

  it('sends manifests that cannot be read like damaged objects', async () => {
    const { serving, clock, posted } = start();
    const report = { ...reportOf('m', 'missing'), destination: MANIFEST_DESTINATION };
    serving.tellManifest({ blake3: report.blake3, report });
    await clock.advance(1000);
    expect(posted).toEqual([report]);
    serving.tellManifest({ blake3: report.blake3, report: null });
    await clock.advance(10 * RESEND_MS);
    expect(posted).toHaveLength(1);
  });

  it('sends nothing while nothing is damaged', async () => {
    const { clock, requests } = start();
    await clock.advance(10 * RESEND_MS);
    expect(requests).toEqual([]);
  });

  it('sends repeated damage a bounded number of times', async () => {
    const { serving, clock, requests } = start();
    serving.reportDamage(reportOf('a'));
    serving.reportDamage(reportOf('b'));
    await clock.advance(1000);
    serving.tellDamage({ blake3: digestOf('b'), report: null });
    await clock.advance(20 * RESEND_MS);
    expect(requests).toEqual([['a', 'b'], ...Array.from({ length: SENDS - 1 }, () => ['a'])]);
    serving.reportDamage(reportOf('a'));
    await clock.advance(1000);
    expect(requests).toHaveLength(SENDS + 1);
  });

  it('retries with growing waits while the daemon is away, and sends when it is back', async () => {
    const bench = start();
    bench.isDaemonAway = true;
    bench.serving.reportDamage(reportOf('a'));
    await bench.clock.advance(10 * 60_000);
    const failed = bench.requests.length;
    // 1, 2, 4, 8, 16 and then 30 seconds apart.
    expect(failed).toBeGreaterThan(15);
    expect(failed).toBeLessThan(30);
    bench.isDaemonAway = false;
    bench.serving.reportDamage(reportOf('b'));
    await bench.clock.advance(30_000);
    expect(bench.requests.slice(failed)).toEqual([['a', 'b']]);
  });

  it('keeps its wait after a failure however many changes arrive', async () => {
    const bench = start();
    bench.isDaemonAway = true;
    bench.serving.reportDamage(reportOf('a'));
    await bench.clock.advance(50);
    expect(bench.requests).toHaveLength(1);
    for (let change = 0; change < 9; change += 1) {
      bench.serving.reportDamage(reportOf(`b${change}`));
      await bench.clock.advance(100);
    }
    expect(bench.requests).toHaveLength(1);
    await bench.clock.advance(200);
    expect(bench.requests).toHaveLength(2);
    for (let change = 0; change < 19; change += 1) {
      bench.serving.reportDamage(reportOf(`c${change}`));
      await bench.clock.advance(100);
    }
    expect(bench.requests).toHaveLength(2);
    await bench.clock.advance(200);
    expect(bench.requests).toHaveLength(3);
  });

  it('does not send damage that was repaired while the daemon was away', async () => {
    const bench = start();
    bench.isDaemonAway = true;
    bench.serving.reportDamage(reportOf('a'));
    await bench.clock.advance(5000);
    bench.serving.tellDamage({ blake3: digestOf('a'), report: null });
    bench.isDaemonAway = false;
    const before = bench.requests.length;
    await bench.clock.advance(5 * RESEND_MS);
    expect(bench.requests).toHaveLength(before);
  });

  it('sends a report again that changed during the request', async () => {
    const bench = start();
    let isFirst = true;
    bench.onPost = () => {
      if (isFirst) bench.serving.reportDamage(reportOf('a', 'missing'));
      isFirst = false;
    };
    bench.serving.reportDamage(reportOf('a'));
    await bench.clock.advance(1000);
    expect(bench.posted.map(({ kind }) => kind)).toEqual(['damaged', 'missing']);
  });

  it('splits reports that are too many for one request, and remembers a bounded number of objects', async () => {
    const { serving, clock, requests, posted } = start();
    for (let at = 0; at < SENDER_OBJECTS_MAX + 500; at += 1) serving.reportDamage(reportOf(`file ${at}`));
    await clock.advance(1000);
    expect(requests.map((request) => request.length)).toEqual(Array(100).fill(100));
    expect(new Set(posted.map(({ blake3 }) => blake3)).size).toBe(SENDER_OBJECTS_MAX);
  });

  it('keeps a request below the largest body that the daemon accepts', async () => {
    const { serving, clock, requests } = start();
    for (let at = 0; at < 200; at += 1) {
      const report = reportOf(`${'漢'.repeat(330)} ${at}`);
      serving.reportDamage({ ...report, message: '漢'.repeat(500) });
    }
    await clock.advance(1000);
    for (const reports of requests)
      expect(Buffer.byteLength(JSON.stringify({ reports }))).toBeLessThan(1024 * 1024);
  });

  it('shortens a message that exceeds the limit of the protocol', async () => {
    const { serving, clock, posted } = start();
    serving.reportDamage({ ...reportOf('a'), message: 'x'.repeat(5000) });
    await clock.advance(1000);
    expect(posted[0]?.message).toHaveLength(500);
  });
});

const SMALL = patternBytes(5000);
const LARGE = patternBytes(2 * 1024 * 1024 + 77, 2);

/** The change of an object: of its files before a reader opens them, or at each hash of it. */
interface Fault {
  readonly bytes?: Buffer;
  readonly before?: (path: string, list: string) => Promise<void>;
  readonly whileHashed?: (path: string) => Promise<void>;
}

const failToRead = async (): Promise<void> =>
  await Promise.reject(Object.assign(new Error('the device fails'), { code: 'EIO' }));

function flipped(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  copy[100]! ^= 1;
  return copy;
}

interface Found extends CdnFixture {
  readonly source: ObjectSource;
  readonly entry: ManifestEntry;
  readonly pool: HashPool;
}

async function startWith({ bytes = SMALL, before, whileHashed }: Fault): Promise<Found> {
  const hashes = createHashPool({ threads: 1 });
  onTestFinished(async () => {
    await hashes.close();
  });
  let path = '';
  const meet = async <T>(hash: () => Promise<T>): Promise<T> => {
    await whileHashed?.(path);
    const found = await hash();
    // Each reader meets the same file.
    if (whileHashed !== undefined) await writeFile(path, bytes);
    return found;
  };
  const pool: HashPool = {
    ...hashes,
    hashContent: async (...of) => await meet(async () => await hashes.hashContent(...of)),
    hashBlocks: async (...of) => await meet(async () => await hashes.hashBlocks(...of)),
  };
  const sourceOf = (root: string): ObjectSource => {
    const source = createObjectSource(root);
    return { ...source, read: async (...of) => await meet(async () => await source.read(...of)) };
  };
  const cdn = await startCdn({ source: sourceOf });
  const entry = (await serveFiles(cdn, { 'a.bin': bytes })).get('a.bin')!;
  path = objectPath(cdn.root, entry.blake3);
  await before?.(path, blockListPath(cdn.root, entry.blake3));
  return { ...cdn, entry, pool, source: sourceOf(cdn.root) };
}

/** The kind of damage that each part of the server finds. */
async function foundByServer(found: Found): Promise<object> {
  const { root, pool, entry, serving } = found;
  const { signal } = new AbortController();
  const object: ScrubObject = {
    ...entry,
    destination: () => 'a.bin',
    index: serving.state().current.official!.index,
  };
  const answer = await found.request('GET', 'r1/a.bin');
  const scrubbed = await scrubObject({ root, pool, signal, pace: async () => undefined }, object).then(
    () => null,
    (error: unknown) => byteFaultOf(error).kind,
  );
  const revalidated = await createRevalidator({ root, pool, concurrency: 1 })(entry);
  const inspected = await createObjectInspector({ root, pool })(entry, null);
  return {
    request: (JSON.parse(answer.body.toString()) as { reason: string }).reason,
    reported: serving.reports[0]?.kind,
    scrub: scrubbed,
    revalidation: revalidated.ok ? null : revalidated.kind,
    inspection: inspected?.kind,
    ...(entry.blocks === undefined ? { document: await foundInDocument(found) } : {}),
  };
}

/** The kind of damage of a server-info document of the same bytes. */
async function foundInDocument({ source, entry }: Found): Promise<DamageKind | null> {
  const document = await readVerifiedDocument(source, entry);
  return document.ok ? null : document.error.kind;
}

/** The kind of damage that the daemon finds with `verify`. */
async function foundByDaemon({ root, pool, entry }: Found): Promise<DamageKind | null> {
  const status = await verifyObject({ root, pool, part: entry });
  return status === 'ok' ? null : damageKindOf(status);
}

describe('the rule of damage', () => {
  it.each<readonly [string, DamageKind, Fault]>([
    ['missing', 'missing', { before: async (path) => await rm(path) }],
    ['truncated', 'missing', { before: async (path) => await truncate(path, 4000) }],
    ['truncated while it is read', 'missing', { whileHashed: async (path) => await truncate(path, 4000) }],
    ['longer', 'missing', { before: async (path) => await appendFile(path, 'x') }],
    ['of other bytes', 'damaged', { before: async (path) => await writeFile(path, flipped(SMALL)) }],
    [
      'a folder',
      'missing',
      {
        before: async (path) => {
          await rm(path);
          await mkdir(path);
        },
      },
    ],
    ['failing while it is read', 'missing', { whileHashed: failToRead }],
    ['large and failing while it is read', 'missing', { bytes: LARGE, whileHashed: failToRead }],
    ['without its block list', 'missing', { bytes: LARGE, before: async (_path, list) => await rm(list) }],
    [
      'with a block list of other bytes',
      'damaged',
      {
        bytes: LARGE,
        before: async (_path, list) => await writeFile(list, Buffer.alloc(blockCount(LARGE.length) * 32)),
      },
    ],
  ])('for the server and the daemon, an object that is %s is %s', async (_, kind, fault) => {
    const found = await startWith(fault);
    expect(await foundByDaemon(found)).toBe(kind);
    const revalidatesBlocks = found.entry.blocks !== undefined && fault.before !== undefined;
    expect(await foundByServer(found)).toEqual({
      request: reasonOfDamage(kind),
      reported: kind,
      scrub: kind,
      // A revalidation compares the object alone.
      revalidation: revalidatesBlocks ? null : kind,
      inspection: kind,
      ...(found.entry.blocks === undefined ? { document: kind } : {}),
    });
  });

  it('the rule is the one that the reasons state', () => {
    expect(REASONS.EntryMissing).toContain('it is missing, has another size or cannot be read');
    const missing = (['missing', 'size_mismatch', 'unreadable'] as const).map(damageKindOf);
    expect(missing.map(reasonOfDamage)).toEqual(['EntryMissing', 'EntryMissing', 'EntryMissing']);
    expect(REASONS.EntryDamaged).toContain('bytes that do not match the manifest');
    expect(reasonOfDamage(damageKindOf('digest_mismatch'))).toBe('EntryDamaged');
  });

  it.each([
    { wrong: 'the page cache', fromDisk: false },
    { wrong: 'the disk', fromDisk: true },
  ])('an object is not called sound when only its copy on $wrong is wrong', async ({ fromDisk }) => {
    const found = await startWith({});
    const pool: HashPool = {
      ...found.pool,
      hashContent: async (fd, request, signal) => {
        const sound = await found.pool.hashContent(fd, request, signal);
        return request.fromDisk === fromDisk ? { ...sound, blake3: 'f'.repeat(64) as Blake3Hex } : sound;
      },
    };
    const { root, entry } = found;
    expect(await verifyObject({ root, pool, part: entry })).toBe(fromDisk ? 'digest_mismatch' : 'ok');
    expect(await verifyObject({ root, pool, part: entry, alsoCached: true })).toBe('digest_mismatch');
    expect(await createObjectInspector({ root, pool })(entry, null)).toMatchObject({
      sound: false,
      kind: 'damaged',
    });
  });
});
