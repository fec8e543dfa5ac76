import { EventEmitter } from 'node:events';
import { Counter, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import type { Blake3Hex } from '../../../../src/domain/release/digest.ts';
import { serverConfigurationSchema } from '../../../../src/server/config/config.ts';
import type { SharedServingParts } from '../../../../src/server/workers/shared-serving.ts';
import type { AcceptedEnvelope } from '../../../../src/server/serving/serving.ts';
import type { DamageReport } from '../../../../src/domain/verdict/evidence.ts';
import { createWorkerLink, type WorkerLink } from '../../../../src/server/workers/worker-link.ts';
import type { PrimaryMessage, WorkerMessage } from '../../../../src/server/workers/worker-messages.ts';
import { FakeServing } from '../../../fakes/fake-serving.ts';
import { until } from '../../../support/until.ts';

const config = serverConfigurationSchema.parse({
  workers: 2,
  publicBaseUrl: 'https://resources.example.org',
  snapshot: { root: '/snapshot' },
  attestation: { publicKeyFiles: ['/keys/signing.pub'] },
});

function reportOf(letter: string): DamageReport {
  return { destination: letter, blake3: letter.repeat(64) as Blake3Hex, kind: 'damaged', message: 'bad' };
}

const START = {
  kind: 'slipway:start',
  slot: 0,
  config,
  damage: [],
  attestation: null,
  isReplacement: false,
} as const;

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
      reportDamage: (...reports) => {
        fake.reportDamage(...reports);
      },
      watchDamage: (listener) => {
        fake.watchDamage(listener);
      },
      offerEnvelope: (envelope) => {
        offered.push(Buffer.from(envelope).toString());
        return 'accepted';
      },
      watchAttestation: (listener) => {
        listeners.push(listener);
      },
    },
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
  history: { add: () => undefined },
} as const;

function createBench(): {
  link: WorkerLink;
  sent: WorkerMessage[];
  tell: (message: PrimaryMessage) => void;
} {
  const channel = Object.assign(new EventEmitter(), { send: (message: WorkerMessage) => sent.push(message) });
  const sent: WorkerMessage[] = [];
  const link = createWorkerLink(channel);
  return { link, sent, tell: (message) => channel.emit('message', message) };
}

describe('the link of a worker', () => {
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
    tell({ ...START, attestation, isReplacement: true });
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
      history: { add: (other) => void added.push(other) },
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
