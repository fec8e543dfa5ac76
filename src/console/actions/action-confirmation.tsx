import type { JSX } from 'preact';
import type { ConsoleAction } from '../../contract/console/console-contract.ts';
import { Button } from '../components/controls.tsx';
import { JsonDetails, ResultFacts } from '../components/result-facts.tsx';
import { Facts, Prose, Time, type Fact } from '../components/text.tsx';
import { TaskLink, titleOf } from '../components/task-parts.tsx';
import { useApp, type App } from '../state/app.ts';
import { readReport } from '../state/read-report.ts';
import { useAnswer } from '../state/use-answer.ts';
import { duration, words } from '../text/format.ts';

interface ConfirmationProps {
  readonly name: string;
  readonly action: ConsoleAction;
  readonly question: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** The result of the dry run; `null` for an action that has none. */
  readonly trial: object | null;
  readonly onBack: () => void;
  readonly onYes: () => void;
}

/** Asks before an action, with its effect. The safe button is the one that gets the focus. */
export function ActionConfirmation(props: ConfirmationProps): JSX.Element {
  const { action, question, body, trial, onBack, onYes } = props;
  return (
    <div class="confirmation">
      <div class={action.destructive ? 'note warn' : 'note info'}>
        <p>
          <strong>{`${question}?`}</strong>
        </p>
        <p>
          <Prose text={action.summary} />
        </p>
        {action.destructive ? (
          <p>
            <Prose text={action.reversal ?? 'This can’t be undone.'} />
          </p>
        ) : null}
      </div>
      {trial === null ? (
        <EffectText {...props} />
      ) : (
        <section aria-label="Dry run">
          <h3>It would do this</h3>
          <ResultFacts label="Result of the dry run" value={trial} />
        </section>
      )}
      <JsonDetails label="Request" value={body} />
      <div class="buttons">
        <button type="button" data-safe={true} onClick={onBack}>
          Back
        </button>
        <Button onClick={onYes} class={action.destructive ? 'danger' : 'primary'}>
          {`Yes, ${lowerFirst(question)}`}
        </Button>
      </div>
    </div>
  );
}

function EffectText({ name, body }: ConfirmationProps) {
  const app = useApp();
  const { value: effect, failure, isOld } = useAnswer(name, async () => await readEffect(app, name, body), 0);
  // The effect is only information; the action itself says what is wrong.
  if (failure !== null) return <p class="help">{`The effect could not be read. ${failure.message}`}</p>;
  if (isOld) return <p class="help">Reading what it changes …</p>;
  if (effect === null) return null;
  return (
    <section aria-label="Effect">
      <p>{effect.text}</p>
      <Facts rows={effect.facts} />
    </section>
  );
}

function lowerFirst(text: string): string {
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
}

interface Effect {
  readonly text: string;
  readonly facts: readonly Fact[];
}

type Body = Readonly<Record<string, unknown>>;
type Read = (app: App, body: Body) => Promise<Effect>;

const MOST_ROWS = '1000';

const EFFECTS: Readonly<Record<string, Read>> = {
  restart: async (app) => {
    const { items } = await readReport(app, 'task.list');
    const running = items.filter(({ status }) => status === 'running' || status === 'cancelling');
    if (running.length === 0) return { text: 'No task is running.', facts: [] };
    return {
      text: 'These tasks are running. They stop, and those that can continue do so after the restart:',
      facts: running.map((task) => [titleOf(app, task), <TaskLink key={task.task_id} task={task} />]),
    };
  },
  'schedule-remove': async (app, { id }) => {
    const { items } = await readReport(app, 'schedule.list', { id: text(id) });
    const [schedule] = items;
    if (schedule === undefined) return missing('schedule', id);
    const { action, every_seconds: every, next_run_unix_seconds: next, last_status: last } = schedule;
    return {
      text: 'It no longer runs. A running task of it continues.',
      facts: [
        ['Runs', app.contract.jobs[action]?.title ?? action],
        ['Every', every === null ? 'once' : duration(Number(every))],
        [
          'Next run',
          <Time key="next" at={next === null ? null : Number(next)} otherwise="never" clock="beside" />,
        ],
        ['Last result', last === null ? null : words(last)],
      ],
    };
  },
  'task-cancel': async (app, { task_id: id }) => {
    const { task } = await readReport(app, 'task.status', { task_id: text(id) });
    return {
      text: 'It stops as soon as it can.',
      facts: [
        ['Task', titleOf(app, task)],
        ['Status', words(task.status)],
        ['Requested', <Time key="requested" at={task.created_at} clock="beside" />],
        ['By', task.schedule_id ?? task.reviewer],
      ],
    };
  },
  'translation-memory-resolve-conflict': async (app, { winner_record_id: winner }) => {
    const { groups } = await readReport(app, 'translation.memory.conflicts', { limit: MOST_ROWS });
    const group = groups.find(({ records }) => records.some(({ record_id: id }) => id === winner));
    if (group === undefined) return missing('conflict with the record', winner);
    return {
      text: `One translation of “${group.source_text}” stays trusted:`,
      facts: group.records.map(({ record_id: id, target_text: target }) => [
        id === winner ? 'Keeps' : 'Supersedes',
        target,
      ]),
    };
  },
};

/**
 * Reads the effect of an action.
 *
 * @returns `null` when nothing is known about it
 * @throws ApiFailure
 */
async function readEffect(app: App, action: string, body: Body): Promise<Effect | null> {
  return (await EFFECTS[action]?.(app, body)) ?? null;
}

function missing(what: string, id: unknown): Effect {
  return {
    text: `This ${what} no longer exists: someone has removed it, or its id ${text(id)} is wrong.`,
    facts: [],
  };
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
