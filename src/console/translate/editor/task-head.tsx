import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { useApp } from '../../state/app.ts';
import { count } from '../../text/format.ts';
import { sessionOf } from './draft/editor-session.ts';
import { UnsavedCount } from './draft/save-state.tsx';
import { SubmitPanel, isSubmitOffered } from './submit-panel.tsx';
import { lookOf, type TranslationTask } from './unit.ts';

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
  const opener = useRef<HTMLButtonElement>(null);
  const close = (): void => {
    setSubmitting(false);
    opener.current?.focus();
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
        <PersonField />
        {app.mayRun('translation-proofread') ? <ModeSwitch mode={mode} onMode={onMode} /> : null}
        {app.mayRun('translation-task-update') && isSubmitOffered(task) ? (
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
      <TaskNotes task={task} />
    </div>
  );
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

/** The name under which claims and decisions are recorded. */
export function PersonField(): JSX.Element {
  const app = useApp();
  const session = sessionOf(app);
  const [typed, setTyped] = useState<string | null>(null);
  return (
    <label class="person">
      Your name
      <input
        type="text"
        autocomplete="name"
        maxLength={200}
        value={typed ?? session.person.value}
        placeholder={app.index()?.token.id ?? ''}
        onInput={(event) => setTyped(event.currentTarget.value)}
        // Units are claimed under this name, so that no half of it counts.
        onChange={() => {
          if (typed !== null) session.setPerson(typed.trim());
          setTyped(null);
        }}
      />
    </label>
  );
}

function TaskNotes({ task }: { task: TranslationTask }) {
  const { status, reason, failure_reason: failed, destination } = task;
  const isOver = status === 'superseded';
  if (!isOver && reason === null && failed === null && status !== 'skipped') return null;
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
      {reason === null ? null : (
        <p>
          Reason: <bdi>{reason}</bdi>
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
