import type { JSX } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { Button, Select } from '../../components/controls.tsx';
import { FailureText, EmptyState, Empty } from '../../components/text.tsx';
import { usePageKeys, useApp } from '../../state/app.ts';
import { count, counted } from '../../text/format.ts';
import { readAcross, ScanNote, unitReader, type UnitScan, useUnitScan } from '../editor/list/unit-scan.tsx';
import type { Unit } from '../editor/unit.ts';
import { DecisionForm } from '../editor/unit/findings-list.tsx';
import {
  isWaiting,
  makerOf,
  newFiles,
  riskiest,
  type Corrections,
  type ReviewScope,
  type WaitingFiles,
} from './review-model.ts';
import { CHANGED } from './send-decisions.ts';
import { useDecisions, type Decisions } from './use-decisions.ts';
import { WaitingUnit } from './waiting-unit.tsx';

const SCOPES = [
  ['translated', 'Submitted'],
  ['drafts', 'Submitted and drafts'],
  ['findings', 'With findings'],
  ['held', 'On hold'],
] as const;

/** The part of the units that a sample has. */
const SAMPLE_SHARE = 0.1;

/** The waiting units of one or several files, to be accepted or returned, one or many at a time. */
export function WaitingList({ files: present }: { files: WaitingFiles }): JSX.Element {
  const app = useApp();
  // The files stay while somebody reads their units, so that no answer of a feed takes a unit from under the hands.
  const [files, setFiles] = useState(present);
  const more = newFiles(files, present);
  const corrections = useRef<Corrections>(new Map());
  const scope = scopeOf(app.query('scope'), files.scope);
  const isSample = app.query('sample') !== '';
  const waiting = useWaitingUnits(files, scope, isSample);
  const all = waiting.found.map(({ unit }) => unit);
  const makers = [...new Set(all.map(makerOf))].toSorted();
  const by = makers.includes(app.query('by')) ? app.query('by') : '';
  const wanted = by === '' ? all : all.filter((unit) => makerOf(unit) === by);
  const units = isSample ? riskiest(wanted, SAMPLE_SHARE) : wanted;
  const desk = useDecisions(wanted, waiting);
  const { isRunning, failure } = waiting;
  const mayReview = app.mayRun('translation-proofread');
  usePageKeys([...moveKeysOf(desk, units), ...(mayReview ? decisionKeysOf(desk, units) : [])]);
  return (
    <section class="waiting" aria-label="Units that wait">
      <WaitingHead files={files} scope={scope} makers={makers} by={by} />
      {more === 0 ? null : (
        <p class="note info">
          {`${counted(more, 'more file')} since this list was made. `}
          <Button class="plain" onClick={() => setFiles(present)}>
            Reload the list
          </Button>
        </p>
      )}
      {mayReview ? (
        <DecisionBar desk={desk} units={units} />
      ) : (
        <p class="note info">Your token may read this, and may not review. It needs the scope review.</p>
      )}
      {isSample && units.length > 0 ? (
        <p class="muted">
          {`${counted(units.length, 'unit')} of ${count(wanted.length)}, the riskiest first: with findings, returned, changed, by a machine, long. `}
          {mayReview ? (
            <Button class="plain" onClick={() => desk.checkAll(wanted)}>
              {`Select all ${count(wanted.length)}`}
            </Button>
          ) : null}
        </p>
      ) : null}
      {units.length === 0 && isRunning ? <Empty>Loading …</Empty> : null}
      {units.length === 0 && !isRunning && failure === null && waiting.goOn === null ? (
        <EmptyState
          title={`No unit of ${files.containers.length === 1 ? 'this task' : 'these files'} waits`}
          actions={
            scope === 'translated' ? (
              <Button onClick={() => app.setQuery({ scope: 'drafts' })}>Show drafts, too</Button>
            ) : undefined
          }
        >
          Choose other units above, or open the task in the editor.
        </EmptyState>
      ) : null}
      <ol class="waiting-units">
        {units.map((unit) => (
          <WaitingUnit
            key={unit.unit_id}
            unit={unit}
            place={files.containers.length === 1 ? null : unit.destination}
            isChecked={desk.ticked.has(unit.unit_id)}
            isOpen={desk.open === unit.unit_id}
            refusal={desk.outcome?.refused.get(unit.unit_id) ?? null}
            onCheck={mayReview ? () => desk.check(unit) : null}
            corrections={corrections.current}
            onAccept={async (text) => await desk.acceptAs(unit, text)}
            onOpen={() => desk.setOpen(desk.open === unit.unit_id ? null : unit.unit_id)}
          />
        ))}
      </ol>
      <ScanNote scan={waiting} />
    </section>
  );
}

/** Which files, and which of their units are shown. */
function WaitingHead({
  files,
  scope,
  makers,
  by,
}: {
  readonly files: WaitingFiles;
  readonly scope: ReviewScope;
  readonly makers: readonly string[];
  readonly by: string;
}) {
  const app = useApp();
  return (
    <div class="row-head">
      <h2>
        <bdi>{files.title}</bdi>
      </h2>
      <div class="waiting-choices">
        <Select
          label="Units"
          value={scope}
          options={SCOPES}
          onChange={(next) => app.setQuery({ scope: next === files.scope ? null : next })}
        />
        {makers.length > 1 || by !== '' ? (
          <Select
            label="Made by"
            value={by}
            options={[
              ['', 'Anyone'],
              ...makers.filter((maker) => maker !== '').map((maker) => [maker, maker] as const),
            ]}
            onChange={(next) => app.setQuery({ by: next === '' ? null : next })}
          />
        ) : null}
        {app.mayRun('translation-proofread') ? (
          <label class="tick">
            <input
              type="checkbox"
              checked={app.query('sample') !== ''}
              onChange={(event) => app.setQuery({ sample: event.currentTarget.checked ? '1' : null })}
            />
            Sample of 10 %
          </label>
        ) : null}
      </div>
    </div>
  );
}

function scopeOf(text: string, usual: ReviewScope): ReviewScope {
  return SCOPES.find(([scope]) => scope === text)?.[0] ?? usual;
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
            checked={units.length > 0 && units.every(({ unit_id: id }) => ticked.has(id))}
            disabled={units.length === 0}
            onChange={(event) => desk.checkAll(event.currentTarget.checked ? units : [])}
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
            {decidedText(outcome)}{' '}
            {outcome.failure.code === CHANGED ? (
              'Somebody has changed units since you read them. They are marked, and their texts are the new ones.'
            ) : (
              <FailureText failure={outcome.failure} />
            )}
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

function decidedText({ decided, unsure, left }: NonNullable<Decisions['outcome']>): string {
  const parts = [
    decided === 0 ? null : counted(decided, 'unit was reviewed', 'units were reviewed'),
    left === 0 ? null : `${counted(left, 'unit was', 'units were')} not, because a review is all or nothing`,
    unsure === 0
      ? null
      : `${counted(unsure, 'unit')} may have been reviewed: there was no answer. Decide again to be sure; nothing is done twice`,
  ].filter((part) => part !== null);
  return decided + unsure === 0 ? 'Nothing was changed: a review is all or nothing.' : `${parts.join(', ')}.`;
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
/** A sample is of all units. */
const ENOUGH_TO_SAMPLE = 20_000;

function useWaitingUnits({ key, containers }: WaitingFiles, scope: ReviewScope, isSample: boolean): UnitScan {
  const app = useApp();
  const read = useMemo(
    () => readAcross(containers.map((each) => unitReader(app, each))),
    [key, scope, isSample],
  );
  return useUnitScan({
    question: JSON.stringify([key, scope, isSample]),
    read,
    isWanted: (unit) => isWaiting(unit, scope),
    enough: isSample ? ENOUGH_TO_SAMPLE : ENOUGH,
  });
}
