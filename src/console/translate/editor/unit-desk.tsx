import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { usePageKeys, useApp } from '../../state/app.ts';
import type { PageKey } from '../../state/keyboard.ts';
import { keepPlace } from '../queue/kept-place.ts';
import { personOf, sessionOf } from './draft/editor-session.ts';
import { acceptBody, returnBody } from './draft/update-bodies.ts';
import type { EditorMode } from './task-head.tsx';
import { DecisionForm, FindingsList } from './unit/findings-list.tsx';
import { GlossaryHits } from './unit/glossary-hits.tsx';
import { MATCH_LIMIT, MemoryMatches } from './unit/memory-matches.tsx';
import { SuggestionHelp } from './unit/suggestion-help.tsx';
import { UnitHistoryList } from './unit/unit-history-list.tsx';
import { UnitPane } from './unit/unit-pane.tsx';
import { useUnitWork, type PlacedUnit, type UnitWork } from './unit/use-unit-work.ts';

interface UnitDeskProps extends PlacedUnit {
  readonly mode: EditorMode;
  /** Whether the person was editing another unit before, and continues with this one; it is used up. */
  readonly goesOn: { current: boolean };
  readonly onMove: (step: 1 | -1 | 'open') => void;
  readonly onSelect: (index: number) => void;
  readonly onBack: (() => void) | null;
}

/** The middle and the right column of the editor: one unit, and what helps with it. */
export function UnitDesk({ mode, goesOn, onMove, onSelect, onBack, ...placed }: UnitDeskProps): JSX.Element {
  const app = useApp();
  const work = useUnitWork(placed);
  const { unit, mayEdit, memory, glossary, detail } = work;
  const finish = useFinish(work, mode, () => onMove('open'));
  useEffect(() => {
    if (goesOn.current) work.field.current?.focus();
    goesOn.current = false;
  }, []);
  useEffect(() => {
    const { destination, source_text: text, translation } = unit;
    keepPlace(() => localStorage, app.index()?.token.id ?? '', {
      taskId: translation?.task_id ?? '',
      unitId: unit.unit_id,
      destination,
      text,
    });
    return () => sessionOf(app).desk.saveNow(unit.unit_id);
  }, [unit.unit_id]);
  // Nobody can accept a text that is not there.
  const mayFinish = mode === 'review' ? work.mayReview && work.text !== '' : work.mayEdit;
  usePageKeys(keysOf(work, { finish, mayFinish, onMove }));
  return (
    <>
      <section class="unit-pane" aria-label="Unit">
        {onBack === null ? null : (
          <button type="button" class="plain back" onClick={onBack}>
            ‹ All units
          </button>
        )}
        <UnitPane
          work={work}
          index={placed.index}
          script={placed.script}
          moves={<UnitMoves onMove={onMove} />}
          onSelect={onSelect}
        >
          <UnitActions work={work} mode={mode} finish={finish} mayFinish={mayFinish} />
        </UnitPane>
      </section>
      <aside class="help-pane" aria-label="Help for this unit">
        <Help title="Findings">
          <FindingsList work={work} />
        </Help>
        <Help title="Memory">
          <MemoryMatches
            answer={memory}
            source={unit.source_text}
            canInsert={mayEdit}
            onInsert={work.replace}
          />
        </Help>
        {mayEdit && app.mayRun('translation-worker-run') ? (
          <Help title="Suggestion">
            <SuggestionHelp work={work} />
          </Help>
        ) : null}
        <Help title="Glossary">
          <GlossaryHits answer={glossary} canInsert={mayEdit} onInsert={work.insert} />
        </Help>
        <Help title="History" isClosed>
          <UnitHistoryList history={detail?.history ?? null} canInsert={mayEdit} onInsert={work.replace} />
        </Help>
      </aside>
    </>
  );
}

function Help({
  title,
  isClosed = false,
  children,
}: {
  readonly title: string;
  readonly isClosed?: boolean;
  readonly children: ComponentChildren;
}) {
  return (
    <details class="help" open={!isClosed}>
      <summary>
        <h3>{title}</h3>
      </summary>
      {children}
    </details>
  );
}

interface Finish {
  readonly label: string;
  readonly isBusy: boolean;
  readonly run: () => void;
}

function useFinish(work: UnitWork, mode: EditorMode, goOn: () => void): Finish {
  const app = useApp();
  const [isBusy, setBusy] = useState(false);
  const accept = async (): Promise<void> => {
    setBusy(true);
    const isDone = await work.decide('translation-proofread', (target) =>
      acceptBody([target], personOf(app)),
    );
    setBusy(false);
    if (isDone) goOn();
  };
  return {
    label: mode === 'review' ? 'Accept, next' : 'Done, next',
    isBusy,
    run: () => {
      if (isBusy) return;
      if (mode === 'review') {
        void accept();
      } else {
        work.save();
        goOn();
      }
    },
  };
}

function UnitMoves({ onMove }: { onMove: UnitDeskProps['onMove'] }) {
  const { keyboard } = useApp();
  return (
    <span class="unit-moves">
      <button type="button" class="plain" title={keyboard.nameOf('Alt+ArrowUp')} onClick={() => onMove(-1)}>
        <span aria-hidden="true">↑</span>
        <span class="unseen">Previous</span>
      </button>
      <button type="button" class="plain" title={keyboard.nameOf('Alt+ArrowDown')} onClick={() => onMove(1)}>
        <span aria-hidden="true">↓</span>
        <span class="unseen">Next</span>
      </button>
    </span>
  );
}

function UnitActions({
  work,
  mode,
  finish,
  mayFinish,
}: {
  readonly work: UnitWork;
  readonly mode: EditorMode;
  readonly finish: Finish;
  readonly mayFinish: boolean;
}) {
  const app = useApp();
  const [isReturning, setReturning] = useState(false);
  const isOff = !work.mayEdit;
  const hasTarget = (work.unit.translation?.target_text ?? '') !== '';
  return (
    <>
      <div class="buttons unit-actions">
        <button type="button" class="primary" disabled={!mayFinish || finish.isBusy} onClick={finish.run}>
          {finish.label} <kbd>Ctrl Enter</kbd>
        </button>
        {mode === 'review' ? (
          <button type="button" disabled={!work.mayReview || !hasTarget} onClick={() => setReturning(true)}>
            Return …
          </button>
        ) : null}
        <button type="button" disabled={isOff} onClick={work.save}>
          Save <kbd>Ctrl S</kbd>
        </button>
        <button type="button" disabled={isOff} onClick={work.copySource}>
          Copy source <kbd>{app.keyboard.nameOf('Alt+C')}</kbd>
        </button>
      </div>
      {isReturning ? (
        <DecisionForm
          title="Return to the translator"
          onCancel={() => setReturning(false)}
          onDecide={async (reason) => {
            const isDone = await work.decide('translation-proofread', (target) =>
              returnBody([target], { reviewer: personOf(app), reason }),
            );
            if (isDone) setReturning(false);
          }}
        />
      ) : null}
    </>
  );
}

function keysOf(
  work: UnitWork,
  { finish, mayFinish, onMove }: { finish: Finish; mayFinish: boolean; onMove: UnitDeskProps['onMove'] },
): readonly PageKey[] {
  const whenOpen = (run: () => void) => (): void => {
    if (work.mayEdit) run();
  };
  const matches = Array.from({ length: MATCH_LIMIT }, (_, at) => ({
    keys: `Alt+${at + 1}`,
    ...(at === 0 ? { text: 'Insert match 1 from the memory (Alt+2, Alt+3 … for the others)' } : {}),
    run: whenOpen(() => work.insertMatch(at)),
  }));
  return [
    { keys: 'Control+Enter', text: finish.label, run: () => (mayFinish ? finish.run() : undefined) },
    { keys: 'Control+s', text: 'Save this unit now', run: whenOpen(work.save) },
    { keys: 'Alt+ArrowDown', text: 'Next unit', run: () => onMove(1) },
    { keys: 'Alt+ArrowUp', text: 'Previous unit', run: () => onMove(-1) },
    { keys: 'Alt+n', text: 'Next unit that needs work', run: () => onMove('open') },
    { keys: 'Alt+e', text: 'Edit the target', run: () => work.field.current?.focus() },
    { keys: 'Alt+t', text: 'Insert the next missing tag or placeholder', run: whenOpen(work.insertMark) },
    { keys: 'Alt+c', text: 'Copy the source into the target', run: whenOpen(work.copySource) },
    { keys: 'Alt+0', text: 'Insert the suggestion', run: whenOpen(work.insertSuggestion) },
    ...matches,
  ];
}
