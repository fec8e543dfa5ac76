import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { keyIdOf, type TrustedKey } from '../../../src/attestation/keys.ts';
import { failure, success, type Result } from '../../../src/domain/result.ts';
import type { Refusal } from '../../../src/domain/verdict/attestation-acceptance.ts';
import type { VerifiedAttestation } from '../../../src/domain/verdict/attestation.ts';
import {
  highestVersion,
  NO_EVIDENCE,
  type Evidence,
  type VolumeState,
} from '../../../src/domain/verdict/evidence.ts';
import { reduce } from '../../../src/domain/verdict/reduce.ts';
import { systemClock } from '../../../src/platform/process/clock.ts';
import {
  createDaemonClient,
  type AttestationAnswer,
  type DaemonClient,
} from '../../../src/server/daemon-client/daemon-client.ts';
import { DaemonUnavailable } from '../../../src/server/daemon-client/daemon-unavailable.ts';
import { createRefresher, type Refresher } from '../../../src/server/serving/refresher.ts';
import type { ServingControl } from '../../../src/server/serving/serving.ts';
import { createTrustedKeyRing } from '../../../src/server/serving/trusted-key-ring.ts';
import type { Logger } from '../../../src/platform/logging/logging.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { verifiedAttestation } from '../../support/evidence.ts';
import { startFakeDaemon, type DaemonFault, type FakeDaemon } from '../../support/fake-daemon.ts';

function connect(url: string): DaemonClient {
  const client = createDaemonClient(
    { url, socketPath: undefined, timeoutMs: 1_500, readToken: async () => null },
    systemClock,
  );
  onTestFinished(async () => client.close());
  return client;
}

async function start(): Promise<{ daemon: FakeDaemon; client: DaemonClient }> {
  const daemon = await startFakeDaemon();
  return { daemon, client: connect(daemon.url) };
}

const { signal } = new AbortController();
const ask = async (client: DaemonClient): Promise<unknown> =>
  client.fetchAttestation({ etag: null, waitSeconds: 0, signal });

describe('the client of the daemon', () => {
  const failure = async (asked: Promise<unknown>): Promise<DaemonUnavailable> => {
    const error: unknown = await asked.then(
      () => null,
      (error: unknown) => error,
    );
    if (!(error instanceof DaemonUnavailable))
      throw new Error('no DaemonUnavailable was thrown', { cause: error });
    return error;
  };

  describe('fetchAttestation', () => {
    it('handles none, a new one, and an unchanged one', async () => {
      const { daemon, client } = await start();
      expect(await ask(client)).toEqual({ kind: 'none' });
      daemon.setEnvelope(Buffer.from('{"v":1}'));
      expect(await ask(client)).toEqual({ kind: 'envelope', etag: '"1"', envelope: Buffer.from('{"v":1}') });
    });

    it('waits for the next one when it holds an etag', async () => {
      const { daemon, client } = await start();
      daemon.setEnvelope(Buffer.from('{"v":1}'));
      const waiting = client.fetchAttestation({ etag: '"1"', waitSeconds: 5, signal });
      await client.fetchReport('release.list', {}, signal).catch(() => null);
      daemon.setEnvelope(Buffer.from('{"v":2}'));
      expect(await waiting).toMatchObject({ etag: '"2"' });
      expect(daemon.requests).toContain('GET /v1/attestation?wait=5');
    });

    it.each<[DaemonFault, string]>([
      ['hang', 'timeout'],
      ['drip', 'timeout'],
      ['huge', 'answer_too_large'],
      ['html', 'answer_type'],
      ['coded', 'answer_type'],
      ['refuse', 'answer_refused'],
      ['truncated', 'unreachable'],
      ['upgrade', 'answer_invalid'],
      ['endless head', 'timeout'],
      ['endless interim', 'timeout'],
    ])('turns the fault %s into %s, and works again afterwards', async (fault, code) => {
      const { daemon, client } = await start();
      daemon.setFault(fault);
      expect((await failure(ask(client))).code).toBe(code);
      daemon.setFault(null);
      expect(await ask(client)).toEqual({ kind: 'none' });
    });

    it('reports that there is no listener', async () => {
      const client = connect('http://127.0.0.1:1');
      expect((await failure(ask(client))).code).toBe('unreachable');
    });

    it('ends with the reason of the signal', async () => {
      const { daemon, client } = await start();
      daemon.setFault('hang');
      const abort = new AbortController();
      const asked = client.fetchAttestation({ etag: null, waitSeconds: 0, signal: abort.signal });
      abort.abort(new Error('stopping'));
      await expect(asked).rejects.toThrow('stopping');
    });
  });

  describe('fetchReport', () => {
    it('keeps integers beyond 2^53 and sends the query', async () => {
      const { daemon, client } = await start();
      daemon.setReport('release.list', { releases: [], big: 1 });
      expect(await client.fetchReport('release.list', { channel: 'official' }, signal)).toMatchObject({
        releases: [],
      });
      expect(daemon.requests).toContain('GET /v1/reports/release.list?channel=official');
    });

    it('refuses garbage and values other than objects, and carries the code of a problem', async () => {
      const { daemon, client } = await start();
      daemon.setReport('release.list', [1]);
      expect((await failure(client.fetchReport('release.list', {}, signal))).code).toBe('answer_invalid');
      const refused = await failure(client.fetchReport('task.list', {}, signal));
      expect([refused.code, refused.status, refused.daemonCode]).toEqual([
        'answer_refused',
        503,
        'backend_unavailable',
      ]);
      daemon.setFault('garbage');
      expect((await failure(client.fetchReport('release.list', {}, signal))).code).toBe('answer_invalid');
    });
  });
});

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
      fetchAttestation: async (request) => this.#fetch(request),
      serving: serving as ServingControl,
      readVolumeEnvelope: async () => {
        this.volumeReads += 1;
        return this.envelopeOnVolume;
      },
      readVolume: async () => this.volume,
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

describe('the refresh of the attestation', () => {
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
});

function key(): TrustedKey {
  const { publicKey } = generateKeyPairSync('ed25519');
  return { keyId: keyIdOf(publicKey), publicKey };
}

describe('the trust in an attestation', () => {
  describe('the ring of trusted keys', () => {
    it('follows its files, keeps the last good keys, and reports each problem once', async () => {
      const [one, two] = [key(), key()];
      let found: Result<readonly TrustedKey[], readonly string[]> = success([one]);
      const log: string[] = [];
      const note = (_fields: unknown, message?: string): void => {
        log.push(message ?? String(_fields));
      };
      const ring = createTrustedKeyRing({
        first: [one],
        load: async () => found,
        logger: { info: note, warn: note, error: note } as unknown as Logger,
      });
      expect(await ring.refresh()).toBe(false);
      found = success([two, one]);
      expect([await ring.refresh(), ring.current()]).toEqual([true, [two, one]]);
      found = failure(['x.pub: is empty']);
      expect([await ring.refresh(), await ring.refresh(), ring.current()]).toEqual([
        false,
        false,
        [two, one],
      ]);
      found = success([two]);
      expect([await ring.refresh(), ring.current()]).toEqual([true, [two]]);
      expect(log).toEqual([
        'the trusted public keys have changed',
        'the trusted public keys cannot be reloaded; the previous ones stay in use',
        'the trusted public keys are readable again',
        'the trusted public keys have changed',
      ]);
    });
  });

  describe('an accepted attestation', () => {
    it('is void with its version exactly when no trusted key signed it', () => {
      let trusted = ['leaked', 'good'];
      let next = { version: 1_000_000, signers: ['leaked', 'good'] };
      const verify = (): Result<VerifiedAttestation, Refusal> => {
        const signedBy = next.signers.filter((id) => trusted.includes(id));
        return signedBy.length === 0
          ? failure({ reason: 'AttestationInvalid', message: 'by nobody' })
          : success({
              ...verifiedAttestation({
                version: next.version,
                store_id: 's',
                issued_at: 0,
                expires_at: 1000,
              }),
              signedBy,
            });
      };
      const envelope = Buffer.of();
      const offer = (evidence: Evidence, at: number): Evidence =>
        reduce(evidence, { type: 'envelope-offered', at, envelope, verified: verify() });
      const observeKeys = (evidence: Evidence, at: number): Evidence =>
        reduce(evidence, { type: 'keys-observed', at, keyIds: trusted, newest: verify() });
      let evidence = observeKeys(NO_EVIDENCE, 0);
      evidence = reduce(evidence, { type: 'volume-observed', at: 0, volume: { ok: true, storeId: 's' } });
      evidence = offer(evidence, 0);
      expect([evidence.newest?.statement.version, evidence.rejection]).toEqual([1_000_000, null]);
      trusted = ['good'];
      evidence = observeKeys(evidence, 4);
      expect([evidence.newest?.signedBy, highestVersion(evidence)]).toEqual([['good'], 1_000_000]);
      trusted = ['new'];
      evidence = observeKeys(evidence, 5);
      expect([evidence.newest, highestVersion(evidence)]).toEqual([null, 0]);
      expect(evidence.rejection).toEqual({ reason: 'AttestationInvalid', message: 'by nobody', at: 5 });
      next = { version: 7, signers: ['new'] };
      evidence = offer(evidence, 10);
      expect([evidence.newest?.statement.version, evidence.rejection]).toEqual([7, null]);
    });
  });
});
