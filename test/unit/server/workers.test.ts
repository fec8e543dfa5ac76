import { EventEmitter } from 'node:events';
import { Counter, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import type { Blake3Hex } from '../../../src/domain/release/digest.ts';
import type { DamageReport } from '../../../src/domain/verdict/evidence.ts';
import { createSilentLogger } from '../../../src/platform/logging/logging.ts';
import { serverConfigurationSchema } from '../../../src/server/config/config.ts';
import type { AcceptedEnvelope, DamageChange } from '../../../src/server/serving/serving.ts';
import type { SharedServingParts } from '../../../src/server/workers/shared-serving.ts';
import {
  createSupervisor,
  WorkersFailedError,
  type Supervisor,
} from '../../../src/server/workers/supervisor.ts';
import { createWorkerLink, type WorkerLink } from '../../../src/server/workers/worker-link.ts';
import type { PrimaryMessage, WorkerMessage } from '../../../src/server/workers/worker-messages.ts';
import type { WorkerProcess } from '../../../src/server/workers/worker-process.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeServing } from '../../fakes/fake-serving.ts';
import { until } from '../../support/until.ts';

/** A worker that a test controls. */
class FakeWorker implements WorkerProcess {
  readonly pid: number;
  readonly received: PrimaryMessage[] = [];
  killed = false;
  hangs = false;
  say: (message: WorkerMessage) => void = () => undefined;
  exit: (how: { readonly code: number | null; readonly signal: string | null }) => void = () => undefined;

  constructor(pid: number) {
    this.pid = pid;
  }

  send(message: PrimaryMessage): void {
    this.received.push(message);
    if (message.kind === 'slipway:ping' && !this.hangs) this.say({ kind: 'slipway:pong' });
  }

  kill(): void {
    this.killed = true;
    this.exit({ code: null, signal: 'SIGKILL' });
  }

  onMessage(listener: (message: WorkerMessage) => void): void {
    this.say = listener;
  }

  onExit(listener: FakeWorker['exit']): void {
    this.exit = listener;
  }

  /** As a worker that has started. */
  listen(): void {
    this.say({ kind: 'slipway:hello' });
    this.say({ kind: 'slipway:listening', url: 'http://127.0.0.1:1', hashing: 'native' });
  }

  of<K extends PrimaryMessage['kind']>(kind: K): Array<Extract<PrimaryMessage, { readonly kind: K }>> {
    return this.received.filter(
      (message): message is Extract<PrimaryMessage, { readonly kind: K }> => message.kind === kind,
    );
  }
}

const report: DamageReport = {
  destination: 'a',
  blake3: 'a'.repeat(64) as Blake3Hex,
  kind: 'damaged',
  message: 'bad',
};
const found = { kind: 'slipway:damage', change: { blake3: report.blake3, report } } as const;

describe('the supervisor', () => {
  const config = serverConfigurationSchema.parse({
    workers: 3,
    publicBaseUrl: 'https://resources.example.org',
    snapshot: { root: '/snapshot' },
    attestation: { publicKeyFiles: ['/keys/signing.pub'] },
  });

  function createBench(): { supervisor: Supervisor; workers: FakeWorker[]; clock: FakeClock } {
    const clock = new FakeClock();
    const workers: FakeWorker[] = [];
    const supervisor = createSupervisor({
      config,
      fork: () => {
        const worker = new FakeWorker(100 + workers.length);
        workers.push(worker);
        return worker;
      },
      clock,
      random: () => 1,
      logger: createSilentLogger(),
    });
    return { supervisor, workers, clock };
  }

  async function startBench(): Promise<ReturnType<typeof createBench>> {
    const bench = createBench();
    const started = bench.supervisor.start();
    // The list grows: the others start when the first one listens.
    for (const worker of bench.workers) worker.listen();
    await started;
    return bench;
  }

  it('starts every worker with its number and the configuration, and is up when all of them listen', async () => {
    const { supervisor, workers } = createBench();
    const started = supervisor.start();
    expect(workers).toHaveLength(1);
    workers[0]!.listen();
    expect(workers).toHaveLength(3);
    workers[1]!.listen();
    expect(workers.map((worker) => worker.of('slipway:start')[0])).toEqual([
      { kind: 'slipway:start', slot: 0, config, damage: [], attestation: null, othersServe: false },
      { kind: 'slipway:start', slot: 1, config, damage: [], attestation: null, othersServe: true },
      undefined,
    ]);
    expect(supervisor.running).toBe(2);
    workers[2]!.listen();
    expect(await started).toEqual({ url: 'http://127.0.0.1:1', hashing: 'native' });
  });

  it('tells a replacement that nobody serves when all workers have died', async () => {
    const { workers, clock } = await startBench();
    for (const worker of workers) worker.exit({ code: null, signal: 'SIGKILL' });
    await clock.advance(500);
    workers[3]!.listen();
    workers[4]!.say({ kind: 'slipway:hello' });
    expect([3, 4].map((at) => workers[at]!.of('slipway:start')[0]?.othersServe)).toEqual([false, true]);
  });

  it('gives up when the first worker ends before it listens, with its exit code', async () => {
    const { supervisor, workers } = createBench();
    const started = supervisor.start();
    workers[0]!.exit({ code: 78, signal: null });
    await expect(started).rejects.toThrow(WorkersFailedError);
    await expect(started).rejects.toMatchObject({ code: 78 });
  });

  it('restarts a worker that died, with a growing delay if it dies soon, under the same number', async () => {
    const { supervisor, workers, clock } = await startBench();
    const waits: number[] = [];
    for (let death = 0; death < 9; death += 1) {
      const diedAt = clock.monotonic();
      workers.at(-1)!.exit({ code: null, signal: 'SIGKILL' });
      expect(supervisor.running).toBe(2);
      const before = workers.length;
      while (workers.length === before) await clock.advance(100);
      waits.push(clock.monotonic() - diedAt);
      workers.at(-1)!.listen();
      expect(workers.at(-1)!.of('slipway:start')[0]!.slot).toBe(2);
    }
    expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
    expect(supervisor.restarts).toBe(9);
    // After a long life the delay starts again.
    await clock.advance(61_000);
    workers.at(-1)!.exit({ code: 1, signal: null });
    const before = workers.length;
    await clock.advance(500);
    expect(workers).toHaveLength(before + 1);
  });

  it("notifies the others immediately of a worker's finding, and later workers too, until it is sound", async () => {
    const { workers, clock } = await startBench();
    workers[1]!.say(found);
    expect(workers.map((worker) => worker.of('slipway:damage').length)).toEqual([1, 0, 1]);
    workers[2]!.exit({ code: 1, signal: null });
    await clock.advance(500);
    workers[3]!.say({ kind: 'slipway:hello' });
    expect(workers[3]!.of('slipway:start')[0]!.damage).toEqual([report]);
    workers[0]!.say({ kind: 'slipway:damage', change: { blake3: report.blake3, report: null } });
    expect(workers[1]!.of('slipway:damage').at(-1)!.change.report).toBeNull();
    workers[3]!.exit({ code: 1, signal: null });
    await clock.advance(1000);
    workers[4]!.say({ kind: 'slipway:hello' });
    expect(workers[4]!.of('slipway:start')[0]!.damage).toEqual([]);
  });

  it('passes a minute of the history on to the others', async () => {
    const { workers } = await startBench();
    const minute = { minute: 7, traffic: { requests: 1, serverErrors: 0, sentBytes: 10 }, scrub: null };
    workers[1]!.say({ kind: 'slipway:minute', minute });
    expect(workers.map((worker) => worker.of('slipway:minute').map((each) => each.minute))).toEqual([
      [minute],
      [],
      [minute],
    ]);
  });

  it('passes on the newest accepted attestation, also to workers that start later', async () => {
    const { workers, clock } = await startBench();
    const accept = (worker: FakeWorker, version: number, storeId = 'store'): void => {
      worker.say({ kind: 'slipway:attestation', attestation: { storeId, version, envelope: `${version}` } });
    };
    accept(workers[0]!, 7);
    // The others then accept the same or an older one; nothing is sent back.
    accept(workers[1]!, 7);
    accept(workers[2]!, 6);
    expect(workers.map((worker) => worker.of('slipway:attestation').length)).toEqual([0, 1, 1]);
    workers[1]!.exit({ code: 1, signal: null });
    await clock.advance(500);
    workers[3]!.say({ kind: 'slipway:hello' });
    expect(workers[3]!.of('slipway:start')[0]).toMatchObject({
      attestation: { version: 7 },
      othersServe: true,
    });
    // Another store starts again.
    accept(workers[0]!, 1, 'other');
    expect(workers[2]!.of('slipway:attestation').at(-1)!.attestation).toMatchObject({ version: 1 });
  });

  it('collects the metrics of all, without a worker that hangs or dies meanwhile', async () => {
    const { supervisor, workers, clock } = await startBench();
    const answer = (worker: FakeWorker): void => {
      worker.say({ kind: 'slipway:metrics', id: worker.of('slipway:metrics').at(-1)!.id, metrics: [] });
    };
    const all = supervisor.collectMetrics();
    for (const worker of workers) answer(worker);
    expect(await all).toHaveLength(3);
    const withoutHung = supervisor.collectMetrics();
    answer(workers[0]!);
    answer(workers[0]!);
    answer(workers[1]!);
    await clock.advance(2000);
    expect(await withoutHung).toHaveLength(2);
    const withoutDead = supervisor.collectMetrics();
    answer(workers[0]!);
    answer(workers[1]!);
    workers[2]!.exit({ code: 1, signal: null });
    expect(await withoutDead).toHaveLength(2);
  });

  it('kills a worker that hangs, and restarts it', async () => {
    const { workers, clock } = await startBench();
    workers[1]!.hangs = true;
    await clock.advance(25_000);
    // This one is only slow.
    workers[1]!.say({ kind: 'slipway:pong' });
    await clock.advance(25_000);
    expect(workers.map(({ killed }) => killed)).toEqual([false, false, false]);
    await clock.advance(15_000);
    expect(workers.slice(0, 3).map(({ killed }) => killed)).toEqual([false, true, false]);
    expect(workers).toHaveLength(4);
  });

  it('stops all of them cleanly, and restarts none', async () => {
    const { supervisor, workers, clock } = await startBench();
    workers[0]!.exit({ code: 1, signal: null });
    const stopped = supervisor.stop('SIGTERM', new AbortController().signal);
    expect(workers.map((worker) => worker.of('slipway:stop').length)).toEqual([0, 1, 1]);
    for (const worker of workers.slice(1)) worker.exit({ code: 0, signal: null });
    await stopped;
    await clock.advance(60_000);
    expect(workers).toHaveLength(3);
  });

  it('kills a worker that does not end in time, and reports it', async () => {
    const { supervisor, workers } = await startBench();
    const cut = new AbortController();
    const stopped = supervisor.stop('SIGTERM', cut.signal);
    workers[0]!.exit({ code: 0, signal: null });
    cut.abort();
    await expect(stopped).rejects.toThrow('did not stop cleanly');
    expect(workers.map(({ killed }) => killed)).toEqual([false, true, true]);
  });
});

function reportOf(letter: string): DamageReport {
  return { destination: letter, blake3: letter.repeat(64) as Blake3Hex, kind: 'damaged', message: 'bad' };
}

/** The shared state of a worker, over a serving that only records. */
function sharedServing(): {
  serving: SharedServingParts['serving'];
  reports: DamageReport[];
  offered: string[];
  report: (report: DamageReport) => void;
  accept: (accepted: AcceptedEnvelope) => void;
} {
  const fake = new FakeServing();
  const offered: string[] = [];
  const listeners: ((accepted: AcceptedEnvelope) => void)[] = [];
  return {
    serving: {
      reportDamage: (...reports: readonly DamageReport[]) => {
        fake.reportDamage(...reports);
      },
      watchDamage: (listener: (change: DamageChange) => void) => {
        fake.watchDamage(listener);
      },
      offerEnvelope: (envelope: Uint8Array) => {
        offered.push(Buffer.from(envelope).toString());
        return 'accepted';
      },
      watchAttestation: (listener: (accepted: AcceptedEnvelope) => void) => {
        listeners.push(listener);
      },
    } as unknown as SharedServingParts['serving'],
    reports: fake.reports,
    offered,
    report: (report) => {
      fake.reportDamage(report);
    },
    accept: (accepted) => {
      for (const listener of listeners) listener(accepted);
    },
  };
}

/** Parts that a test does not look at. */
const NO_PARTS = {
  wake: () => undefined,
  registry: new Registry(),
  addMinute: () => undefined,
} as const;

describe('the link of a worker', () => {
  const config = serverConfigurationSchema.parse({
    workers: 2,
    publicBaseUrl: 'https://resources.example.org',
    snapshot: { root: '/snapshot' },
    attestation: { publicKeyFiles: ['/keys/signing.pub'] },
  });

  const START = {
    kind: 'slipway:start',
    slot: 0,
    config,
    damage: [],
    attestation: null,
    othersServe: false,
  } as const;

  function createBench(): {
    link: WorkerLink;
    sent: WorkerMessage[];
    tell: (message: PrimaryMessage) => void;
  } {
    const channel = Object.assign(new EventEmitter(), {
      send: (message: WorkerMessage) => sent.push(message),
    });
    const sent: WorkerMessage[] = [];
    const link = createWorkerLink(channel);
    return { link, sent, tell: (message) => channel.emit('message', message) };
  }

  it('gets its role from the first process, and only the first worker runs the scrub', async () => {
    for (const slot of [0, 1]) {
      const { link, sent, tell } = createBench();
      expect(sent).toEqual([{ kind: 'slipway:hello' }]);
      tell({ ...START, slot });
      const start = await link.start();
      expect(start).toMatchObject({
        slot,
        config,
        shared: { processes: 2, scrubs: slot === 0, settleMs: 0 },
      });
    }
  });

  it('begins with the last attestation that the others accepted, and reports those accepted here', async () => {
    const { link, sent, tell } = createBench();
    const attestation = {
      storeId: 'store',
      version: 7,
      envelope: Buffer.from('signed').toString('base64'),
    };
    tell({ ...START, attestation, othersServe: true });
    const { shared } = (await link.start())!;
    expect(Buffer.from(shared.firstEnvelope!).toString()).toBe('signed');
    expect(shared.settleMs).toBeGreaterThan(0);
    const { serving, offered, accept } = sharedServing();
    shared.join({ ...NO_PARTS, serving });
    accept({ envelope: Buffer.from('signed'), storeId: 'store', version: 7 });
    expect(sent.at(-1)).toEqual({ kind: 'slipway:attestation', attestation });
    tell({ kind: 'slipway:attestation', attestation });
    expect(offered).toEqual(['signed']);
  });

  it('passes on its own findings, and never those of the others', async () => {
    const { link, sent, tell } = createBench();
    tell({ ...START, damage: [reportOf('a')] });
    const start = await link.start();
    // Before the server is assembled, and after.
    tell({ kind: 'slipway:damage', change: { blake3: reportOf('b').blake3, report: reportOf('b') } });
    tell({ kind: 'slipway:damage', change: { blake3: reportOf('a').blake3, report: null } });
    const { serving, reports, report } = sharedServing();
    let woken = 0;
    start!.shared.join({ ...NO_PARTS, serving, wake: () => (woken += 1) });
    tell({ kind: 'slipway:damage', change: { blake3: reportOf('c').blake3, report: reportOf('c') } });
    expect(reports).toEqual([reportOf('b'), reportOf('c')]);
    expect(sent).toHaveLength(1);
    report(reportOf('d'));
    expect(sent.at(-1)).toEqual({
      kind: 'slipway:damage',
      change: { blake3: reportOf('d').blake3, report: reportOf('d') },
    });
    tell({ kind: 'slipway:damage', change: { blake3: reportOf('c').blake3, report: null } });
    expect(woken).toBe(1);
  });

  it('shares the minutes of its history, and adds those of the others', async () => {
    const { link, sent, tell } = createBench();
    tell(START);
    const { shared } = (await link.start())!;
    const own = { minute: 7, traffic: { requests: 1, serverErrors: 0, sentBytes: 10 }, scrub: null };
    shared.shareMinute(own);
    expect(sent.at(-1)).toEqual({ kind: 'slipway:minute', minute: own });
    const added: unknown[] = [];
    shared.join({
      ...NO_PARTS,
      serving: sharedServing().serving,
      addMinute: (other) => void added.push(other),
    });
    tell({ kind: 'slipway:minute', minute: own });
    expect(added).toEqual([own]);
  });

  it('answers a ping', () => {
    const { sent, tell } = createBench();
    tell({ kind: 'slipway:ping' });
    expect(sent.at(-1)).toEqual({ kind: 'slipway:pong' });
  });

  it('answers with its metrics', async () => {
    const { link, sent, tell } = createBench();
    tell(START);
    const registry = new Registry();
    new Counter({ name: 'counted', help: 'Counted.', registers: [registry] }).inc(7);
    const start = await link.start();
    start!.shared.join({ ...NO_PARTS, serving: sharedServing().serving, registry });
    tell({ kind: 'slipway:metrics', id: 3 });
    await until(() => sent.length === 2);
    expect(sent[1]).toMatchObject({
      kind: 'slipway:metrics',
      id: 3,
      metrics: [{ name: 'counted', values: [{ value: 7 }] }],
    });
  });

  it('stops when it receives the stop message, at any time', async () => {
    const early = createBench();
    early.tell({ kind: 'slipway:stop', reason: 'no' });
    expect(await early.link.start()).toBeNull();
    const { link, tell } = createBench();
    tell(START);
    expect(await link.start()).not.toBeNull();
    const reasons: string[] = [];
    tell({ kind: 'slipway:stop', reason: 'first' });
    link.onStop((reason) => reasons.push(reason));
    tell({ kind: 'slipway:stop', reason: 'second' });
    expect(reasons).toEqual(['first', 'second']);
  });
});
