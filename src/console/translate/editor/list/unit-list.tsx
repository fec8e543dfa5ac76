import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { FilterBar } from '../../../components/filter-bar.tsx';
import { EmptyState } from '../../../components/text.tsx';
import { VirtualList } from '../../../components/virtual-list.tsx';
import { useApp } from '../../../state/app.ts';
import { counted } from '../../../text/format.ts';
import { readableText } from '../../../text/text-tokens.ts';
import { sessionOf } from '../draft/editor-session.ts';
import { isUnsaved } from '../draft/unit-draft.ts';
import { findingMark, lookOf, needsWork, returnOf, stateOf, type Unit } from '../unit.ts';
import { UNIT_FILTERS, type ShownUnits } from './shown-units.ts';
import { ScanNote } from './unit-scan.tsx';

/** Pixels: two lines of the source, and one of the target. */
const ROW_HEIGHT = 70;

/** The units of a task with their states, all or those of the filters; one of them is worked on. */
export function UnitList({
  list,
  active,
  onActive,
  onOpen,
}: {
  readonly list: ShownUnits;
  readonly active: number | null;
  readonly onActive: (index: number) => void;
  readonly onOpen: (index: number) => void;
}): JSX.Element {
  const { count, scan } = list;
  const at = active === null ? null : list.placeOf(active);
  // A list shows its active row when that changes, so the first one comes after the list is there.
  const [shown, setShown] = useState<number | null>(null);
  useEffect(() => {
    if (count > 0 || at === null) setShown(at);
  }, [at, count > 0]);
  return (
    <div class="unit-side">
      <FilterBar label="Filter the units" filters={UNIT_FILTERS} />
      {scan === null ? null : <ScanNote scan={scan} />}
      {scan !== null && count === 0 ? (
        scan.isRunning ? null : (
          <EmptyState title="No unit matches">Choose another state, or search for another text.</EmptyState>
        )
      ) : (
        <VirtualList
          key={scan === null ? 'all' : 'filtered'}
          label="Units"
          class="unit-list"
          count={count}
          row={(place) => list.row(place)?.unit}
          rowHeight={ROW_HEIGHT}
          active={shown}
          onActive={(place) => onActive(list.row(place)?.index ?? place)}
          onOpen={(place) => onOpen(list.row(place)?.index ?? place)}
          onRange={list.show}
        >
          {(unit, place) => <UnitRow unit={unit} index={list.row(place)?.index ?? place} />}
        </VirtualList>
      )}
    </div>
  );
}

function UnitRow({ unit, index }: { unit: Unit; index: number }) {
  const draft = sessionOf(useApp()).desk.drafts.value.get(unit.unit_id);
  const isHere = draft !== undefined && isUnsaved(draft);
  const look = lookOf(stateOf(unit, draft));
  const isNewer = isHere || (draft?.base.revision ?? 0) > (unit.translation?.revision ?? 0);
  const target = (isNewer ? draft?.text : unit.translation?.target_text) ?? '';
  return (
    <span class="unit-row">
      <span class="unit-place">
        <span class="unit-number">{index + 1}</span>
        <span class={`unit-sign ${look.tone}`} title={look.word} aria-hidden="true">
          {look.sign}
        </span>
      </span>
      <bdi class="unit-source">{readableText(unit.source_text)}</bdi>
      <bdi class="clip muted">{readableText(target)}</bdi>
      <UnitMarks unit={unit} isNewer={isNewer} />
    </span>
  );
}

function UnitMarks({ unit, isNewer }: { unit: Unit; isNewer: boolean }) {
  const { desk, suggestions } = sessionOf(useApp());
  const draft = desk.drafts.value.get(unit.unit_id);
  const isHere = draft !== undefined && isUnsaved(draft);
  const conflict = draft?.phase.kind === 'conflict';
  const isSuggested = needsWork(unit, draft) && suggestions.for(unit) !== undefined;
  return (
    <span class="unit-marks">
      {conflict ? (
        <span class="badge bad">decide</span>
      ) : isHere ? (
        <span class="badge warn">not stored</span>
      ) : null}
      <FindingBadge mark={isNewer ? null : findingMark(unit)} />
      {returnOf(unit, draft) === null ? null : <span class="badge warn">returned</span>}
      {(unit.translation?.hold ?? null) === null ? null : <span class="badge idle">hold</span>}
      {isSuggested ? <span class="badge info">suggested</span> : null}
      <span class="unseen">{lookOf(stateOf(unit, draft)).word}</span>
    </span>
  );
}

function FindingBadge({ mark }: { mark: ReturnType<typeof findingMark> }) {
  if (mark === null) return null;
  const { tone, count } = mark;
  return (
    <span class={`badge ${tone}`} title={counted(count, 'finding')}>
      <span aria-hidden="true">{tone === 'bad' ? '!' : tone === 'warn' ? '△' : '·'} </span>
      {count}
      <span class="unseen"> {count === 1 ? 'finding' : 'findings'}</span>
    </span>
  );
}
