import { describe, expect, it } from 'vitest';
import type { AttestationAnswer } from '../../../../src/server/daemon-client/daemon-client.ts';
import { DaemonUnavailable } from '../../../../src/server/daemon-client/daemon-unavailable.ts';
import { createRefresher, type Refresher } from '../../../../src/server/serving/refresher.ts';
import type { ServingControl } from '../../../../src/server/serving/serving.ts';
import type { VolumeState } from '../../../../src/domain/verdict/evidence.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';

type Step = AttestationAnswer | DaemonUnavailable | 'hang';

/** A refresher whose daemon follows a script and then hangs, as a long poll does. */
class Bench {
  readonly clock = new FakeClock();
  readonly polls: { readonly at: number; readonly etag: string | null }[] = [];
  readonly outcomes: string[] = [];
  readonly looks: number[] = [];
  readonly rechecks: number[] = [];
  readonly refresher: Refresher;
  offerOutcome: 'accepted' | 'unchanged' | 'refused' = 'accepted';
  trouble = false;
  volumeChanged = false;
  volume: VolumeState = { ok: true, storeId: 'store' };
  envelopeOnVolume: Buffer | null = null;
  volumeReads = 0;
  readonly #script: Step[];

  constructor(...script: Step[]) {
    this.#script = script;
    const serving: Pick<
      ServingControl,
      'offerEnvelope' | 'rejection' | 'observeVolume' | 'tick' | 'hasTrouble' | 'recheck'
    > = {
      offerEnvelope: () => this.offerOutcome,
      rejection: () =>
        this.offerOutcome === 'refused'
          ? { reason: 'AttestationInvalid', message: 'by the test', at: 0 }
          : null,
      observeVolume: () => {
        this.looks.push(this.clock.monotonic());
        const changed = this.volumeChanged;
        this.volumeChanged = false;
        return changed;
      },
      tick: () => undefined,
      hasTrouble: () => this.trouble,
      recheck: async () => {
        this.rechecks.push(this.clock.monotonic());
      },
    };
    this.refresher = createRefresher({
      client: { fetchAttestation: async (request) => this.#fetch(request) },
      serving: serving as ServingControl,
      readVolumeEnvelope: async () => {
        this.volumeReads += 1;
        return this.envelopeOnVolume;
      },
      volume: { look: async () => this.volume },
      trustedKeys: { current: () => [], refresh: async () => false },
      clock: this.clock,
      random: () => 1,
      waitSeconds: 20,
      onOutcome: (outcome) => this.outcomes.push(outcome),
    });
  }

  async #fetch({ etag, signal }: { etag: string | null; signal: AbortSignal }): Promise<AttestationAnswer> {
    this.polls.push({ at: this.clock.monotonic(), etag });
    const step = this.#script.shift() ?? 'hang';
    if (step instanceof DaemonUnavailable) throw step;
    if (step !== 'hang') return step;
    return await new Promise<AttestationAnswer>((_, reject) => {
      signal.addEventListener('abort', () => {
        reject(new Error('aborted'));
      });
    });
  }

  /** Milliseconds between the polls. */
  waits(): readonly number[] {
    return this.polls.slice(1).map(({ at }, i) => at - (this.polls[i]?.at ?? 0));
  }

  async run(ms: number): Promise<void> {
    this.refresher.start();
    await this.clock.advance(ms);
  }
}

const envelope = (etag: string | null): AttestationAnswer => ({
  kind: 'envelope',
  etag,
  envelope: Buffer.from('{}'),
});
const down = new DaemonUnavailable('unreachable', 'down');
const starting = new DaemonUnavailable('answer_refused', 'starts', {
  status: 503,
  daemonCode: 'backend_unavailable',
});
const silent = new DaemonUnavailable('timeout', 'no answer');

describe('polling the daemon', () => {
  it('sends the etag it holds and polls again immediately after a new attestation', async () => {
    const bench = new Bench(envelope('"1"'), envelope('"2"'));
    await bench.run(0);
    expect(bench.polls.map(({ etag }) => etag)).toEqual([null, '"1"', '"2"']);
    await bench.refresher.stop();
  });

  it('backs off while the daemon fails, up to a limit, and resets at the first success', async () => {
    const failures = Array.from({ length: 8 }, () => silent);
    const bench = new Bench(...failures, { kind: 'none' }, silent);
    await bench.run(120_000);
    expect(bench.waits()).toEqual([500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000, 2000, 500]);
    await bench.refresher.stop();
  });

  it('finds a daemon within a second after it is ready, however long it was away', async () => {
    for (const failure of [down, starting]) {
      const failures = Array.from({ length: 60 }, () => failure);
      const bench = new Bench(...failures, envelope('"1"'));
      await bench.run(120_000);
      expect(bench.waits().slice(0, 60)).toEqual([500, ...Array.from({ length: 59 }, () => 1000)]);
      expect(bench.refresher.diagnostics().consecutiveFailures).toBe(0);
      await bench.refresher.stop();
    }
  });

  it('reads the envelope from the volume while the daemon is a standby, and asks the daemon again', async () => {
    const standby: AttestationAnswer = { kind: 'standby' };
    const bench = new Bench(standby, standby, envelope('"7"'));
    bench.envelopeOnVolume = Buffer.from('{}');
    await bench.run(4000);
    expect(bench.outcomes).toEqual(['accepted', 'accepted', 'accepted']);
    expect(bench.polls).toEqual([
      { at: 0, etag: null },
      { at: 2000, etag: null },
      { at: 4000, etag: null },
      { at: 4000, etag: '"7"' },
    ]);
    expect(bench.volumeReads).toBe(2);
    await bench.refresher.stop();
  });

  it('has no attestation while the daemon is a standby of an empty volume', async () => {
    const bench = new Bench({ kind: 'standby' });
    await bench.run(1000);
    expect(bench.outcomes).toEqual(['none']);
    await bench.refresher.stop();
  });

  it('does not read the volume while the daemon is away or has no attestation', async () => {
    const bench = new Bench(down, { kind: 'none' }, envelope('"1"'));
    bench.envelopeOnVolume = Buffer.from('{}');
    await bench.run(5000);
    expect(bench.volumeReads).toBe(0);
    await bench.refresher.stop();
  });

  it('reports the state of the refresh', async () => {
    const bench = new Bench(down, down);
    await bench.run(600);
    expect(bench.refresher.diagnostics()).toMatchObject({
      consecutiveFailures: 2,
      lastErrorCode: 'unreachable',
      lastSuccessAt: null,
    });
    await bench.refresher.stop();
  });

  it('sends a request without an etag after a refused envelope, without hammering the daemon', async () => {
    const bench = new Bench(envelope('"1"'), envelope('"1"'), envelope('"1"'));
    bench.offerOutcome = 'refused';
    await bench.run(3_999);
    expect(bench.polls).toEqual([
      { at: 0, etag: null },
      { at: 2000, etag: null },
    ]);
    expect(bench.refresher.diagnostics()).toMatchObject({
      consecutiveFailures: 2,
      lastErrorCode: 'AttestationInvalid',
    });
    await bench.refresher.stop();
  });

  it('does not spin when the daemon answers unchanged immediately', async () => {
    const bench = new Bench(...Array.from({ length: 100 }, (): Step => ({ kind: 'unchanged' })));
    await bench.run(1_000);
    expect(bench.polls.length).toBeLessThanOrEqual(5);
    await bench.refresher.stop();
  });

  it('ends a poll that hangs when the volume is another store, and polls without an etag', async () => {
    const bench = new Bench(envelope('"1"'), 'hang');
    await bench.run(0);
    bench.volumeChanged = true;
    await bench.clock.advance(10_000);
    expect(bench.polls.at(-1)).toEqual({ at: 10_000, etag: null });
    expect(bench.outcomes).not.toContain('failed');
    await bench.refresher.stop();
  });
});

describe('looking at the volume', () => {
  it('continues while a poll hangs: every 10 s, every 2 s in trouble, immediately when woken', async () => {
    const bench = new Bench('hang');
    await bench.run(10_000);
    expect(bench.looks).toEqual([0, 0, 10_000]);
    bench.trouble = true;
    await bench.clock.advance(3_000);
    bench.refresher.wake();
    await bench.clock.advance(4_000);
    expect(bench.looks.slice(3)).toEqual([13_000, 15_000, 17_000]);
    expect(bench.rechecks).toEqual([13_000, 15_000, 17_000]);
    await bench.refresher.stop();
  });
});
