import { useState } from 'preact/hooks';
import { postAction } from '../../actions/post-action.ts';
import type { ApiFailure } from '../../api/api-client.ts';
import { useApp } from '../../state/app.ts';
import { counted } from '../../text/format.ts';
import { personOf } from '../editor/draft/editor-session.ts';
import { acceptBody, returnBody, type ReadTarget } from '../editor/draft/update-bodies.ts';
import { unitReader, type UnitScan } from '../editor/list/unit-scan.tsx';
import type { Unit } from '../editor/unit.ts';
import { readTargetOf, tick, tickedOf, type Decision, type Ticked } from './review-model.ts';
import { CHANGED, sendDecisions } from './send-decisions.ts';

interface Outcome {
  /** The first one. */
  readonly failure: ApiFailure;
  /** Units of other calls, which were decided. */
  readonly decided: number;
  /** Units of calls without an answer: they may have been decided. */
  readonly unsure: number;
  /** Units of calls that were refused. */
  readonly left: number;
  readonly refused: ReadonlyMap<string, string>;
}

/** What a reviewer has ticked and decided in a list of waiting units. */
export interface Decisions {
  readonly ticked: ReadonlyMap<string, Unit>;
  readonly open: string | null;
  readonly isBusy: boolean;
  readonly outcome: Outcome | null;
  readonly check: (unit: Unit) => void;
  readonly leaveOut: (units: readonly Unit[]) => void;
  readonly checkAll: (units: readonly Unit[]) => void;
  readonly setOpen: (unitId: string | null) => void;
  readonly accept: () => Promise<boolean>;
  /** Accepts a unit with the text of the reviewer. */
  readonly acceptAs: (unit: Unit, text: string) => Promise<boolean>;
  readonly giveBack: (reason: string) => Promise<boolean>;
}

/** The decisions about the waiting units of a list. */
export function useDecisions(units: readonly Unit[], { drop, reload }: UnitScan): Decisions {
  const app = useApp();
  const [read, setRead] = useState<Ticked>(new Map());
  const byId = new Map(units.map((unit) => [unit.unit_id, unit]));
  const ticked = new Map(tickedOf(units, read).map((unit) => [unit.unit_id, unit]));
  const [open, setOpen] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const decide = async (
    targets: readonly ReadTarget[],
    bodyOf: (targets: readonly ReadTarget[]) => object,
    decision: Decision,
  ): Promise<boolean> => {
    if (targets.length === 0 || isBusy) return false;
    setBusy(true);
    setOutcome(null);
    const { decided, failure, unsure, refused } = await sendDecisions(targets, {
      decision,
      read: byId,
      post: async (call) => await postAction(app, 'translation-proofread', JSON.stringify(bodyOf(call))),
      readerOf: (container) => unitReader(app, container),
    });
    if (decided.size > 0) {
      drop(decided);
      setRead((now) => new Map([...now].filter(([id]) => !decided.has(id))));
      app.toast(`${counted(decided.size, 'unit was', 'units were')} ${decision}.`);
      app.pool.refresh();
    }
    if (failure !== null) {
      const left = targets.length - decided.size - unsure;
      setOutcome({ failure, refused, decided: decided.size, unsure, left });
      if (failure.code === CHANGED) reload();
    }
    setBusy(false);
    return failure === null;
  };
  const targets = (): readonly ReadTarget[] =>
    [...ticked.values()].flatMap((unit) => readTargetOf(unit) ?? []);
  const accept = (sent: readonly ReadTarget[]): object => acceptBody(sent, personOf(app));
  return {
    ticked,
    open,
    isBusy,
    outcome,
    setOpen,
    check: (unit) => {
      const { unit_id: id } = unit;
      setRead(tick([...ticked.values(), unit].filter((each) => !ticked.has(id) || each.unit_id !== id)));
    },
    leaveOut: (left) => setRead(tick([...ticked.values()].filter((unit) => !left.includes(unit)))),
    checkAll: (wanted) => setRead(tick(wanted)),
    accept: async () => await decide(targets(), accept, 'accepted'),
    acceptAs: async (unit, text) => {
      const target = readTargetOf(unit);
      return await decide(target === null ? [] : [{ ...target, text }], accept, 'accepted');
    },
    giveBack: async (reason) =>
      await decide(targets(), (sent) => returnBody(sent, { reviewer: personOf(app), reason }), 'returned'),
  };
}
