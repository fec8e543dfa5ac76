import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Report, Task } from '../../api/wire.ts';
import { Select } from '../../components/controls.tsx';
import { Section } from '../../components/panel.tsx';
import { Facts } from '../../components/text.tsx';
import { useApp } from '../../state/app.ts';
import { reportState } from '../../state/read-report.ts';
import { editorAddress } from '../../text/addresses.ts';
import { percent, words } from '../../text/format.ts';
import { CoverageBar } from './coverage-bar.tsx';
import { FileList } from './file-list.tsx';
import { hasChangedSince, isWorthPublishing, mustResume, type PublishResult } from './publish-results.ts';
import { RunState, useRun, type Run, TextLine } from './task-run.tsx';

const STATES = [
  ['', 'As configured'],
  ['proofread', 'Proofread'],
  ['translated', 'Translated'],
  ['draft', 'Draft'],
] as const;

/** Chooses what goes in, tries it, and publishes. */
export function PublishPanel(): JSX.Element | null {
  const app = useApp();
  const [reviewer, setReviewer] = useState('');
  const [reason, setReason] = useState('');
  const dryRun = useRun('dry');
  const run = useRun('run');
  if (!app.mayRun('localized-publish')) return null;
  const choice = [
    ...(app.query('state') === '' ? [] : [`min_state=${app.query('state')}`]),
    ...(app.query('include') === '' ? [] : [`include=${app.query('include')}`]),
  ];
  const status = reportState(app, 'translation.status').value;
  const resumes = status !== null && status !== undefined && mustResume(status);
  const args = [...choice, ...(resumes ? ['resume=true'] : [])];
  const tried = dryRun.task?.status === 'succeeded' ? resultOf(dryRun.task) : null;
  const isTried = tried !== null && isStillTrue({ task: dryRun.task, result: tried }, choice, status);
  const publish = (): void => {
    void run.start('localized-publish', {
      from_worker: true,
      ...(reviewer.trim() === '' ? {} : { reviewer }),
      ...(reason.trim() === '' ? {} : { reason }),
      ...(args.length === 0 ? {} : { args }),
    });
  };
  return (
    <Section title="Publish">
      <Choice />
      <p class="buttons">
        <button
          type="button"
          disabled={dryRun.isBusy}
          onClick={() =>
            void dryRun.start('localized-publish', { from_worker: true, args: ['dry_run=true', ...args] })
          }
        >
          {dryRun.isBusy ? 'Dry run …' : 'Start a dry run'}
        </button>
      </p>
      <RunState run={dryRun} title="Dry run: nothing is published">
        {(task) => <DryRunResult result={resultOf(task)} />}
      </RunState>
      {isTried && isWorthPublishing(tried, resumes) ? (
        <form
          class="publish-form"
          onSubmit={(event) => {
            event.preventDefault();
            publish();
          }}
        >
          <TextLine label="Your name (optional)" value={reviewer} onInput={setReviewer} />
          <TextLine label="Reason (optional)" value={reason} onInput={setReason} />
          {resumes ? (
            <p class="note warn">A rollback has stopped publishing. This publication resumes it.</p>
          ) : null}
          <p class="buttons">
            <button type="submit" class="primary" disabled={run.isBusy}>
              {run.isBusy ? 'Publishing …' : 'Publish'}
            </button>
          </p>
        </form>
      ) : (
        <p class="muted">
          {isTried && tried.unchanged === true
            ? 'There is nothing to publish.'
            : tried === null || isTried
              ? 'When a dry run finds no blockers, you can publish.'
              : isPublished(run.task, dryRun.task)
                ? 'For the next publication, start another dry run.'
                : 'The choice, the base or the current release has changed since the dry run. Start it again.'}
        </p>
      )}
      <Publication run={run} status={status} />
    </Section>
  );
}

type Status = Report<'translation.status'> | null | undefined;

function resultOf({ result }: Task): PublishResult {
  return result ?? {};
}

function Publication({ run, status }: { run: Run; status: Status }) {
  return (
    <RunState run={run} title="Publication">
      {(task) => <PublishedResult result={resultOf(task)} isOutdated={isOutdated(task, status)} />}
    </RunState>
  );
}

function isPublished(publication: Task | null, dryRun: Task | null): boolean {
  if (publication?.status !== 'succeeded' || dryRun === null) return false;
  return publication.created_at >= dryRun.created_at;
}

/** Whether a dry run shows what a publication would do now. */
function isStillTrue(
  { task, result }: { task: Task | null; result: PublishResult },
  choice: readonly string[],
  status: Status,
): boolean {
  const isSameBase = result.base_release_id === status?.coverage.release_id;
  return isSameBase && sameChoice(task, choice) && !isOutdated(task, status);
}

function isOutdated(task: Task | null, status: Status): boolean {
  const ended = task?.finished_at ?? null;
  return ended !== null && status !== null && status !== undefined && hasChangedSince(status.history, ended);
}

function sameChoice(task: Task | null, choice: readonly string[]): boolean {
  const { min_state: state, include } = (task?.args ?? {}) as Readonly<Record<string, unknown>>;
  const tried = [
    ...(typeof state === 'string' ? [`min_state=${state}`] : []),
    ...(typeof include === 'string' ? [`include=${include}`] : []),
  ];
  return tried.join('\n') === choice.join('\n');
}

function Choice() {
  const app = useApp();
  return (
    <div class="tools">
      <Select
        label="Lowest state"
        value={app.query('state')}
        options={STATES}
        onChange={(value) => app.setQuery({ state: value })}
      />
      <div class="inline">
        <label for="publish-include">Files</label>
        <input
          id="publish-include"
          type="text"
          placeholder="as configured"
          spellcheck={false}
          value={app.query('include')}
          onChange={(event) => app.setQuery({ include: event.currentTarget.value.trim() })}
        />
      </div>
      <span class="muted">A glob such as Scenario/**. Other files keep the official text.</span>
    </div>
  );
}

function DryRunResult({ result }: { result: PublishResult }) {
  const {
    base_release_id: base,
    coverage,
    units,
    blockers = [],
    blocked_units: blocked = [],
    files,
  } = result;
  return (
    <>
      <Facts
        rows={[
          ['Base', base && <code key="base">{base}</code>],
          ['Coverage', coverage === undefined ? null : percent(coverage)],
        ]}
      />
      <CoverageBar units={units ?? {}} />
      {result.unchanged === true ? (
        <p class="note info">Nothing would change: the current release has these texts already.</p>
      ) : null}
      {blockers.map(({ code, message }) => (
        <div class="note bad" key={code}>
          <p>
            <strong>{words(code)}. </strong>
            <span>{message}</span>
          </p>
        </div>
      ))}
      {blocked.length === 0 ? null : (
        <ul class="rows">
          {blocked.map(({ task_id: task, unit_id: unit, destination, codes }) => (
            <li key={unit}>
              <a href={editorAddress(task, { unit })}>
                <code>{unit.slice(0, 16)}</code>
              </a>{' '}
              <span>{destination}</span> {codes.map(words).join(', ')}
            </li>
          ))}
        </ul>
      )}
      <FileList title="All files with translations" files={files ?? []} total={result.containers} />
      <p class="muted">
        The list has every file that differs from the official release, also those that the current localized
        release has as they are. Catalogs that state the size or the checksum of these files get the new
        figures.
      </p>
    </>
  );
}

function PublishedResult({ result, isOutdated: isOld }: { result: PublishResult; isOutdated: boolean }) {
  if (isOld) {
    return (
      <p class="note info">
        <code>{result.localized_release_id}</code> was published then. The current release has changed since.
      </p>
    );
  }
  return (
    <>
      <p class="note ok">
        <strong>Published. </strong>
        <code>{result.localized_release_id}</code>
        {' is current. The servers turn to it with the next attestation, within seconds.'}
      </p>
      <FileList
        title="Replaced files and catalogs"
        files={result.files ?? []}
        total={result.replaced_entries}
      />
    </>
  );
}
