import { CHANNELS } from '../../domain/release/channel.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { Result } from '../../domain/result.ts';
import type { VerifiedAttestation } from '../../domain/verdict/attestation.ts';
import type { Refusal } from '../../domain/verdict/attestation-acceptance.ts';
import { evaluate, steadyInterval } from '../../domain/verdict/evaluate.ts';
import {
  hasTrouble,
  isNewDamage,
  NO_EVIDENCE,
  type DamageReport,
  type Evidence,
  type FoundDamage,
} from '../../domain/verdict/evidence.ts';
import type { EvidenceEvent } from '../../domain/verdict/evidence-event.ts';
import { wantedSnapshots } from '../../domain/verdict/hold-over.ts';
import { mustReadAgain, reduce } from '../../domain/verdict/reduce.ts';
import { isSameOutcome, type Verdict } from '../../domain/verdict/verdict.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { createDamageRecheck } from './damage-recheck.ts';
import type { DigestFinder } from './digest-finder.ts';
import type { InspectObject } from './object-inspector.ts';
import type {
  AcceptedEnvelope,
  DamageChange,
  Servable,
  ServedRelease,
  ServingControl,
  ServingState,
} from './serving.ts';
import { nextServingState, NOTHING_SERVED } from './serving-state.ts';
import type { LoadOutcome, SnapshotBinder, SnapshotBinderOptions } from './snapshot-binder.ts';
import { entriesHolding, firstOf, snapshotEvidence } from './snapshot-trouble.ts';

/** Settings and collaborators of {@link createServing}. */
export interface ServingOptions {
  /** Verifies an envelope with the keys that are trusted now. */
  readonly verify: (envelope: Uint8Array) => Result<VerifiedAttestation, Refusal>;
  readonly inspect: InspectObject;
  readonly finder: DigestFinder;
  /** Makes the binder; it reports every snapshot that it read to the function that it is given. */
  readonly createBinder: (onBound: SnapshotBinderOptions['onBound']) => SnapshotBinder;
  readonly clock: Clock;
  /** Called once for every change of the outcome of a channel's verdict. */
  readonly onVerdict: (verdict: Verdict, previous: Verdict | null) => void;
  /** Called for the first damage, so that a recheck follows soon. */
  readonly onTrouble: () => void;
}

type WithoutInstant<E> = E extends unknown ? Omit<E, 'at'> : never;

/** The evidence and everything that is derived from it, so that requests only look it up. */
interface Known {
  readonly evidence: Evidence;
  readonly state: ServingState;
  /** The wall-clock interval in which time alone changes nothing. */
  readonly steady: { readonly from: number; readonly until: number };
  /** Verdicts on releases that were asked for. */
  readonly servables: WeakMap<ServedRelease, Servable>;
}

/**
 * Makes the shell around `reduce`: it turns calls and the results of reads into events, keeps the one evidence, starts the
 * reads that the evidence asks for, and reports changes. It starts with nothing accepted and nothing loaded.
 */
export function createServing(options: ServingOptions): ServingControl {
  const { clock, finder, verify } = options;
  const changes = createChangeReports(options);
  let known: Known = {
    evidence: NO_EVIDENCE,
    state: NOTHING_SERVED,
    steady: { from: Infinity, until: -Infinity },
    servables: new WeakMap(),
  };

  /** @returns the evidence before the event */
  const dispatch = (event: WithoutInstant<EvidenceEvent>): Evidence => {
    const before = known.evidence;
    const at = clock.now();
    const evidence = reduce(before, { ...event, at });
    binder.want(wantedSnapshots(evidence));
    if (mustReadAgain(before, evidence)) binder.invalidate();
    const state = nextServingState(known.state, evidence, (snapshotId) => {
      const bound = binder.get(snapshotId);
      return bound?.ok === true ? bound.index : null;
    });
    known = { evidence, state, steady: steadyInterval(evidence, at), servables: new WeakMap() };
    changes.report(before, evidence);
    return before;
  };

  const binder = options.createBinder((snapshotId, outcome) => {
    const digests = [...known.evidence.damage.keys()];
    const damage = new Map(
      digests.flatMap((blake3) => {
        const held = outcome.ok ? entriesHolding(outcome, blake3, finder, digests) : null;
        return held === null ? [] : [[blake3, held]];
      }),
    );
    dispatch({ type: 'snapshot-bound', snapshotId, snapshot: snapshotEvidence(outcome), damage });
    changes.announceMissing(outcome);
  });

  /** The evidence as of now: where time has changed a verdict since the last event, that is taken in first. */
  const current = (): Known => {
    const nowMs = clock.now();
    if (nowMs < known.steady.from || nowMs >= known.steady.until) dispatch({ type: 'time-passed' });
    return known;
  };

  const locate = (report: DamageReport): FoundDamage => {
    const { blake3 } = report;
    const digests = known.evidence.damage.keys();
    const holders = [...binder.all()].flatMap(([snapshotId, bound]) => {
      const held = bound.ok ? entriesHolding(bound, blake3, finder, digests) : null;
      return held === null ? [] : [[snapshotId, held] as const];
    });
    return { report, holders: new Map(holders) };
  };

  const reportDamage = (...reports: readonly DamageReport[]): void => {
    const news = reports.filter((report) => isNewDamage(known.evidence.damage, report));
    if (news.length === 0) return;
    const before = dispatch({ type: 'damage-found', found: news.map(locate) });
    // With more than one, rechecks are under way already.
    if (before.damage.size === 0 && known.evidence.damage.size > 0) options.onTrouble();
  };

  const recheckDamage = createDamageRecheck({
    finder,
    binder,
    inspect: options.inspect,
    evidence: () => known.evidence,
    onDamaged: reportDamage,
    onMended: (digests: readonly Blake3Hex[]) => dispatch({ type: 'damage-mended', digests }),
  });

  return {
    state: () => known.state,
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
      if (known.evidence.rejection !== null) return 'refused';
      return known.evidence.newest === before.newest ? 'unchanged' : 'accepted';
    },
    observeVolume: (volume) => mustReadAgain(dispatch({ type: 'volume-observed', volume }), known.evidence),
    observeKeys: (keyIds) => {
      const { envelope } = known.evidence;
      dispatch({ type: 'keys-observed', keyIds, newest: envelope === null ? null : verify(envelope) });
    },
    tick: () => void current(),
    hasTrouble: () => hasTrouble(known.evidence),
    recheck: async () => {
      await binder.recheck();
      await recheckDamage();
    },
    attestation: () => known.evidence.newest,
    rejection: () => known.evidence.rejection,
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

interface ChangeReports extends Pick<ServingControl, 'watchDamage' | 'watchAttestation'> {
  /** Reports everything that two consecutive pieces of evidence differ in. */
  report(before: Evidence, after: Evidence): void;
  /** Reports the first few objects that were missing when a snapshot was read. Only the reader can see them. */
  announceMissing(outcome: LoadOutcome): void;
}

function createChangeReports({ onVerdict }: Pick<ServingOptions, 'onVerdict'>): ChangeReports {
  const damageListeners: ((change: DamageChange) => void)[] = [];
  const attestationListeners: ((accepted: AcceptedEnvelope) => void)[] = [];
  const reportDamage = (blake3: Blake3Hex, report: DamageReport | null): void => {
    for (const listener of damageListeners) listener({ blake3, report });
  };
  return {
    watchDamage: (listener) => {
      damageListeners.push(listener);
    },
    watchAttestation: (listener) => {
      attestationListeners.push(listener);
    },
    report: (before, after) => {
      if (before.damage !== after.damage) {
        for (const [blake3, { report }] of after.damage)
          if (before.damage.get(blake3)?.report !== report) reportDamage(blake3, report);
        for (const blake3 of before.damage.keys()) if (!after.damage.has(blake3)) reportDamage(blake3, null);
      }
      const { envelope, newest } = after;
      if (envelope !== null && newest !== null && envelope !== before.envelope) {
        const { store_id: storeId, version } = newest.statement;
        for (const listener of attestationListeners) listener({ envelope, storeId, version });
      }
      for (const channel of CHANNELS) {
        const [verdict, previous] = [after.verdicts[channel], before.verdicts[channel]];
        if (verdict !== null && !isSameOutcome(verdict, previous)) onVerdict(verdict, previous);
      }
    },
    announceMissing: (outcome) => {
      if (!outcome.ok) return;
      for (const position of firstOf(outcome.missing)) {
        const { destination, blake3 } = outcome.index.entry(position);
        const message = 'the object is not on the volume';
        reportDamage(blake3, { destination, blake3, kind: 'missing', message });
      }
    },
  };
}
