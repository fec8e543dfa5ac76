import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { postAction } from '../../actions/post-action.ts';
import { failureOf } from '../../api/api-client.ts';
import { remarkOf } from '../../../domain/translation/task-remark.ts';
import { Button } from '../../components/controls.tsx';
import { type App, useApp } from '../../state/app.ts';
import { machineAddress } from '../../text/addresses.ts';
import { count, counted } from '../../text/format.ts';
import { personOf, sessionOf } from './draft/editor-session.ts';
import { UnsavedCount } from './draft/save-state.tsx';
import { remarkBody } from './draft/update-bodies.ts';
import { SubmitPanel, isSubmitOffered } from './submit-panel.tsx';
import { lookOf, type TranslationTask } from './unit.ts';
import { DecisionForm } from './unit/findings-list.tsx';

export type EditorMode = 'translate' | 'review';

const STATES = ['untranslated', 'stale', 'blocked', 'draft', 'translated', 'proofread'] as const;

/** Which task this is, how far it is, who works here, and whether everything is stored. */
export function TaskHead({
  task,
  mode,
  onMode,
}: {
  readonly task: TranslationTask;
  readonly mode: EditorMode;
  readonly onMode: (mode: EditorMode) => void;
}): JSX.Element {
  const app = useApp();
  const [isSubmitting, setSubmitting] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const mayUpdate = app.mayRun('translation-task-update');
  const opener = useRef<HTMLButtonElement>(null);
  const close = (): void => {
    setSubmitting(false);
    opener.current?.focus();
  };
  const { suggestions } = sessionOf(app);
  const suggestAll = async (): Promise<void> => {
    const found = await suggestions.ask(task.task_id, 'open');
    const state = suggestions.state.peek();
    if (found > 0) app.toast(`${counted(found, 'line has', 'lines have')} a suggestion. Nothing is stored.`);
    else if (typeof state !== 'string') app.toast(state.failure.message, 'bad');
  };
  const { destination, archive_entry: entry, unit_counts: counts } = task;
  return (
    <div class="editor-head">
      <p class="editor-path">
        <a href="#/translate">Queue</a> <span aria-hidden="true">›</span> <bdi>{destination}</bdi>
        {entry === null ? null : (
          <>
            {' '}
            <span aria-hidden="true">›</span> <bdi>{entry}</bdi>
          </>
        )}
      </p>
      <ul class="state-counts" aria-label="Units by state">
        {STATES.filter((state) => (counts[state] ?? 0) > 0).map((state) => (
          <li class={lookOf(state).tone} key={state}>
            <span aria-hidden="true">{lookOf(state).sign} </span>
            {count(counts[state] ?? 0)} {state}
          </li>
        ))}
      </ul>
      <div class="editor-tools">
        <UnsavedCount />
        {mayUpdate && !isAsking && task.status !== 'superseded' && task.status !== 'skipped' ? (
          <Button class="plain" onClick={() => setAsking(true)}>
            Ask …
          </Button>
        ) : null}
        {app.mayRun('translation-worker-run') ? <a href={machineAddress(task.task_id)}>By machine</a> : null}
        {app.mayRun('translation-proofread') ? <ModeSwitch mode={mode} onMode={onMode} /> : null}
        {app.mayRun('translation-worker-run') && isSubmitOffered(task) ? (
          <button
            type="button"
            disabled={suggestions.state.value === 'asking'}
            onClick={() => void suggestAll()}
          >
            Suggest the next lines
          </button>
        ) : null}
        {mayUpdate && isSubmitOffered(task) ? (
          <button
            type="button"
            ref={opener}
            aria-expanded={isSubmitting}
            onClick={() => (isSubmitting ? close() : setSubmitting(true))}
          >
            Submit for review
          </button>
        ) : null}
      </div>
      {isSubmitting ? <SubmitPanel task={task} onClosed={close} /> : null}
      {isAsking ? <Question task={task} onClosed={() => setAsking(false)} /> : null}
      <TaskNotes task={task} />
    </div>
  );
}

function Question({ task, onClosed }: { task: TranslationTask; onClosed: () => void }) {
  const app = useApp();
  const person = personOf(app);
  // A task has one reason: a new remark continues what stands there.
  const before = remarkOf(task.reason) ?? task.reason ?? '';
  const at = app.query('at') === '' ? '' : `Unit ${Number(app.query('at')) + 1}: `;
  return (
    <DecisionForm
      title="Ask"
      label="Your question about this file"
      begin={before === '' ? at : `${before}\n${person}: ${at}`}
      onCancel={onClosed}
      onDecide={async (text) => {
        if (await remark(app, task.task_id, before === '' ? `${person}: ${text}` : text)) onClosed();
      }}
    />
  );
}

/** Leaves a remark at a task, for everybody who opens it; an empty one takes it away. @returns whether it is stored */
async function remark(app: App, taskId: string, text: string): Promise<boolean> {
  try {
    await postAction(app, 'translation-task-update', JSON.stringify(remarkBody(taskId, text)));
  } catch (error) {
    app.toast(failureOf(error).message, 'bad');
    return false;
  }
  app.toast(text === '' ? 'Remark removed.' : 'Everybody sees it here and in the queue.');
  app.pool.refresh();
  return true;
}

function ModeSwitch({ mode, onMode }: { mode: EditorMode; onMode: (mode: EditorMode) => void }) {
  return (
    <fieldset class="segments">
      <legend class="unseen">Your work</legend>
      {(['translate', 'review'] as const).map((each) => (
        <label key={each}>
          <input type="radio" name="editor-mode" checked={mode === each} onChange={() => onMode(each)} />
          {each === 'translate' ? 'Translate' : 'Review'}
        </label>
      ))}
    </fieldset>
  );
}

function TaskNotes({ task }: { task: TranslationTask }) {
  const app = useApp();
  const { status, reason, failure_reason: failed, destination, task_id: taskId } = task;
  const remarked = remarkOf(reason);
  const said = remarked ?? reason ?? '';
  const isOver = status === 'superseded';
  if (!isOver && said === '' && failed === null && status !== 'skipped') return null;
  return (
    <div class={`note ${isOver || status === 'skipped' ? 'warn' : 'info'}`}>
      {isOver ? (
        <p>
          A newer release has replaced this task. The units below are those of the newer one, and what you
          write goes there.{' '}
          <a href={`#/translate?destination=${encodeURIComponent(destination)}`}>Tasks of this file</a>
        </p>
      ) : null}
      {status === 'skipped' ? <p>Someone decided against a translation of this task.</p> : null}
      {said === '' ? null : (
        <p>
          {remarked === null ? 'Reason' : 'Remark'}: <bdi>{said}</bdi>{' '}
          {remarked !== null && status !== 'skipped' && app.mayRun('translation-task-update') ? (
            <Button class="plain" onClick={() => void remark(app, taskId, '')}>
              Settled
            </Button>
          ) : null}
        </p>
      )}
      {failed === null ? null : (
        <p>
          Workers gave up: <bdi>{failed}</bdi>
        </p>
      )}
    </div>
  );
}
