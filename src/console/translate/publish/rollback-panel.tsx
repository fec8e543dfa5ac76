import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Report } from '../../api/wire.ts';
import { Button } from '../../components/controls.tsx';
import { Panel } from '../../components/panel.tsx';
import { Table } from '../../components/table.tsx';
import { Badge, Empty, Time } from '../../components/text.tsx';
import { useApp } from '../../state/app.ts';
import { reportState } from '../../state/read-report.ts';
import { counted, words } from '../../text/format.ts';
import { ChangedLines } from './changed-lines.tsx';
import { FileList } from './file-list.tsx';
import type { RollbackResult } from './publish-results.ts';
import { TextLine, RunState, useRun, type Run } from './task-run.tsx';

type Status = Report<'translation.status'>;
type Published = Status['history'][number];

/** The published releases, and the rollback to one of them. */
export function RollbackPanel(): JSX.Element {
  const app = useApp();
  const feed = app.pool.state<Status>('translation.status');
  const preview = useRun('preview');
  const rollback = useRun('rollback');
  const releases = reportState(app, 'release.status').value;
  const announcedId = releases?.announced_localized?.release_id ?? null;
  return (
    <Panel title="Published releases" feed={feed}>
      {(status) =>
        status.history.length === 0 ? (
          <Empty>Nothing is published yet. Start with a dry run above.</Empty>
        ) : (
          <>
            <Releases status={status} announcedId={announcedId} preview={preview} />
            {rollback.task?.status === 'succeeded' ? null : (
              <RunState run={preview} title="Preview: nothing is rolled back yet">
                {(task) => (
                  <Preview
                    result={task.result ?? {}}
                    lastId={announcedId ?? status.current?.localized_release_id ?? null}
                    rollback={rollback}
                  />
                )}
              </RunState>
            )}
            <RunState run={rollback} title="Rollback">
              {(task) => <RolledBack result={task.result ?? {}} />}
            </RunState>
          </>
        )
      }
    </Panel>
  );
}

function Releases({
  status,
  announcedId,
  preview,
}: {
  readonly status: Status;
  readonly announcedId: string | null;
  readonly preview: Run;
}) {
  const app = useApp();
  const { current, coverage, history } = status;
  const mayRollBack = app.mayRun('localized-rollback') && current !== null;
  const isTarget = (row: Published): boolean =>
    row.base_release_id === coverage.release_id &&
    row.localized_release_id !== current?.localized_release_id &&
    row.state === 'superseded';
  const show = (id: string | null): void => {
    app.setQuery({ rollback: null });
    void preview.start('localized-rollback', {
      args: ['dry_run=true'],
      ...(id === null ? {} : { localized_release_id: id }),
    });
  };
  return (
    <>
      <Table
        caption="Localized releases, that which became current last first"
        rows={history}
        keyOf={({ localized_release_id: id }) => id}
        columns={[
          { head: 'Release', cell: (row) => <code>{row.localized_release_id}</code> },
          { head: 'Base', cell: (row) => <code>{row.base_release_id ?? '–'}</code> },
          { head: 'State', cell: (row) => <ReleaseState row={row} /> },
          { head: 'Became current', cell: (row) => <Time at={row.at} /> },
          {
            head: 'Roll back',
            class: 'tools',
            cell: (row) =>
              mayRollBack && isTarget(row) ? (
                <Button about={row.localized_release_id} onClick={() => show(row.localized_release_id)}>
                  Roll back to this …
                </Button>
              ) : (
                '–'
              ),
          },
        ]}
      />
      {mayRollBack && (announcedId !== null || !history.some(isTarget)) ? (
        <p class="buttons">
          <span class="muted">
            {announcedId === null
              ? 'No earlier release of this base can become current again. '
              : `${announcedId} is announced. `}
          </span>
          <Button class="danger" onClick={() => show(null)}>
            {announcedId === null ? 'Withdraw the localized channel …' : 'Roll it back …'}
          </Button>
        </p>
      ) : null}
    </>
  );
}

function ReleaseState({ row: { state, rolled_back: rollback } }: { row: Published }) {
  if (rollback === null) return <Badge tone={state === 'current' ? 'ok' : 'idle'}>{words(state)}</Badge>;
  return (
    <>
      <Badge tone="warn">Rolled back</Badge>{' '}
      <span>{[rollback.reviewer, rollback.reason].filter((each) => each !== null).join(': ')}</span>
    </>
  );
}

function Preview({
  result,
  lastId,
  rollback,
}: {
  readonly result: RollbackResult;
  /** The release that was published last: the announced one, otherwise the current one. */
  readonly lastId: string | null;
  readonly rollback: Run;
}) {
  const app = useApp();
  const [reason, setReason] = useState('');
  const shown = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The answer to the press of a button far above it.
    shown.current?.scrollIntoView({ block: 'nearest' });
  }, []);
  const { changed_units: changedUnits = null, changes = [], files = [] } = result;
  const { rolled_back_release_id: from = '', localized_release_id: to = null } = result;
  if (from !== lastId) return <Empty>The current release has changed since. Start the preview again.</Empty>;
  const canRollBack = reason.trim() !== '';
  return (
    <div class="preview answer" ref={shown}>
      <h3>{to === null ? `Withdraw ${from}` : `From ${from} back to ${to}`}</h3>
      <p>{changeWords(result)}</p>
      <ChangedLines changes={changes} total={changedUnits} />
      {files.length === 0 ? null : <FileList title="Files with changed lines" files={files} />}
      <form
        class="publish-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (!canRollBack) return;
          const body = { reviewer: app.index()?.token.id ?? '', reason, args: [`from=${from}`] };
          void rollback.start(
            'localized-rollback',
            to === null ? body : { ...body, localized_release_id: to },
          );
        }}
      >
        <p class="note warn">
          {holdWords(result)} Automatic publishing stops until a publication resumes it.
          {to === null ? ' Without an earlier release readers get the official texts.' : null}
        </p>
        <TextLine label="Reason of the rollback" value={reason} onInput={setReason} />
        <p class="buttons">
          <button type="submit" class="danger" disabled={rollback.isBusy || !canRollBack}>
            {rollback.isBusy ? 'Rolling back …' : to === null ? 'Withdraw the channel' : 'Roll back'}
          </button>
          {canRollBack ? null : <span class="muted">It is kept in the history, so it is needed.</span>}
        </p>
      </form>
    </div>
  );
}

function holdWords({ held_units: heldUnits = null, localized_release_id: to }: RollbackResult): string {
  if (heldUnits === 0) return 'No unit is put on hold.';
  const units =
    heldUnits !== null
      ? counted(heldUnits, 'unit is', 'units are')
      : (to ?? null) === null
        ? 'Units whose text differs from that of the localized release before are'
        : 'The changed units are';
  return `${units} put on hold until someone reviews them.`;
}

function changeWords({ changed_units: changedUnits, localized_release_id: to }: RollbackResult): string {
  if (changedUnits === null || changedUnits === undefined) {
    return 'The texts of one of these releases are not known: it was made from files that were patched outside of Slipway.';
  }
  if (changedUnits === 0) return 'Readers will see no line change.';
  const lines = counted(changedUnits, 'line');
  return to === null
    ? `Readers will see ${lines} in the official text again.`
    : `Readers will see ${lines} change.`;
}

function RolledBack({ result }: { result: RollbackResult }) {
  const {
    rolled_back_release_id: from,
    localized_release_id: to = null,
    held_units: heldUnits = null,
  } = result;
  return (
    <p class="note ok">
      <strong>{to === null ? 'Withdrawn. ' : 'Rolled back. '}</strong>
      <code>{from}</code>
      {to === null
        ? ' is rolled back, and readers get the official texts. '
        : ' is rolled back, and readers get '}
      {to === null ? null : <code>{to}</code>}
      {to === null ? null : ' again. '}
      {heldUnits === null ? null : `${counted(heldUnits, 'unit is', 'units are')} on hold.`}
    </p>
  );
}
