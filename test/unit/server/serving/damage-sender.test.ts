import { describe, expect, it, onTestFinished } from 'vitest';
import { MANIFEST_DESTINATION, type ReportedObject } from '../../../../src/contract/formats/damage-report.ts';
import type { Blake3Hex } from '../../../../src/domain/release/digest.ts';
import { createSilentLogger } from '../../../../src/platform/logging/logging.ts';
import {
  createDamageSender,
  RESEND_MS,
  SENDER_OBJECTS_MAX,
  SENDS,
} from '../../../../src/server/serving/damage-sender.ts';
import type { DamageChange } from '../../../../src/server/serving/serving.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { FakeServing } from '../../../fakes/fake-serving.ts';

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
      postDamage: async (reports) => {
        bench.requests.push(reports.map(({ destination }) => destination));
        if (bench.isDaemonAway) throw new Error('connection refused');
        bench.onPost();
        bench.posted.push(...reports);
        await Promise.resolve();
      },
    },
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
