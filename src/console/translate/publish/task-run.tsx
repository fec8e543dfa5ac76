import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState, useId } from 'preact/hooks';
import { endedAs } from '../../../domain/translation/run-brief.ts';
import { postAction } from '../../actions/post-action.ts';
import { type ApiFailure, failureOf } from '../../api/api-client.ts';
import { EMPTY_FEED, type FeedState } from '../../api/live-feed.ts';
import type { Report, Task } from '../../api/wire.ts';
import {
  CancelButton,
  TaskBadge,
  TaskFailure,
  TaskLink,
  TaskProgress,
} from '../../components/task-parts.tsx';
import { FailureText, Time } from '../../components/text.tsx';
import { useApp, type App } from '../../state/app.ts';
import { isActive } from '../../state/tasks.ts';
import { renderExact } from '../../text/exact-json.ts';

export const RUN_NAMES = ['dry', 'run', 'preview', 'rollback'] as const;

export interface Run {
  /** `null` before it was started, until the first answer, and when the daemon no longer has it. */
  readonly task: Task | null;
  readonly isBusy: boolean;
  readonly failure: ApiFailure | null;
  readonly lost: ApiFailure | null;
  readonly start: (action: string, body: object) => Promise<void>;
}

function feedOf(app: App, name: string): FeedState<Report<'task.status'>> {
  const id = app.query(name);
  return id === '' ? EMPTY_FEED : app.pool.state<Report<'task.status'>>(`task:${id}`);
}

function isAbsent({ status }: ApiFailure): boolean {
  return status === 400 || status === 404;
}

/** A run of this page. @param name of the parameter of the address that keeps its task */
export function useRun(name: string): Run {
  const app = useApp();
  const [isSending, setSending] = useState(false);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const { value, failure: lost } = feedOf(app, name);
  const isGone = lost !== null && isAbsent(lost);
  const task = isGone ? null : (value?.task ?? null);
  const isRunning = task !== null && isActive(task);
  const wasRunning = useRef(false);
  useEffect(() => {
    // The reports of the page are older than the end of the task.
    if (wasRunning.current && !isRunning && task !== null) app.pool.refresh();
    wasRunning.current = isRunning || isSending || (app.query(name) !== '' && task === null && !isGone);
  }, [isRunning, isSending, task === null]);
  return {
    task,
    isBusy: isSending || (app.query(name) !== '' && !isGone && (task === null || isActive(task))),
    failure,
    lost,
    start: async (action, body) => {
      setSending(true);
      setFailure(null);
      // The result of the run before is not that of this one.
      app.setQuery({ [name]: null });
      try {
        const accepted = await postAction(app, action, renderExact(body));
        app.setQuery({ [name]: accepted.task_id });
      } catch (error) {
        setFailure(failureOf(error));
      } finally {
        setSending(false);
      }
    },
  };
}

/**
 * How a run is going: its refusal, its progress, its failure.
 *
 * @param props `title`: names it for a person; `children`: shown when it has succeeded
 */
export function RunState({
  run: { task, failure, lost },
  title,
  children,
}: {
  readonly title: string;
  readonly run: Run;
  readonly children: (task: Task) => ComponentChildren;
}): JSX.Element | null {
  if (failure !== null) {
    return (
      <div class="note bad" role="alert">
        <p>
          <FailureText failure={failure} />
        </p>
      </div>
    );
  }
  if (task === null) return lost === null ? null : <LostTask failure={lost} />;
  return (
    <div class="answer">
      <p class="row-head">
        <strong>{title}</strong> <TaskBadge status={endedAs(task)} /> <TaskLink task={task} />{' '}
        <Time at={task.finished_at ?? task.started_at ?? task.created_at} />
        <CancelButton task={task} />
      </p>
      {isActive(task) ? <TaskProgress task={task} /> : null}
      {task.failure_code === null ? null : (
        <div class="note bad">
          <p>
            <TaskFailure task={task} />
          </p>
        </div>
      )}
      {task.status === 'succeeded' ? children(task) : null}
    </div>
  );
}

function LostTask({ failure }: { failure: ApiFailure }) {
  if (isAbsent(failure)) {
    return <p class="note info">The daemon no longer has the task of this address. Start again.</p>;
  }
  return (
    <div class="note bad">
      <p>
        <FailureText failure={failure} />
      </p>
    </div>
  );
}

/** A line of text with its label. */
export function TextLine({
  label,
  value,
  onInput,
}: {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
}): JSX.Element {
  // Two forms of the page have fields with the same label.
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} type="text" value={value} onInput={(event) => onInput(event.currentTarget.value)} />
    </div>
  );
}
