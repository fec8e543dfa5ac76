import { CLOCK_SKEW_SECONDS, type VerifiedAttestation } from '../../domain/verdict/attestation.ts';
import { CHANNELS, type Channel } from '../../domain/release/channel.ts';
import { evaluate } from '../../domain/verdict/evaluate.ts';
import {
  NO_TROUBLE,
  type AttestationRejection,
  type SnapshotEvidence,
  type Verdict,
} from '../../domain/verdict/verdict.ts';
import type { Clock } from '../../platform/process/clock.ts';
import {
  attestationFor,
  chooseAttestation,
  NO_ATTESTATION,
  releasesOf,
  type AttestationChoice,
} from './attestation-choice.ts';
import type { AttestationKeeper, KeeperOutcome } from './attestation-keeper.ts';
import type { DamageBook } from './damage-book.ts';
import type { DigestFinder } from './digest-finder.ts';
import { retainedServable, SERVABLE } from './retained-servable.ts';
import type { Servable, ServedRelease, Serving, ServingState } from './serving.ts';
import { buildServingState, isSameState, NOTHING_SERVED } from './serving-state.ts';
import { TROUBLE_EXAMPLES, type BoundSnapshot, type SnapshotBinder } from './snapshot-binder.ts';
import { snapshotEvidence } from './snapshot-evidence.ts';
import type { VolumeState } from './snapshot-volume.ts';
import { holdsDigest, snapshotTrouble, type SnapshotTrouble } from './trouble.ts';

/** What the refresher drives; everything else sees {@link Serving} only. */
export interface ServingControl extends Serving {
  /** Takes an envelope as received from the daemon. */
  offerEnvelope(envelope: Uint8Array): KeeperOutcome;
  /**
   * Says what the volume is now.
   *
   * @returns whether a held attestation became void or the volume came back, so that the daemon must be asked afresh
   */
  observeVolume(state: VolumeState): boolean;
  /** Says that other keys are trusted now: what only others signed no longer counts. */
  observeKeys(keyIds: readonly string[]): void;
  /** Brings verdicts and state up to date with the clock. */
  tick(): void;
  /** Whether anything is wrong that a recheck could find repaired. */
  hasTrouble(): boolean;
  /** Looks again at everything in trouble. */
  recheck(): Promise<void>;
  /** The newest accepted attestation. */
  attestation(): VerifiedAttestation | null;
  /** Tells of every attestation that is accepted, with its envelope as received. */
  watchAttestation(listener: (accepted: AcceptedEnvelope) => void): void;
  /** Why the newest envelope was refused, or `null` when it was not. */
  rejection(): AttestationRejection | null;
}

/** An envelope that was verified and accepted. */
export interface AcceptedEnvelope {
  readonly envelope: Uint8Array;
  readonly storeId: string;
  readonly version: number;
}

/** What {@link createServing} needs. */
export interface ServingOptions {
  readonly keeper: AttestationKeeper;
  readonly damage: DamageBook;
  readonly finder: DigestFinder;
  /** Makes the binder; it reports its changes to the function it is given. */
  readonly createBinder: (onChange: () => void) => SnapshotBinder;
  readonly clock: Clock;
  /** Called once for every change of a verdict's outcome. */
  readonly onVerdict: (verdict: Verdict, previous: Verdict | null) => void;
  /** Called when new trouble was reported, so that somebody looks again soon. */
  readonly onTrouble: () => void;
}

interface CachedVerdict {
  readonly verdict: Verdict;
  readonly revision: number;
  /** The wall-clock interval `[from, until)` in which time alone does not change it. */
  readonly from: number;
  readonly until: number;
}

/** Makes the one place that knows what may leave. It starts with nothing accepted and nothing loaded. */
export function createServing(options: ServingOptions): ServingControl {
  const { keeper, damage, clock } = options;
  const known = { book: damage, finder: options.finder };
  let choice: AttestationChoice = NO_ATTESTATION;
  let state: ServingState = NOTHING_SERVED;
  let volume: VolumeState = { ok: false, message: 'the snapshot volume has not been read yet' };
  let revision = 0;
  let troubleRevision = -1;
  const troubles = new Map<string, SnapshotTrouble>();
  const attestationListeners: ((accepted: AcceptedEnvelope) => void)[] = [];
  const announced = new WeakSet<BoundSnapshot>();
  const cached: Record<Channel, CachedVerdict | null> = { official: null, localized: null };
  const binder = options.createBinder(() => {
    update();
  });

  const troubleOf = (snapshotId: ServedRelease['snapshotId']): SnapshotTrouble => {
    if (troubleRevision !== revision) {
      troubles.clear();
      troubleRevision = revision;
    }
    const before = troubles.get(snapshotId);
    if (before !== undefined) return before;
    const snapshot = binder.get(snapshotId);
    const trouble =
      snapshot === null ? { missing: NO_TROUBLE, damaged: NO_TROUBLE } : snapshotTrouble(snapshot, known);
    troubles.set(snapshotId, trouble);
    return trouble;
  };

  const evidenceOf = (channel: Channel): SnapshotEvidence | null => {
    const attested = attestationFor(choice, channel)?.statement[channel];
    if (attested?.result !== 'PASSED') return null;
    return snapshotEvidence(channel, attested, {
      volume,
      snapshot: binder.get(attested.snapshot_id),
      trouble: () => troubleOf(attested.snapshot_id),
    });
  };

  const evaluateChannel = (channel: Channel, nowMs: number): Verdict => {
    const accepted = attestationFor(choice, channel);
    const previous = cached[channel]?.verdict ?? null;
    const verdict = evaluate(
      {
        channel,
        attestation: {
          accepted,
          // While an older attestation answers for the release that a newer one follows, it is no roll-back.
          highestVersion:
            accepted === keeper.accepted() || accepted === null
              ? keeper.highestVersion()
              : accepted.statement.version,
          rejection: keeper.rejection(),
        },
        snapshot: evidenceOf(channel),
        previous,
      },
      nowMs,
    );
    cached[channel] = { verdict, revision, ...interval(accepted, nowMs) };
    if (
      previous?.distributable !== verdict.distributable ||
      previous.reason !== verdict.reason ||
      previous.release_id !== verdict.release_id
    ) {
      options.onVerdict(verdict, previous);
    }
    return verdict;
  };

  const mayHold = (next: AttestationChoice): boolean => {
    const nowMs = clock.now();
    if (next.effective === null || next.newest === null || !volume.ok) return false;
    if (nowMs >= next.effective.statement.expires_at * 1000) return false;
    const { statement } = next.newest;
    const isReading = CHANNELS.some((channel) => {
      const attested = statement[channel];
      if (attested?.result !== 'PASSED') return false;
      const snapshot = binder.get(attested.snapshot_id);
      return snapshot === null || snapshot.manifest === 'loading';
    });
    return isReading && CHANNELS.some((channel) => cached[channel]?.verdict.distributable === true);
  };

  /** What was missing when a snapshot was read can only be seen by who reads it: others are told of the first few. */
  const announceMissing = (snapshot: BoundSnapshot): void => {
    const { index, missing } = snapshot;
    if (index === null || missing.length === 0 || announced.has(snapshot)) return;
    announced.add(snapshot);
    for (let at = 0; at < Math.min(missing.length, TROUBLE_EXAMPLES); at += 1) {
      const { destination, blake3 } = index.entry(Number(missing[at]));
      damage.announce({ destination, blake3, kind: 'missing', message: 'the object is not on the volume' });
    }
  };

  /** Recomputes everything that follows from the evidence; one assignment switches what is served. */
  function update(): void {
    choice = chooseAttestation(choice, keeper.accepted(), mayHold);
    const { effective, newest } = choice;
    const wanted = new Set(
      [newest, effective].flatMap((attestation) =>
        attestation === null ? [] : releasesOf(attestation.statement).map(({ snapshot_id }) => snapshot_id),
      ),
    );
    revision += 1;
    binder.want([...wanted]);
    const bound = [...binder.all()];
    for (const snapshot of bound) announceMissing(snapshot);
    // Before anything is bound, nobody can say that nothing holds what others reported.
    damage.retain(
      (blake3) =>
        bound.length === 0 || bound.some(({ index }) => index === null || holdsDigest(index, blake3, known)),
    );
    const next = buildServingState(state.generation + 1, choice, (snapshotId) => binder.get(snapshotId));
    if (!isSameState(state, next)) state = next;
    const nowMs = clock.now();
    for (const channel of CHANNELS) evaluateChannel(channel, nowMs);
  }

  const verdict = (channel: Channel): Verdict => {
    const nowMs = clock.now();
    const known = cached[channel];
    if (known !== null && known.revision === revision && nowMs >= known.from && nowMs < known.until)
      return known.verdict;
    if (choice.effective !== choice.newest) update();
    return evaluateChannel(channel, nowMs);
  };

  const servable = (release: ServedRelease): Servable => {
    const named = state.byReleaseId.get(release.releaseId);
    if (named === undefined || named.snapshotId !== release.snapshotId) {
      return {
        ok: false,
        reason: 'ReleaseNotAuthorized',
        message: `release ${release.releaseId} is no longer authorized`,
      };
    }
    if (named.role === 'retained') {
      const attestation = choice.effective;
      return retainedServable(named.attested, {
        statement: attestation?.statement ?? null,
        volume,
        entryCount: named.index.length,
        trouble: troubleOf(named.snapshotId),
        nowMs: clock.now(),
      });
    }
    const { distributable, reason, message } = verdict(named.channel);
    return distributable || reason === null ? SERVABLE : { ok: false, reason, message };
  };

  return {
    state: () => state,
    verdict,
    servable,
    reportDamage: (report) => {
      const isFirst = damage.size === 0;
      if (!damage.report(report)) return;
      update();
      // With more than one, somebody looks again and again already.
      if (isFirst) options.onTrouble();
    },
    watchDamage: (listener) => {
      damage.watch(listener);
    },
    watchAttestation: (listener) => {
      attestationListeners.push(listener);
    },
    offerEnvelope: (envelope) => {
      const outcome = keeper.offer(envelope, clock.now(), volume.ok ? '' : volume.message);
      const statement = outcome === 'accepted' ? keeper.accepted()?.statement : undefined;
      if (statement !== undefined) {
        const { store_id: storeId, version } = statement;
        for (const listener of attestationListeners) listener({ envelope, storeId, version });
      }
      update();
      return outcome;
    },
    observeVolume: (next) => {
      const returned = next.ok && !volume.ok;
      volume = next;
      const replaced = next.ok && keeper.bindStore(next.storeId, clock.now());
      if (returned || replaced) binder.invalidate();
      update();
      return returned || replaced;
    },
    observeKeys: (keyIds) => {
      const { effective, newest } = choice;
      keeper.verifyAgain(clock.now());
      // An earlier one may still answer while the newest is being read.
      const isTrusted = effective?.signedBy.some((keyId) => keyIds.includes(keyId)) === true;
      if (effective !== newest && !isTrusted) choice = NO_ATTESTATION;
      update();
    },
    tick: () => {
      if (choice.effective !== choice.newest) update();
      for (const channel of CHANNELS) verdict(channel);
    },
    hasTrouble: () =>
      !volume.ok ||
      damage.size > 0 ||
      [...binder.all()].some(
        ({ manifest, missing }) => manifest === 'missing' || manifest === 'damaged' || missing.length > 0,
      ),
    recheck: async () => {
      await binder.recheck();
      if (await damage.recheck()) update();
    },
    attestation: () => keeper.accepted(),
    rejection: () => keeper.rejection(),
  };
}

/** The wall-clock interval around `nowMs` in which an attestation is neither newly valid nor newly expired. */
function interval(
  attestation: VerifiedAttestation | null,
  nowMs: number,
): { readonly from: number; readonly until: number } {
  if (attestation === null) return { from: -Infinity, until: Infinity };
  const begins = (attestation.statement.issued_at - CLOCK_SKEW_SECONDS) * 1000;
  const ends = attestation.statement.expires_at * 1000;
  if (nowMs < begins) return { from: -Infinity, until: begins };
  return nowMs < ends ? { from: begins, until: ends } : { from: ends, until: Infinity };
}
