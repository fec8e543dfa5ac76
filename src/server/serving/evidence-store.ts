import type { LoadOutcome } from './load-snapshot.ts';
import type { Blake3Hex, SnapshotId } from '../../domain/release/digest.ts';
import { steadyInterval } from '../../domain/verdict/evaluate.ts';
import { NO_EVIDENCE, type EntryTrouble, type Evidence } from '../../domain/verdict/evidence.ts';
import type { EvidenceEvent } from '../../domain/verdict/evidence-event.ts';
import { wantedSnapshots } from '../../domain/verdict/effective-attestation.ts';
import { mustReadAgain, reduce } from '../../domain/verdict/reduce.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { DigestFinder } from './digest-finder.ts';
import type { PendingRelease, Servable, ServedRelease, ServingState } from './serving.ts';
import { nextServingState, NOTHING_SERVED } from './serving-state.ts';
import type { SnapshotBinder, SnapshotBinderOptions } from './snapshot-binder.ts';
import { entriesHolding, snapshotEvidence } from './snapshot-trouble.ts';

/** The evidence and everything derived from it, so that requests only read it. */
export interface Known {
  readonly evidence: Evidence;
  readonly state: ServingState;
  /** The wall-clock interval in which the passing of time alone changes nothing. */
  readonly steady: { readonly from: number; readonly until: number };
  readonly servables: WeakMap<ServedRelease | PendingRelease, Servable>;
}

type WithoutInstant<E> = E extends unknown ? Omit<E, 'at'> : never;

/** Holds the current evidence, and starts the snapshot reads that it requires. */
export interface EvidenceStore {
  readonly binder: SnapshotBinder;
  /** As of the last event. */
  known(): Known;
  /** As of now: first updates every verdict that time has changed since the last event. */
  current(): Known;
  /** Applies an event; returns the evidence before it. */
  dispatch(event: WithoutInstant<EvidenceEvent>): Evidence;
}

export interface EvidenceStoreOptions {
  readonly finder: DigestFinder;
  readonly createBinder: (onBound: SnapshotBinderOptions['onBound']) => SnapshotBinder;
  readonly clock: Clock;
  readonly onEvent: (before: Evidence, event: EvidenceEvent, after: Evidence) => void;
  readonly onBound: SnapshotBinderOptions['onBound'];
}

/** Makes a store without an accepted attestation and without snapshots. */
export function createEvidenceStore(options: EvidenceStoreOptions): EvidenceStore {
  const { clock, finder } = options;
  let known: Known = {
    evidence: NO_EVIDENCE,
    state: NOTHING_SERVED,
    steady: { from: Infinity, until: -Infinity },
    servables: new WeakMap(),
  };

  const dispatch: EvidenceStore['dispatch'] = (event) => {
    const before = known.evidence;
    const at = clock.now();
    const dated = { ...event, at };
    const evidence = reduce(before, dated);
    binder.want(wantedSnapshots(evidence));
    if (mustReadAgain(before, evidence)) binder.invalidate();
    const state = nextServingState(known.state, evidence, (snapshotId) => {
      const bound = binder.get(snapshotId);
      return bound?.ok === true ? bound.index : null;
    });
    known = { evidence, state, steady: steadyInterval(evidence, at), servables: new WeakMap() };
    options.onEvent(before, dated, evidence);
    return before;
  };

  const bind = (snapshotId: SnapshotId, outcome: LoadOutcome): void => {
    const damage = new Map<Blake3Hex, EntryTrouble>();
    if (outcome.ok) {
      const digests = [...known.evidence.damage.keys()];
      for (const blake3 of digests) {
        const held = entriesHolding(outcome, blake3, finder, digests);
        if (held !== null) damage.set(blake3, held);
      }
    }
    dispatch({ type: 'snapshot-bound', snapshotId, snapshot: snapshotEvidence(outcome), damage });
    options.onBound(snapshotId, outcome);
  };

  const binder = options.createBinder(bind);

  return {
    binder,
    known: () => known,
    current: () => {
      const nowMs = clock.now();
      if (nowMs < known.steady.from || nowMs >= known.steady.until) dispatch({ type: 'time-passed' });
      return known;
    },
    dispatch,
  };
}
