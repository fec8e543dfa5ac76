import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type ApiFailure, failureOf } from '../../api/api-client.ts';
import { Select } from '../../components/controls.tsx';
import { FailureText, EmptyState, Empty } from '../../components/text.tsx';
import { usePageKeys, useApp } from '../../state/app.ts';
import { counted, count } from '../../text/format.ts';
import { personOf, sessionOf } from '../editor/draft/editor-session.ts';
import { acceptBody, returnBody, type ReadTarget } from '../editor/draft/update-bodies.ts';
import { ScanNote, type UnitScan, unitReader, useUnitScan } from '../editor/list/unit-scan.tsx';
import { type TranslationTask, type Unit, containerQuery } from '../editor/unit.ts';
import { DecisionForm } from '../editor/unit/findings-list.tsx';
import {
  readTargetOf,
  refusalsOf,
  tick,
  tickedOf,
  type ReviewScope,
  type Ticked,
  isWaiting,
} from './review-model.ts';
import { WaitingUnit } from './waiting-unit.tsx';

const MOST_AT_ONCE = 900;

const SCOPES = [
  ['translated', 'Submitted'],
  ['drafts', 'Submitted and drafts'],
  ['findings', 'With findings'],
] as const;

interface Outcome {
  readonly failure: ApiFailure;
  readonly refused: ReadonlyMap<string, string>;
}

/** The waiting units of one task, to be accepted or returned, one or many at a time. */
export function WaitingList({ task }: { task: TranslationTask }): JSX.Element {
  const app = useApp();
  const scope = scopeOf(app.query('scope'));
  const waiting = useWaitingUnits(task, scope);
  const units = waiting.found.map(({ unit }) => unit);
  const desk = useDecisions(units, waiting);
  const { isRunning, failure } = waiting;
  const mayReview = app.mayRun('translation-proofread');
  usePageKeys([...moveKeysOf(desk, units), ...(mayReview ? decisionKeysOf(desk, units) : [])]);
  return (
    <section class="waiting" aria-label="Units that wait">
      <div class="row-head">
        <h2>
          <bdi>{task.destination}</bdi>
        </h2>
        <Select
          label="Units"
          value={scope}
          options={SCOPES}
          onChange={(next) => app.setQuery({ scope: next === 'translated' ? null : next })}
        />
      </div>
      {mayReview ? (
        <DecisionBar desk={desk} units={units} />
      ) : (
        <p class="note info">Your token may read this, and may not review. It needs the scope review.</p>
      )}
      {units.length === 0 && isRunning ? <Empty>Loading …</Empty> : null}
      {units.length === 0 && !isRunning && failure === null && waiting.goOn === null ? (
        <EmptyState title="No unit of this task waits">
          Choose other units above, or open the task in the editor.
        </EmptyState>
      ) : null}
      <ol class="waiting-units">
        {units.map((unit) => (
          <WaitingUnit
            key={unit.unit_id}
            unit={unit}
            isChecked={desk.ticked.has(unit.unit_id)}
            isOpen={desk.open === unit.unit_id}
            refusal={desk.outcome?.refused.get(unit.unit_id) ?? null}
            onCheck={mayReview ? () => desk.check(unit) : null}
            onOpen={() => desk.setOpen(desk.open === unit.unit_id ? null : unit.unit_id)}
          />
        ))}
      </ol>
      <ScanNote scan={waiting} />
    </section>
  );
}

function scopeOf(text: string): ReviewScope {
  return SCOPES.find(([scope]) => scope === text)?.[0] ?? 'translated';
}

interface Decisions {
  readonly ticked: ReadonlyMap<string, Unit>;
  readonly open: string | null;
  readonly isBusy: boolean;
  readonly outcome: Outcome | null;
  readonly check: (unit: Unit) => void;
  readonly leaveOut: (units: readonly Unit[]) => void;
  readonly checkAll: (isOn: boolean) => void;
  readonly setOpen: (unitId: string | null) => void;
  readonly accept: () => Promise<boolean>;
  readonly giveBack: (reason: string) => Promise<boolean>;
}

function useDecisions(units: readonly Unit[], { drop, reload }: UnitScan): Decisions {
  const app = useApp();
  const [read, setRead] = useState<Ticked>(new Map());
  const ticked = new Map(tickedOf(units, read).map((unit) => [unit.unit_id, unit]));
  const [open, setOpen] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const decide = async (
    bodyOf: (targets: readonly ReadTarget[]) => object,
    done: string,
  ): Promise<boolean> => {
    const targets = [...ticked.values()].flatMap((unit) => readTargetOf(unit) ?? []).slice(0, MOST_AT_ONCE);
    if (targets.length === 0 || isBusy) return false;
    setBusy(true);
    setOutcome(null);
    try {
      await sessionOf(app).act('translation-proofread', bodyOf(targets));
      const decided = new Set(targets.map(({ unitId }) => unitId));
      drop(decided);
      setRead((now) => new Map([...now].filter(([id]) => !decided.has(id))));
      const rest = ticked.size - targets.length;
      const more = rest === 0 ? '' : ` ${count(rest)} more are still selected.`;
      app.toast(`${counted(targets.length, 'unit was', 'units were')} ${done}.${more}`);
      app.pool.refresh();
      return true;
    } catch (error) {
      const failure = failureOf(error);
      setOutcome({ failure, refused: refusalsOf(failure, targets) });
      if (failure.code === 'revision_changed') reload();
      return false;
    } finally {
      setBusy(false);
    }
  };
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
    checkAll: (isOn) => setRead(tick(isOn ? units : [])),
    accept: async () => await decide((targets) => acceptBody(targets, personOf(app)), 'accepted'),
    giveBack: async (reason) =>
      await decide((targets) => returnBody(targets, { reviewer: personOf(app), reason }), 'returned'),
  };
}

function DecisionBar({ desk, units }: { desk: Decisions; units: readonly Unit[] }) {
  const [isReturning, setReturning] = useState(false);
  const { ticked, isBusy, outcome } = desk;
  const isOff = ticked.size === 0 || isBusy;
  const refused = [...ticked.values()].filter(({ unit_id: id }) => outcome?.refused.has(id) === true);
  return (
    <>
      <div class="decision-bar">
        <label class="tick">
          <input
            type="checkbox"
            checked={units.length > 0 && ticked.size === units.length}
            disabled={units.length === 0}
            onChange={(event) => desk.checkAll(event.currentTarget.checked)}
          />
          <span>All {count(units.length)}</span>
        </label>
        <button type="button" class="primary" disabled={isOff} onClick={() => void desk.accept()}>
          {ticked.size === 0 ? 'Accept' : `Accept ${count(ticked.size)}`}
        </button>
        <button type="button" disabled={isOff} onClick={() => setReturning(true)}>
          {ticked.size === 0 ? 'Return …' : `Return ${count(ticked.size)} …`}
        </button>
      </div>
      {outcome === null ? null : (
        <div class="note bad" role="alert">
          <p>
            Nothing was changed: a review is all or nothing. <FailureText failure={outcome.failure} />
          </p>
          {refused.length > 0 && refused.length < ticked.size ? (
            <button type="button" onClick={() => desk.leaveOut(refused)}>
              Leave out {count(refused.length)}
            </button>
          ) : null}
        </div>
      )}
      {isReturning ? (
        <DecisionForm
          title={`Return ${count(ticked.size)}`}
          onCancel={() => setReturning(false)}
          onDecide={async (reason) => {
            if (await desk.giveBack(reason)) setReturning(false);
          }}
        />
      ) : null}
    </>
  );
}

type Keys = Parameters<typeof usePageKeys>[0];

function moveKeysOf(desk: Decisions, units: readonly Unit[]): Keys {
  const at = units.findIndex(({ unit_id: id }) => id === desk.open);
  const go = (step: number): void => {
    const next = units[Math.min(units.length - 1, Math.max(0, at + step))];
    if (next === undefined) return;
    desk.setOpen(next.unit_id);
    document.getElementById(`waiting-${next.unit_id}`)?.scrollIntoView({ block: 'nearest' });
  };
  return [
    { keys: 'j', text: 'Next unit', run: () => go(1) },
    { keys: 'k', text: 'Previous unit', run: () => go(-1) },
  ];
}

function decisionKeysOf(desk: Decisions, units: readonly Unit[]): Keys {
  return [
    {
      keys: 'x',
      text: 'Select the open unit',
      run: () => {
        const unit = units.find(({ unit_id: id }) => id === desk.open);
        if (unit !== undefined) desk.check(unit);
      },
    },
    { keys: 'Control+Enter', text: 'Accept the selected units', run: () => void desk.accept() },
  ];
}

const ENOUGH = 200;

function useWaitingUnits(task: TranslationTask, scope: ReviewScope): UnitScan {
  const app = useApp();
  return useUnitScan({
    question: `${task.task_id} ${scope}`,
    read: unitReader(app, containerQuery(task)),
    isWanted: (unit) => isWaiting(unit, scope),
    enough: ENOUGH,
  });
}
