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
import { createChangeReports } from './change-reports.ts';
import { createDamageRecheck } from './damage-recheck.ts';
import { createEvidenceStore, type EvidenceStoreOptions } from './evidence-store.ts';
import type { InspectObject } from './object-inspector.ts';
import type { Servable, ServedRelease, ServingControl } from './serving.ts';
import { entriesHolding } from './snapshot-trouble.ts';

/** Settings and collaborators of {@link createServing}. */
export interface ServingOptions extends Pick<EvidenceStoreOptions, 'finder' | 'createBinder' | 'clock'> {
  /** Verifies an envelope with the keys that are trusted now. */
  readonly verify: (envelope: Uint8Array) => Result<VerifiedAttestation, Refusal>;
  readonly inspect: InspectObject;
  /** Called once for every change of the outcome of a channel's verdict. */
  readonly onVerdict: (verdict: Verdict, previous: Verdict | null) => void;
  /** Called for the first damage, so that a recheck follows soon. */
  readonly onTrouble: () => void;
}

/**
 * Makes the shell around `reduce` and `evaluate`: it turns calls into events and answers from the evidence. It starts with
 * nothing accepted and nothing loaded.
 */
export function createServing(options: ServingOptions): ServingControl {
  const { clock, finder, verify } = options;
  const changes = createChangeReports(options.onVerdict);
  const { binder, known, current, dispatch } = createEvidenceStore({
    finder,
    createBinder: options.createBinder,
    clock,
    onEvent: changes.report,
    onBound: changes.announceMissing,
  });

  const locate = (report: DamageReport): FoundDamage => {
    const { damage } = known().evidence;
    const holders = [...binder.all()].flatMap(([snapshotId, bound]) => {
      const held = bound.ok ? entriesHolding(bound, report.blake3, finder, damage.keys()) : null;
      return held === null ? [] : [[snapshotId, held] as const];
    });
    return { report, holders: new Map(holders) };
  };

  const reportDamage = (...reports: readonly DamageReport[]): void => {
    const news = reports.filter((report) => isNewDamage(known().evidence.damage, report));
    if (news.length === 0) return;
    const before = dispatch({ type: 'damage-found', found: news.map(locate) });
    // With more than one, rechecks are under way already.
    if (before.damage.size === 0 && known().evidence.damage.size > 0) options.onTrouble();
  };

  const recheckDamage = createDamageRecheck({
    finder,
    binder,
    inspect: options.inspect,
    evidence: () => known().evidence,
    onDamaged: reportDamage,
    onMended: (digests) => dispatch({ type: 'damage-mended', digests }),
  });

  return {
    state: () => known().state,
    verdict: (channel) => {
      const { evidence } = current();
      return evidence.verdicts[channel] ?? evaluate(evidence, { channel }, clock.now());
    },
    servable: (release) => {
      const { evidence, servables } = current();
      const before = servables.get(release);
      if (before !== undefined) return before;
      const servable = servableOf(evidence, release, clock.now());
      servables.set(release, servable);
      return servable;
    },
    reportDamage,
    watchDamage: changes.watchDamage,
    watchAttestation: changes.watchAttestation,
    offerEnvelope: (envelope) => {
      const before = dispatch({ type: 'envelope-offered', envelope, verified: verify(envelope) });
      const { newest, rejection } = known().evidence;
      if (rejection !== null) return 'refused';
      return newest === before.newest ? 'unchanged' : 'accepted';
    },
    observeVolume: (volume) => mustReadAgain(dispatch({ type: 'volume-observed', volume }), known().evidence),
    observeKeys: (keyIds) => {
      const { envelope } = known().evidence;
      dispatch({ type: 'keys-observed', keyIds, newest: envelope === null ? null : verify(envelope) });
    },
    tick: () => void current(),
    hasTrouble: () => hasTrouble(known().evidence),
    recheck: async () => {
      await binder.recheck();
      await recheckDamage();
    },
    attestation: () => known().evidence.newest,
    rejection: () => known().evidence.rejection,
    stop: async () => {
      await binder.stop();
    },
  };
}

function servableOf(
  evidence: Evidence,
  { channel, releaseId, snapshotId }: ServedRelease,
  nowMs: number,
): Servable {
  const release = { release_id: releaseId, snapshot_id: snapshotId };
  const { reason, message } = evaluate(evidence, { channel, release }, nowMs);
  return reason === null ? { ok: true } : { ok: false, reason, message };
}
