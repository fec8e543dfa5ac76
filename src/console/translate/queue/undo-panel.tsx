import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { postAction } from '../../actions/post-action.ts';
import { ApiFailure, failureOf } from '../../api/api-client.ts';
import { Button } from '../../components/controls.tsx';
import { AnswerNote, FailureText } from '../../components/text.tsx';
import { InstantInput } from '../../components/time-inputs.tsx';
import { useTypedQuery } from '../../components/use-typed-query.ts';
import { useApp, type App } from '../../state/app.ts';
import { readReport } from '../../state/read-report.ts';
import { useAnswer } from '../../state/use-answer.ts';
import { renderExact } from '../../text/exact-json.ts';
import { counted } from '../../text/format.ts';
import type { CountedTask } from './folder-coverage.ts';
import { filePattern } from './queue-filters.ts';

/** Tasks of one undo. More are taken back by another one, which begins where this one ended. */
const MOST_TASKS = '1000';
const SHOWN_FILES = 5;
/** Pause of typing after which the translations are counted, milliseconds. */
const PAUSE_MS = 400;
const CHOICES = ['undo_author', 'undo_run', 'undo_since'] as const;

interface Outcome {
  readonly taken: number;
  readonly refused: ReadonlyArray<{ readonly destination: string; readonly failure: ApiFailure }>;
}

/** Takes back the translations of a person, of a run, or since a time, as `slipway ctl translations undo` does. */
export function UndoPanel(): JSX.Element | null {
  const app = useApp();
  if (!app.mayRun('translation-task-update')) return null;
  const isChosen = CHOICES.some((name) => app.query(name) !== '');
  return (
    <details class="panel" open={isChosen}>
      <summary>
        <h2>Undo translations</h2>
      </summary>
      <p class="muted">
        Each unit gets the text back that it had before, as a draft. The history keeps both. Give a person, a
        run or a time.
      </p>
      <div class="columns">
        <ChoiceField name="undo_author" label="Person" help="The name of the token that sent them" />
        <ChoiceField
          name="undo_run"
          label="Run"
          help="Of a provider or an import: the history of a unit names it"
        />
        <SinceField />
        <ChoiceField name="undo_file" label="Folder or file" help="A part of the path, or *; empty for all" />
      </div>
      {isChosen ? <Found /> : null}
    </details>
  );
}

function ChoiceField({ name, label, help }: { name: string; label: string; help: string }) {
  const { typed, onInput, onChange } = useTypedQuery(name);
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <input
        id={name}
        type="text"
        spellcheck={false}
        value={typed}
        aria-describedby={`${name}-help`}
        onInput={(event) => onInput(event.currentTarget.value)}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      <p class="help" id={`${name}-help`}>
        {help}
      </p>
    </div>
  );
}

function SinceField() {
  const app = useApp();
  return (
    <div class="field">
      <label for="undo_since">Stored since</label>
      <InstantInput
        attributes={{ id: 'undo_since', 'aria-required': false, 'aria-invalid': false }}
        label="Stored since"
        value={app.query('undo_since')}
        disabled={false}
        now={app.now()}
        onChange={(since) => app.setQuery({ undo_since: since })}
      />
    </div>
  );
}

function Found() {
  const app = useApp();
  const [round, setRound] = useState(0);
  const [progress, setProgress] = useState<number | null>(null);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [isAsking, setAsking] = useState(false);
  const query = queryOf(app);
  const question = JSON.stringify([query, round]);
  const { value, isOld, failure } = useAnswer(
    question,
    async (signal) => ({
      query,
      ...(await readReport(app, 'translation.tasks', { ...query, limit: MOST_TASKS }, signal)),
    }),
    PAUSE_MS,
  );
  // The person confirms the number that was shown for this choice.
  useEffect(() => setAsking(false), [question]);
  if (value === null) return <AnswerNote failure={failure} />;
  const tasks = value.items.filter(({ status }) => status !== 'superseded');
  const units = tasks.reduce((sum, { chosen_units: some = 0 }) => sum + some, 0);
  const run = async (): Promise<void> => {
    setAsking(false);
    setOutcome(null);
    setProgress(0);
    setOutcome(await takeBack(app, value.query, tasks, setProgress));
    setProgress(null);
    setRound(round + 1);
    app.pool.refresh();
  };
  return (
    <div aria-live="polite">
      {outcome === null ? null : <OutcomeNote outcome={outcome} />}
      {units === 0 ? (
        <p class="empty">{outcome === null ? 'No translation fits.' : 'No other translation fits.'}</p>
      ) : (
        <>
          <p>{`${counted(units, 'translation fits', 'translations fit')}, in ${counted(tasks.length, 'file')}:`}</p>
          <ul class="rows">
            {tasks.slice(0, SHOWN_FILES).map(({ task_id: id, destination, chosen_units: some = 0 }) => (
              <li key={id}>
                {destination} <span class="muted">{counted(some, 'translation')}</span>
              </li>
            ))}
            {tasks.length > SHOWN_FILES ? (
              <li class="muted">{`and ${counted(tasks.length - SHOWN_FILES, 'more file')}`}</li>
            ) : null}
          </ul>
          <p class="buttons">
            {progress !== null ? (
              <span role="status">{`Taking back … ${counted(progress, 'translation')} done`}</span>
            ) : isAsking ? (
              <>
                <Button class="danger" onClick={() => void run()}>
                  {`Take ${counted(units, 'translation')} back now`}
                </Button>
                <Button onClick={() => setAsking(false)}>Cancel</Button>
              </>
            ) : (
              <Button
                class="danger"
                onClick={() => setAsking(true)}
                {...(isOld ? { disabledBecause: 'The translations are counted again' } : {})}
              >
                {`Take ${counted(units, 'translation')} back …`}
              </Button>
            )}
          </p>
        </>
      )}
    </div>
  );
}

function OutcomeNote({ outcome: { taken, refused } }: { outcome: Outcome }) {
  const [first] = refused;
  return (
    <>
      <p class="note ok">{`${counted(taken, 'translation was', 'translations were')} taken back.`}</p>
      {first === undefined ? null : (
        <p class="note bad" role="alert">
          {`${counted(refused.length, 'file was', 'files were')} refused, such as ${first.destination}: `}
          <FailureText failure={first.failure} />
        </p>
      )}
    </>
  );
}

function queryOf(app: App): Readonly<Record<string, string>> {
  const file = app.query('undo_file');
  return {
    ...Object.fromEntries(CHOICES.map((name) => [name, app.query(name)]).filter(([, value]) => value !== '')),
    ...(file === '' ? {} : { destination: filePattern(file) }),
  };
}

async function takeBack(
  app: App,
  { destination: _file, ...choice }: Readonly<Record<string, string>>,
  tasks: readonly CountedTask[],
  onProgress: (taken: number) => void,
): Promise<Outcome> {
  const args = Object.entries(choice).map(([name, value]) => `${name}=${value}`);
  const refused: { destination: string; failure: ApiFailure }[] = [];
  let taken = 0;
  for (const { task_id, destination } of tasks) {
    try {
      let claimed = 0;
      // One call takes back a bounded number, and says where the next one begins.
      for (
        let after: string[] = [], next: unknown = '';
        next !== null;
        after = [`undo_after=${String(next)}`]
      ) {
        const body = {
          task_id,
          status: 'in_progress',
          args: [...args, ...after],
          reason: 'undone in the console',
        };
        const { result } = await postAction(app, 'translation-task-update', renderExact(body));
        taken += Number(result?.['written'] ?? 0);
        claimed += Number(result?.['undo_claimed'] ?? 0);
        onProgress(taken);
        next = result?.['undo_next'] ?? null;
      }
      if (claimed > 0) throw new ApiFailure(`${counted(claimed, 'unit is', 'units are')} claimed by others.`);
    } catch (error) {
      refused.push({ destination, failure: failureOf(error) });
    }
  }
  return { taken, refused };
}
