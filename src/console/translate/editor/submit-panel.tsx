import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type ApiFailure, failureOf } from '../../api/api-client.ts';
import { Button } from '../../components/controls.tsx';
import { FailureText } from '../../components/text.tsx';
import { useApp } from '../../state/app.ts';
import { counted, count } from '../../text/format.ts';
import { sessionOf } from './draft/editor-session.ts';
import { isUnsaved } from './draft/unit-draft.ts';
import { submitBody } from './draft/update-bodies.ts';
import { unitMatcher } from './list/shown-units.ts';
import { unitReader, useUnitScan } from './list/unit-scan.tsx';
import { containerQuery, type TranslationTask } from './unit.ts';

const ENOUGH = 500;
const HAS_FINDINGS = unitMatcher({ state: 'findings', text: '' });

/** Shows what submitting a task for review does, or why the daemon would refuse it, and submits it. */
export function SubmitPanel({
  task,
  onClosed,
}: {
  readonly task: TranslationTask;
  readonly onClosed: () => void;
}): JSX.Element {
  const app = useApp();
  const box = useRef<HTMLElement>(null);
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const plan = submitPlanOf(task.unit_counts);
  useEffect(() => box.current?.focus(), []);
  const submit = async (): Promise<void> => {
    setBusy(true);
    setFailure(null);
    try {
      await sessionOf(app).act('translation-task-update', submitBody(task.task_id));
      app.toast('The task was submitted for review.');
      app.pool.refresh();
      onClosed();
    } catch (error) {
      setFailure(failureOf(error));
      setBusy(false);
    }
  };
  return (
    <section
      class={`note submit-panel ${plan.missing.length === 0 ? 'info' : 'warn'}`}
      aria-label="Submit for review"
      tabIndex={-1}
      ref={box}
    >
      {plan.missing.length === 0 ? <Ready task={task} plan={plan} /> : <Missing plan={plan} />}
      {failure === null ? null : (
        <p class="bad" role="alert">
          <FailureText failure={failure} />
        </p>
      )}
      <p class="buttons">
        {plan.missing.length > 0 ? null : (
          <button type="button" class="primary" disabled={isBusy} onClick={() => void submit()}>
            {`Submit ${counted(plan.drafts, 'draft')}`}
          </button>
        )}
        <Button onClick={onClosed}>{plan.missing.length > 0 ? 'Close' : 'Not yet'}</Button>
      </p>
    </section>
  );
}

function Missing({ plan: { missing } }: { plan: SubmitPlan }) {
  const app = useApp();
  return (
    <>
      <p>
        <strong>This task cannot be submitted yet.</strong> Each unit needs a target without findings that
        block it:
      </p>
      <ul>
        {missing.map(({ state, units, why }) => (
          <li key={state}>
            {`${counted(units, 'unit')} ${why} `}
            <Button class="plain" onClick={() => app.setQuery({ state, q: null })} about={state}>
              Show
            </Button>
          </li>
        ))}
      </ul>
    </>
  );
}

function Ready({ task, plan: { drafts } }: { task: TranslationTask; plan: SubmitPlan }) {
  const app = useApp();
  const { desk } = sessionOf(app);
  const unsaved = [...desk.drafts.value.values()].filter(
    (draft) => draft.taskId === task.task_id && isUnsaved(draft),
  ).length;
  return (
    <>
      <p>{`${counted(drafts, 'draft becomes', 'drafts become')} translated and ${drafts === 1 ? 'waits' : 'wait'} for a reviewer.`}</p>
      {unsaved === 0 ? null : (
        <p>
          {`${counted(unsaved, 'text is', 'texts are')} not stored yet. Only stored texts are submitted, and a text that is stored afterwards is a draft again.`}
        </p>
      )}
      <Findings task={task} />
    </>
  );
}

function Findings({ task }: { task: TranslationTask }) {
  const app = useApp();
  const read = useMemo(() => unitReader(app, containerQuery(task)), [task.task_id]);
  const { found, isRunning, failure, goOn } = useUnitScan({
    question: `${task.task_id} ${task.updated_at}`,
    read,
    isWanted: HAS_FINDINGS,
    enough: ENOUGH,
  });
  if (failure !== null) return <p>The findings could not be counted.</p>;
  if (isRunning) return <p>Counting findings …</p>;
  if (found.length === 0 && goOn === null) return <p>The checks found nothing.</p>;
  return (
    <p>
      {`${goOn === null ? '' : 'At least '}${count(found.length)} ${found.length === 1 ? 'unit has' : 'units have'} findings that do not block. The reviewer sees them. `}
      <Button class="plain" onClick={() => app.setQuery({ state: 'findings', q: null })} about="the findings">
        Show
      </Button>
    </p>
  );
}

interface MissingUnits {
  readonly state: 'untranslated' | 'stale' | 'blocked';
  readonly units: number;
  readonly why: string;
}

interface SubmitPlan {
  readonly drafts: number;
  /** Empty when the daemon takes the task. */
  readonly missing: readonly MissingUnits[];
}

const REASONS = [
  ['untranslated', 'without a target.'],
  ['stale', 'whose source has changed since the target was written.'],
  ['blocked', 'blocked by findings.'],
] as const satisfies ReadonlyArray<readonly [MissingUnits['state'], string]>;

/** What submitting a task does. @param counts units of the task by state */
export function submitPlanOf(counts: TranslationTask['unit_counts']): SubmitPlan {
  return {
    drafts: counts['draft'] ?? 0,
    missing: REASONS.flatMap(([state, why]) => {
      const units = counts[state] ?? 0;
      return units === 0 ? [] : [{ state, units, why }];
    }),
  };
}

/** Whether a task has anything to submit, now or later. */
export function isSubmitOffered({ status, unit_counts: counts }: TranslationTask): boolean {
  const { drafts, missing } = submitPlanOf(counts);
  return status !== 'superseded' && status !== 'skipped' && (drafts > 0 || missing.length > 0);
}
