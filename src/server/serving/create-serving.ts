import type { Result } from '../../domain/result.ts';
import type { VerifiedAttestation } from '../../domain/verdict/attestation.ts';
import type { Refusal } from '../../domain/verdict/attestation-acceptance.ts';
import { evaluate } from '../../domain/verdict/evaluate.ts';
import {
  hasTrouble,
  isNewDamage,
  type DamageReport,
  type Evidence,
  type FoundDamage,
} from '../../domain/verdict/evidence.ts';
import { mustReadAgain } from '../../domain/verdict/reduce.ts';
import type { Verdict } from '../../domain/verdict/verdict.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { createChangeReports } from './change-reports.ts';
import { createDamageRecheck } from './damage-recheck.ts';
import type { DigestFinder } from './digest-finder.ts';
import { createEvidenceStore, type EvidenceStore, type EvidenceStoreOptions } from './evidence-store.ts';
import type { InspectObject } from './object-inspector.ts';
import type { PendingRelease, Servable, ServedRelease, ServingControl } from './serving.ts';
import { entriesHolding } from './snapshot-trouble.ts';

interface ServingOptions {
  readonly finder: DigestFinder;
  readonly createBinder: EvidenceStoreOptions['createBinder'];
  readonly clock: Clock;
  readonly verify: (envelope: Uint8Array) => Result<VerifiedAttestation, Refusal>;
  readonly inspect: InspectObject;
  readonly onVerdict: (verdict: Verdict, previous: Verdict | null) => void;
  /** Called for the first damage, and for a new attestation while damage is known, so that a recheck follows soon. */
  readonly onTrouble: () => void;
}

/**
 * Makes the shell around `reduce` and `evaluate`: it turns calls into events and answers from the evidence. At first no
 * attestation is accepted and no snapshot is loaded.
 */
export function createServing(options: ServingOptions): ServingControl {
  const { clock, finder, verify } = options;
  const changes = createChangeReports(options.onVerdict);
  const store = createEvidenceStore({
    finder,
    createBinder: options.createBinder,
    clock,
    onEvent: (before, event, after) => {
      changes.report(before, event, after);
    },
    onBound: (snapshotId, outcome) => {
      changes.announceLoaded(snapshotId, outcome);
    },
  });

  const reportDamage = (...reports: readonly DamageReport[]): void => {
    const news = reports.filter((report) => isNewDamage(store.known().evidence.damage, report));
    if (news.length === 0) return;
    const before = store.dispatch({
      type: 'damage-found',
      found: news.map((report) => locate(report, store, finder)),
    });
    // After the first damage, rechecks are already in progress.
    if (before.damage.size === 0 && store.known().evidence.damage.size > 0) options.onTrouble();
  };

  const recheckDamage = createDamageRecheck({
    finder,
    binder: store.binder,
    inspect: options.inspect,
    evidence: () => store.known().evidence,
    onDamaged: reportDamage,
    onRepaired: (digests) => store.dispatch({ type: 'damage-repaired', digests }),
  });

  return {
    state: () => store.known().state,
    verdict: (channel) => {
      const { evidence } = store.current();
      return evidence.verdicts[channel] ?? evaluate(evidence, { channel }, clock.now());
    },
    servable: (release) => {
      const { evidence, servables } = store.current();
      const before = servables.get(release);
      if (before !== undefined) return before;
      const servable = servableOf(evidence, release, clock.now());
      servables.set(release, servable);
      return servable;
    },
    envelope: () => store.known().evidence.envelope,
    reportDamage,
    watchDamage: changes.watchDamage,
    watchManifests: changes.watchManifests,
    watchAttestation: changes.watchAttestation,
    offerEnvelope: (envelope) => {
      const before = store.dispatch({ type: 'envelope-offered', envelope, verified: verify(envelope) });
      const { newest, rejection } = store.known().evidence;
      if (rejection !== null) return 'refused';
      if (newest === before.newest) return 'unchanged';
      // The daemon may have attested the end of this damage.
      if (store.known().evidence.damage.size > 0) options.onTrouble();
      return 'accepted';
    },
    observeVolume: (volume) =>
      mustReadAgain(store.dispatch({ type: 'volume-observed', volume }), store.known().evidence),
    observeKeys: (keyIds) => {
      const { envelope } = store.known().evidence;
      store.dispatch({ type: 'keys-observed', keyIds, newest: envelope === null ? null : verify(envelope) });
    },
    tick: () => void store.current(),
    hasTrouble: () => hasTrouble(store.known().evidence),
    recheck: async () => {
      await store.binder.recheck();
      await recheckDamage();
    },
    attestation: () => store.known().evidence.newest,
    rejection: () => store.known().evidence.rejection,
    stop: async () => {
      await store.binder.stop();
    },
  };
}

function locate(report: DamageReport, store: EvidenceStore, finder: DigestFinder): FoundDamage {
  const { damage } = store.known().evidence;
  const holders = [...store.binder.all()].flatMap(([snapshotId, bound]) => {
    const held = bound.ok ? entriesHolding(bound, report.blake3, finder, damage.keys()) : null;
    return held === null ? [] : [[snapshotId, held] as const];
  });
  return { report, holders: new Map(holders) };
}

function servableOf(
  evidence: Evidence,
  { channel, releaseId, snapshotId, role }: ServedRelease | PendingRelease,
  nowMs: number,
): Servable {
  const release = { release_id: releaseId, snapshot_id: snapshotId };
  // Only the newest attestation names a pending release, and it need not be in effect yet.
  const known = role === 'pending' ? { ...evidence, effective: evidence.newest } : evidence;
  const { reason, message } = evaluate(known, { channel, release }, nowMs);
  if (reason !== null) return { ok: false, reason, message };
  if (role !== 'pending') return { ok: true };
  return {
    ok: false,
    reason: 'SnapshotLoading',
    message: 'the other releases of its attestation are being read and checked',
  };
}
