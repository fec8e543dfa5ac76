import { open, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { Registry } from 'prom-client';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ManifestEntry } from '../../../src/domain/release/manifest.ts';
import type { HashPool } from '../../../src/platform/hashing/digests.ts';
import { createHashPool } from '../../../src/platform/hashing/hash-pool.ts';
import { createLogger, createSilentLogger } from '../../../src/platform/logging/logging.ts';
import { ScrubDamage } from '../../../src/server/scrub/scrub-damage.ts';
import { createScrubMetrics } from '../../../src/server/scrub/scrub-metrics.ts';
import { restAfter, ScrubPace } from '../../../src/server/scrub/scrub-pace.ts';
import {
  createScrubStateFile,
  NO_STATE_STORE,
  type ScrubStateStore,
} from '../../../src/server/scrub/scrub-state-file.ts';
import { createScrubber, type Scrubber } from '../../../src/server/scrub/scrubber.ts';
import { blockListPath, objectPath } from '../../../src/snapshot/volume/layout.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { fakeRelease, FakeServing } from '../../fakes/fake-serving.ts';
import { patternBytes, storeObject } from '../../support/cdn-fixture.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const MIB = 1024 * 1024;

/** A scrub over a real store, with a clock that the test moves. */
interface ScrubBench {
  readonly root: string;
  readonly clock: FakeClock;
  readonly serving: FakeServing;
  readonly entries: ManifestEntry[];
  readonly scrubber: Scrubber;
  /** Objects that were hashed, in order. */
  readonly hashed: string[];
  metric(name: string): Promise<number | undefined>;
  /** Moves time until this many passes are complete. */
  passes(count: number): Promise<void>;
  pathOf(at: number): string;
}

async function startBench(
  options: {
    readonly files?: readonly Buffer[];
    readonly store?: (root: string) => ScrubStateStore;
    readonly root?: string;
    readonly bytesPerSecond?: number;
    readonly load?: () => number;
    readonly pool?: (pool: HashPool) => HashPool;
  } = {},
): Promise<ScrubBench> {
  const root = options.root ?? (await temporaryDirectory());
  const files = options.files ?? Array.from({ length: 20 }, (_, at) => patternBytes(1000 + at, at + 1));
  const entries: ManifestEntry[] = [];
  for (const [at, bytes] of files.entries()) entries.push(await storeObject(root, `file-${at}`, bytes));
  const clock = new FakeClock();
  const serving = new FakeServing();
  serving.serve([fakeRelease({ releaseId: 'r1', entries })]);
  const registry = new Registry();
  const pool = createHashPool({ threads: 1 });
  const hashed: string[] = [];
  const completed: string[] = [];
  const used = options.pool?.(pool) ?? pool;
  const found = new ScrubDamage(serving);
  const scrubber = createScrubber({
    serving,
    root,
    pool: {
      ...used,
      hashContent: async (fd, request, signal) => {
        const found = await used.hashContent(fd, request, signal);
        hashed.push(found.blake3);
        return found;
      },
      hashBlocks: async (fd, span, signal) => {
        const found = await used.hashBlocks(fd, span, signal);
        hashed.push(`${span.start}`);
        return found;
      },
    },
    share: { bytesPerSecond: options.bytesPerSecond ?? 1e12, share: 1 },
    restSeconds: 60,
    store: options.store?.(root) ?? NO_STATE_STORE,
    load: options.load ?? (() => 0),
    metrics: createScrubMetrics(registry, found),
    found,
    clock,
    random: () => 0.5,
    logger: createLogger({
      name: 'test',
      level: 'info',
      destination: { write: (line) => line.includes('scrub pass complete') && completed.push(line) },
    }),
  });
  onTestFinished(async () => {
    await scrubber.stop();
    await pool.close();
  });
  const metric = async (name: string): Promise<number | undefined> =>
    (await registry.getSingleMetric(`slipway_scrub_${name}`)?.get())?.values.reduce(
      (sum, { value }) => sum + value,
      0,
    );
  return {
    root,
    clock,
    serving,
    entries,
    scrubber,
    hashed,
    metric,
    passes: async (count) => {
      await passTime(clock, 500, () => completed.length >= count);
    },
    pathOf: (at) => objectPath(root, entries[at]!.blake3),
  };
}

/** Advances the clock until a condition holds. While the scrub reads, time stands still, however busy the machine is. */
async function passTime(clock: FakeClock, stepMs: number, isReached: () => boolean): Promise<void> {
  while (!isReached()) {
    await until(() => clock.sleeping > 0 || isReached());
    if (!isReached()) await clock.advance(stepMs);
  }
}

async function rot(path: string, position: number): Promise<void> {
  const bytes = await readFile(path);
  const file = await open(path, 'r+');
  await file.write(Buffer.from([(bytes[position] ?? 0) ^ 1]), 0, 1, position);
  await file.close();
}

describe('a pass of the scrub', () => {
  test('a pass reads every distinct object once, and the next one begins after a pause', async () => {
    const twin = patternBytes(500, 77);
    const bench = await startBench({ files: [twin, twin, patternBytes(3 * MIB + 5, 3), Buffer.alloc(0)] });
    const other = fakeRelease({ releaseId: 'r0', role: 'retained', entries: [bench.entries[2]!] });
    bench.serving.serve([...bench.serving.state().byReleaseId.values(), other]);
    bench.scrubber.start();
    await until(async () => (await bench.metric('objects_total')) === 3);
    // Two small ones, and the four pieces of the large one.
    await until(async () => (await bench.metric('completed_timestamp_seconds')) === bench.clock.now() / 1000);
    expect(bench.hashed).toHaveLength(6);
    expect(await bench.metric('bytes_total')).toBe(3 * MIB + 5 + 500);
    expect(bench.serving.reports).toEqual([]);
    await bench.passes(2);
    expect(await bench.metric('objects_total')).toBe(6);
    expect(await bench.metric('damage_total')).toBe(0);
  });

  describe('damage in an object that nobody requested', () => {
    test.each<[string, string, (bench: ScrubBench) => Promise<void>]>([
      ['a flipped bit', 'damaged', async (bench) => await rot(bench.pathOf(0), 99)],
      [
        'a flipped bit in the last block of a large object',
        'damaged',
        async (bench) => await rot(bench.pathOf(1), 2 * MIB + 1),
      ],
      [
        'a changed block list',
        'damaged',
        async (bench) => await rot(blockListPath(bench.root, bench.entries[1]!.blake3), 40),
      ],
      ['a truncated object', 'missing', async (bench) => await truncate(bench.pathOf(0), 10)],
      ['a missing object', 'missing', async (bench) => await rm(bench.pathOf(0))],
    ])('%s is reported as %s', async (_name, kind, damage) => {
      const bench = await startBench({ files: [patternBytes(1000), patternBytes(2 * MIB + 9, 2)] });
      await damage(bench);
      bench.scrubber.start();
      await bench.passes(1);
      expect(bench.serving.reports).toHaveLength(1);
      expect(bench.serving.reports[0]).toMatchObject({ kind });
      expect(await bench.metric('damage_total')).toBe(1);
      // It continues: the rest was checked too.
      expect(await bench.metric('objects_total')).toBe(2);
    });

    test('is not reported when the object was repaired while it was read', async () => {
      const bytes = patternBytes(1000);
      const bench = await startBench({
        files: [bytes],
        pool: (pool) => ({
          ...pool,
          hashContent: async (fd, request, signal) => {
            const found = await pool.hashContent(fd, request, signal);
            await writeFile(`${bench.pathOf(0)}.new`, bytes);
            await rename(`${bench.pathOf(0)}.new`, bench.pathOf(0));
            return found;
          },
        }),
      });
      await rot(bench.pathOf(0), 5);
      bench.scrubber.start();
      await bench.passes(1);
      expect(bench.serving.reports).toEqual([]);
    });

    test('is counted while the attestation names its release, also when that is withdrawn', async () => {
      const bench = await startBench({ files: [patternBytes(1000), patternBytes(1001)] });
      await rm(bench.pathOf(0));
      bench.scrubber.start();
      await bench.passes(1);
      expect(await bench.metric('damaged_objects')).toBe(1);
      bench.serving.serve([], ['r1']);
      expect(await bench.metric('damaged_objects')).toBe(1);
      bench.serving.serve([fakeRelease({ releaseId: 'r2', entries: [bench.entries[1]!] })]);
      expect(await bench.metric('damaged_objects')).toBe(0);
      // A counter never falls.
      expect(await bench.metric('damage_total')).toBe(1);
    });

    test('is not reported when its release is no longer served', async () => {
      const bench = await startBench({
        files: [patternBytes(1000)],
        pool: (pool) => ({
          ...pool,
          hashContent: async (fd, request, signal) => {
            bench.serving.serve([]);
            return { ...(await pool.hashContent(fd, request, signal)), size: 1 };
          },
        }),
      });
      bench.scrubber.start();
      await until(() => bench.hashed.length === 1);
      await until(() => bench.clock.sleeping > 0);
      expect(bench.serving.reports).toEqual([]);
    });

    test('is not reported when the process is out of descriptors: the read is retried, then skipped', async () => {
      let calls = 0;
      const bench = await startBench({
        files: [patternBytes(1000), patternBytes(1001)],
        pool: (pool) => ({
          ...pool,
          hashContent: async (fd, request, signal) => {
            calls += 1;
            if (calls <= 3) throw Object.assign(new Error('too many'), { code: 'EMFILE' });
            return await pool.hashContent(fd, request, signal);
          },
        }),
      });
      bench.scrubber.start();
      await bench.passes(1);
      expect(bench.serving.reports).toEqual([]);
      expect(await bench.metric('skipped_total')).toBe(1);
      expect(bench.hashed).toHaveLength(1);
    });
  });

  describe('the place', () => {
    test('is kept in its file: after a restart the pass resumes and ends where it began', async () => {
      const root = await temporaryDirectory();
      const path = join(await temporaryDirectory(), 'scrub.json');
      const store = (): ScrubStateStore => createScrubStateFile(path, createSilentLogger());
      const slow = { root, store, bytesPerSecond: 1000 } as const;
      const first = await startBench(slow);
      first.scrubber.start();
      await passTime(first.clock, 100, () => first.hashed.length >= 7);
      await first.scrubber.stop();
      const seen = first.hashed.slice(0, Number(await first.metric('objects_total')));
      const second = await startBench(slow);
      second.scrubber.start();
      await second.passes(1);
      expect([...seen, ...second.hashed].sort()).toEqual(second.entries.map(({ blake3 }) => blake3).sort());
      await until(async () => (JSON.parse(await readFile(path, 'utf8')) as { pass: number }).pass === 2);
    });

    test.each(['', '{}', '{"format":"slipway-scrub","version":1,"steps_done":999}', '\0'.repeat(100)])(
      'in a malformed file (%j) is arbitrary',
      async (text) => {
        const path = join(await temporaryDirectory(), 'scrub.json');
        await writeFile(path, text);
        const bench = await startBench({
          store: () => createScrubStateFile(path, createSilentLogger()),
        });
        bench.scrubber.start();
        await bench.passes(1);
        expect(bench.hashed).toHaveLength(20);
        // This bench begins at the middle of all digests.
        expect(bench.hashed[0]! >= '80').toBe(true);
        expect(bench.hashed.at(-1)! < '80').toBe(true);
      },
    );

    test('cannot be saved: the scrub continues', async () => {
      const bench = await startBench({
        store: (root) => createScrubStateFile(join(root, 'no', 'such', 'folder'), createSilentLogger()),
      });
      bench.scrubber.start();
      await bench.passes(2);
      expect(bench.hashed).toHaveLength(40);
    });
  });

  describe('the pace', () => {
    async function secondsForPass(options: Parameters<typeof startBench>[0]): Promise<number> {
      const bench = await startBench({ ...options, files: [patternBytes(4 * MIB, 9)] });
      const begun = bench.clock.monotonic();
      bench.scrubber.start();
      await bench.passes(1);
      return (bench.clock.monotonic() - begun) / 1000;
    }

    test('keeps to the bytes per second, also within one object, and slows down under load', async () => {
      expect(await secondsForPass({ bytesPerSecond: MIB })).toBeGreaterThan(3);
      expect(await secondsForPass({ bytesPerSecond: MIB, load: () => 0.5 })).toBeGreaterThan(6);
      // A server that is always busy is still checked completely.
      expect(await secondsForPass({ bytesPerSecond: MIB, load: () => 1 })).toBeGreaterThan(40);
    });

    test('ends in the middle of a pause when the server is stopping', async () => {
      const bench = await startBench({ bytesPerSecond: 1 });
      bench.scrubber.start();
      await until(() => bench.clock.sleeping > 0);
      await bench.scrubber.stop();
      expect(bench.hashed).toHaveLength(1);
    });
  });

  test('a server-info document of several blocks is read as a whole, and its damage is found', async () => {
    const bench = await startBench({ files: [patternBytes(100, 1)] });
    const bytes = patternBytes(2 * MIB + 77, 9);
    const { blake3, size } = await storeObject(bench.root, 'document', bytes);
    const [release] = [...bench.serving.state().byReleaseId.values()];
    bench.serving.serve([{ ...release!, document: { blake3, size } }]);
    bench.scrubber.start();
    await bench.passes(1);
    expect(bench.hashed).toContain(blake3);
    expect(bench.serving.reports).toEqual([]);
    await rot(objectPath(bench.root, blake3), MIB + 5);
    await bench.passes(2);
    expect(bench.serving.reports).toMatchObject([
      { blake3, kind: 'damaged', destination: '(server-info document)' },
    ]);
  });
});

describe('the pace of the scrub', () => {
  test('property: neither the bytes per second nor the share of the time are exceeded, and load only slows down', () => {
    fc.assert(
      fc.property(
        fc.record({ bytes: fc.nat(2 ** 20), ms: fc.double({ min: 0, max: 100, noNaN: true }) }),
        fc.record({
          bytesPerSecond: fc.integer({ min: 65_536, max: 2 ** 30 }),
          share: fc.double({ min: 0.01, max: 1, noNaN: true }),
        }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (work, limits, load) => {
          const rest = restAfter(work, limits, 0);
          const seconds = (work.ms + rest) / 1000;
          expect(work.bytes).toBeLessThanOrEqual(limits.bytesPerSecond * seconds + 1);
          expect(work.ms).toBeLessThanOrEqual(limits.share * seconds * 1000 + 0.001);
          const busy = restAfter(work, limits, load);
          expect(busy).toBeGreaterThanOrEqual(rest);
          expect(busy).toBeLessThanOrEqual(Math.max(rest * 20 + 0.001, 0));
        },
      ),
    );
  });

  test('pauses accumulate until they are worth a timer, and none is lost', () => {
    const pace = new ScrubPace();
    const pauses = Array.from({ length: 100 }, () => pace.pauseFor(3));
    expect(pauses.filter((pause) => pause > 0).every((pause) => pause >= 20)).toBe(true);
    expect(pauses.reduce((sum, pause) => sum + pause, 0)).toBeGreaterThan(280);
  });
});
