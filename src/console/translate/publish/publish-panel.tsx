import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Report, Task } from '../../api/wire.ts';
import { Select } from '../../components/controls.tsx';
import { Section } from '../../components/panel.tsx';
import { Facts } from '../../components/text.tsx';
import { useApp } from '../../state/app.ts';
import { reportState } from '../../state/read-report.ts';
import { counted, percent, sentences, words } from '../../text/format.ts';
import { UnitLink } from '../unit-link.tsx';
import { ChangedLines } from './changed-lines.tsx';
import { CoverageBar } from './coverage-bar.tsx';
import { FileList } from './file-list.tsx';
import { isWorthPublishing, mustResume, type PublishResult } from './publish-results.ts';
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
  const [reason, setReason] = useState('');
  const dryRun = useRun('dry');
  const run = useRun('run');
  if (!app.mayRun('localized-publish')) return null;
  const choice = [
    ...(app.query('state') === '' ? [] : [`min_state=${app.query('state')}`]),
    ...(app.query('include') === '' ? [] : [`include=${app.query('include')}`]),
  ];
  const status = reportState(app, 'translation.status').value;
  const releases = reportState(app, 'release.status').value;
  const resumes = status !== null && status !== undefined && mustResume(status);
  const args = [...choice, ...(resumes ? ['resume=true'] : [])];
  const tried = dryRun.task?.status === 'succeeded' ? resultOf(dryRun.task) : null;
  const isTried = tried !== null && isStillTrue({ task: dryRun.task, result: tried }, choice, status);
  const publish = (): void => {
    void run.start('localized-publish', {
      from_worker: true,
      reviewer: app.index()?.token.id ?? '',
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
        <p class="muted">{nextStep({ tried, isTried, isDone: isCurrent(run.task, status) })}</p>
      )}
      <Publication
        run={run}
        status={status}
        announcedId={releases?.announced_localized?.release_id ?? null}
      />
    </Section>
  );
}

/** Why nothing can be published now, and what to do. */
function nextStep({
  tried,
  isTried,
  isDone,
}: {
  readonly tried: PublishResult | null;
  readonly isTried: boolean;
  readonly isDone: boolean;
}): string {
  if (isTried && tried?.unchanged === true) return 'There is nothing to publish.';
  if (tried === null || isTried) return 'When a dry run finds no blockers, you can publish.';
  return isDone
    ? 'For the next publication, start another dry run.'
    : 'The choice, the base or the current release has changed since the dry run. Start it again.';
}

type Status = Report<'translation.status'> | null | undefined;

function resultOf({ result }: Task): PublishResult {
  return result ?? {};
}

function Publication({
  run,
  status,
  announcedId,
}: {
  readonly run: Run;
  readonly status: Status;
  readonly announcedId: string | null;
}) {
  return (
    <RunState run={run} title="Publication">
      {(task) => (
        <PublishedResult
          result={resultOf(task)}
          isOutdated={!isCurrent(task, status) && resultOf(task).localized_release_id !== announcedId}
        />
      )}
    </RunState>
  );
}

/** Whether readers have the release of a publication now. */
function isCurrent(publication: Task | null, status: Status): boolean {
  const id = publication?.result?.['localized_release_id'];
  return id !== undefined && id === status?.current?.localized_release_id;
}

/** Whether a dry run shows what a publication would do now: it saw this base and this current release. */
function isStillTrue(
  { task, result }: { task: Task | null; result: PublishResult },
  choice: readonly string[],
  status: Status,
): boolean {
  return (
    result.base_release_id === status?.coverage.release_id &&
    (result.compared_with ?? null) === (status?.current?.localized_release_id ?? null) &&
    sameChoice(task, choice)
  );
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
  const app = useApp();
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
      {blockers.map(({ code, message, count: units }) => (
        <div class="note bad" key={code}>
          <p>
            <strong>{words(code)}. </strong>
            <span>
              {code === 'qa_blocked'
                ? `${counted(units, 'unit has', 'units have')} blocking findings. Correct what they name, accept the findings, or put the units on hold.`
                : sentences(message, app.now())}
            </span>
          </p>
        </div>
      ))}
      {blocked.length === 0 ? null : (
        <ul class="rows">
          {blocked.map((unit) => (
            <li key={unit.unit_id}>
              <UnitLink unit={unit} /> {unit.codes.map(words).join(', ')}
            </li>
          ))}
        </ul>
      )}
      <Changes result={result} />
      <FileList title="All files with translations" files={files ?? []} total={result.containers} />
      <p class="muted">
        The list has every file that differs from the official release, also those that the current localized
        release has as they are. Catalogs that state the size or the checksum of these files get the new
        figures.
      </p>
    </>
  );
}

/** What readers will see change, compared with the release that is served. */
function Changes({ result }: { result: PublishResult }) {
  const { compared_with: from, changed_units: units, changes = [], changed_files: files = [] } = result;
  if (result.unchanged === true || from === undefined) return null;
  return (
    <>
      <h3>What changes for readers</h3>
      <p>{changeWords(from, units)}</p>
      <ChangedLines changes={changes} total={units ?? null} />
      {files.length === 0 ? null : <FileList title="Files with changed lines" files={files} />}
    </>
  );
}

function changeWords(from: string | null, units: number | null | undefined): string {
  if (from === null)
    return 'Nothing is published now, so readers see every translated line for the first time.';
  if (units === null || units === undefined) {
    return `The texts of ${from} are not known: it was made from files that were patched outside of Slipway.`;
  }
  if (units === 0) return `Readers of ${from} will see no line change.`;
  return `Readers of ${from} will see ${counted(units, 'line')} change.`;
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
