import type { JSX } from 'preact';
import { isRecord } from '../../../domain/is-record.ts';
import type { Task } from '../../api/wire.ts';
import { Button, Select } from '../../components/controls.tsx';
import { Section } from '../../components/panel.tsx';
import { RawText } from '../../components/text.tsx';
import { useApp, type App } from '../../state/app.ts';
import { isActive } from '../../state/tasks.ts';
import { editorAddress } from '../../text/addresses.ts';
import { count, counted } from '../../text/format.ts';
import { RunState, useRun, type Run } from '../publish/task-run.tsx';
import { doneText, failedUnits, numberAt, reasonsOf, reportOf, usageText } from './machine-words.ts';
import { useProviders } from './providers-panel.tsx';

const WORK = { translate: 'translation-worker-run', review: 'translation-proofread' } as const;

type Work = keyof typeof WORK;

/** More than a release has. */
const MOST_TASKS = 1_000_000;

/** Chooses a provider and its work, estimates it, and starts it. */
export function RunPanel(): JSX.Element | null {
  const app = useApp();
  const providers = useProviders();
  const estimate = useRun('estimate');
  const run = useRun('run');
  const works = (['translate', 'review'] as const).filter((each) => app.mayRun(WORK[each]));
  const work = works.find((each) => each === app.query('work')) ?? works[0];
  if (work === undefined || providers.length === 0) return null;
  const fit = providers.filter((each) => work === 'translate' || each.can_review);
  const provider =
    fit.find(({ name }) => name === app.query('provider')) ?? fit.find((each) => each.is_default) ?? fit[0];
  if (provider === undefined) return null;
  const begin = (of: Run, ...args: string[]): void =>
    void of.start(WORK[work], bodyOf(app, work, provider.name, args));
  const again = (): void =>
    void run.start(WORK[work], {
      ...bodyOf(app, work, provider.name, []),
      ...(work === 'translate' ? { force: true } : {}),
    });
  return (
    <Section title="Run">
      <div class="tools">
        <Select
          label="Work"
          value={work}
          options={works.map((each) => [each, each === 'translate' ? 'Translate' : 'Review'])}
          onChange={(value) => choose(app, 'work', value)}
        />
        <Select
          label="Provider"
          value={provider.name}
          options={fit.map(({ name }) => [name, name])}
          onChange={(value) => choose(app, 'provider', value)}
        />
        <Cap name="max_cost" label="Most cost" />
        <Cap name="max_tokens" label="Most tokens" />
      </div>
      {work === 'translate' ? <OnlyTask /> : null}
      <p class="buttons">
        <button type="button" disabled={estimate.isBusy} onClick={() => begin(estimate, 'dry_run=true')}>
          {estimate.isBusy ? 'Estimating …' : 'Estimate'}
        </button>
        {estimate.task?.status === 'succeeded' ? (
          <button type="button" class="primary" disabled={run.isBusy} onClick={() => begin(run)}>
            {run.isBusy ? 'Running …' : 'Start'}
          </button>
        ) : (
          <span class="muted">An estimate sends nothing. After it you can start.</span>
        )}
      </p>
      <RunState run={estimate} title="Estimate">
        {(task) => <Estimate task={task} />}
      </RunState>
      <RunState run={run} title="Run">
        {() => null}
      </RunState>
      {run.task === null || isActive(run.task) ? null : <Outcome task={run.task} onAgain={again} />}
    </Section>
  );
}

/** Another choice needs another estimate. */
function choose(app: App, name: string, value: string): void {
  app.setQuery({ [name]: value, estimate: null });
}

function Cap({ name, label }: { name: string; label: string }) {
  const app = useApp();
  return (
    <div class="inline">
      <label for={name}>{label}</label>
      <input
        id={name}
        type="text"
        size={8}
        inputMode="decimal"
        placeholder="no limit"
        value={app.query(name)}
        onChange={({ currentTarget }) => choose(app, name, currentTarget.value.trim())}
      />
    </div>
  );
}

function bodyOf(app: App, work: Work, provider: string, args: readonly string[]): object {
  const caps = ['max_cost', 'max_tokens'].filter((name) => app.query(name) !== '');
  const task = app.query('task');
  return {
    provider,
    // Without a number, a run takes some of the tasks only.
    ...(work === 'translate' && task !== '' ? { task_id: task } : { max_tasks: MOST_TASKS }),
    args: [...args, ...caps.map((name) => `${name}=${app.query(name)}`)],
  };
}

function OnlyTask() {
  const app = useApp();
  const task = app.query('task');
  return task === '' ? (
    <p class="muted">Everything that is open. The editor offers a run for one file.</p>
  ) : (
    <p>
      Only <a href={editorAddress(task)}>one file</a>.{' '}
      <Button class="plain" onClick={() => app.setQuery({ task: null, estimate: null })}>
        Take all files
      </Button>
    </p>
  );
}

function Estimate({ task }: { task: Task }) {
  const report = reportOf(task);
  const { units, prompt, fits } = report;
  const members = isRecord(units) ? units : {};
  return (
    <>
      <p>
        {isRecord(units)
          ? `${counted(numberAt(members, 'units'), 'open text')}: ${count(numberAt(members, 'translated'))} for the provider, ${count(numberAt(members, 'reused'))} from the memory, ${count(numberAt(members, 'propagated'))} repeated.`
          : `${counted(numberAt(report, 'evaluated'), 'translation')} to review.`}
      </p>
      <p>
        <strong>{`At most about ${usageText(report)}`}</strong>
      </p>
      {fits === false ? (
        <p class="note warn">
          This is more than the limits allow: the run stops there, and keeps what it has.
        </p>
      ) : null}
      {isRecord(prompt) ? <PromptText prompt={prompt} /> : null}
    </>
  );
}

/** The first prompt of a run for one file, as `slipway ctl translations prompt` prints it. */
function PromptText({ prompt: { system, user } }: { prompt: Readonly<Record<string, unknown>> }) {
  const message = JSON.stringify(JSON.parse(String(user)), null, 2);
  return (
    <details>
      <summary>Prompt of the first request</summary>
      <RawText label="Prompt of the first request" text={`${String(system)}\n\n${message}`} />
    </details>
  );
}

function Outcome({ task, onAgain }: { task: Task; onAgain: () => void }) {
  const report = reportOf(task);
  const reasons = reasonsOf(report);
  const failed = failedUnits(report);
  const isWhole = task.status === 'succeeded' && reasons.length === 0;
  return (
    <div class={`note ${isWhole ? 'ok' : 'warn'}`}>
      <p>
        <strong>{doneText(task)}</strong>
        {` · ${usageText(report)}`}
      </p>
      {reasons.map((reason) => (
        <p key={reason}>
          <bdi>{reason}</bdi>
        </p>
      ))}
      {failed.length === 0 ? null : (
        <ul class="rows" aria-label="Texts without a translation">
          {failed.map(({ task: of, unit, reason }) => (
            <li key={unit}>
              <a href={editorAddress(of, { unit })}>Open the text</a> <bdi>{reason}</bdi>
            </li>
          ))}
        </ul>
      )}
      {isWhole ? null : (
        <p class="buttons">
          <Button onClick={onAgain}>Try again</Button>
        </p>
      )}
    </div>
  );
}
