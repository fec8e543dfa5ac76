import { Fragment } from 'preact';
import { runAction } from '../actions/post-action.ts';
import type { Schedule } from '../api/wire.ts';
import { ActionButton, Select } from '../components/controls.tsx';
import { Panel } from '../components/panel.tsx';
import { Table } from '../components/table.tsx';
import { Took, TaskBadge, TaskFailure, TaskLink } from '../components/task-parts.tsx';
import { Badge, Empty, Time } from '../components/text.tsx';
import { useApp, type App } from '../state/app.ts';
import { mayRunOn, permittedContract } from '../state/permitted-jobs.ts';
import { reportFeed, reportState } from '../state/read-report.ts';
import { taskListFeed } from '../state/tasks.ts';
import type { View } from '../state/view.ts';
import { taskAddress } from '../text/addresses.ts';
import { count, duration, words } from '../text/format.ts';

const ORIGINS: Partial<Record<Schedule['origin'], string>> = { controller: 'a ReleaseChannel' };
const GROUPS = [
  ['', 'All'],
  ['res', 'Releases'],
  ['parse', 'Index of texts'],
  ['i18n', 'Translation'],
] as const;
/** Seconds after its time from which a run counts as late. */
const LATE_SECONDS = 60;
const SHOWN_RUNS = 20;

export const schedulesView: View = {
  feeds: (app) => [
    reportFeed(app, 'schedule.list', { everyMs: 4000 }),
    ...(app.query('runs') === '' ? [] : [taskListFeed(app)]),
  ],
  Body: () => {
    const id = useApp().query('runs');
    return (
      <>
        <Schedules />
        {id === '' ? null : <Runs id={id} />}
      </>
    );
  },
};

function Schedules() {
  const app = useApp();
  const feed = reportState(app, 'schedule.list');
  const { jobs } = permittedContract(app.contract, (scope) => app.hasScope(scope));
  const tools = (
    <>
      <Select
        label="Group"
        value={app.query('group')}
        options={GROUPS}
        onChange={(group) => app.setQuery({ group })}
      />
      {Object.keys(jobs).length === 0 ? null : (
        <ActionButton request={{ action: 'schedule-add' }} class="primary">
          Add a schedule
        </ActionButton>
      )}
    </>
  );
  return (
    <Panel title="All schedules" feed={feed} tools={tools}>
      {({ items }) => {
        const rows = items.filter(({ group }) => ['', group].includes(app.query('group')));
        if (rows.length === 0) return <Empty>No schedules here. Start with a nightly verification.</Empty>;
        return (
          <Table
            caption="Schedules, by id"
            rows={rows}
            keyOf={({ id }) => id}
            columns={[
              { head: 'Schedule', class: 'name', cell: ({ id }) => <ScheduleId id={id} /> },
              { head: 'Runs', cell: (row) => what(app, row) },
              { head: 'When', class: 'whole', cell: when },
              { head: 'State', narrow: 'aside', cell: (row) => <State row={row} /> },
              { head: 'Next run', class: 'whole', cell: (row) => <NextRun row={row} /> },
              {
                head: 'Last run',
                class: 'whole',
                narrow: 'none',
                cell: (row) => (row.last_status === null ? '–' : <LastRun row={row} />),
              },
              { head: 'Done', class: 'whole', narrow: 'none', cell: done },
              { head: 'Actions', class: 'tools', cell: (row) => <RowActions row={row} /> },
            ]}
          />
        );
      }}
    </Panel>
  );
}

/** It may break after a colon only, so that its words stay whole. */
function ScheduleId({ id }: { id: string }) {
  return (
    <code>
      {id.split(/(?<=:)/).map((part, index) => (
        <Fragment key={index}>
          {index === 0 ? null : <wbr />}
          {part}
        </Fragment>
      ))}
    </code>
  );
}

function asNumber(value: number | bigint | null): number | null {
  return value === null ? null : Number(value);
}

function when({ origin, every_seconds: every }: Schedule) {
  return (
    <>
      {every === null ? 'Once' : `Every ${duration(Number(every))}`}
      {ORIGINS[origin] === undefined ? null : <div class="muted">{`by ${ORIGINS[origin]}`}</div>}
    </>
  );
}

function what({ contract }: App, { action, args }: Schedule) {
  const title = contract.jobs[action]?.title;
  return (
    <>
      <span>{title ?? action}</span>
      <div class="muted">{args.map((pair) => pair.replace('=', ': ').replaceAll('_', ' ')).join(', ')}</div>
    </>
  );
}

/** A switch in place where the schedule can be turned on and off; otherwise its state. */
function State({ row }: { row: Schedule }) {
  const app = useApp();
  const { id, enabled, exhausted, replaced_by: other } = row;
  if (exhausted) return <Badge tone="idle">Used up</Badge>;
  if (other !== null) return <Badge tone="idle">{`Replaced by ${other}`}</Badge>;
  if (!mayRunOn(app, 'schedule-update', row.action))
    return enabled ? <Badge tone="ok">On</Badge> : <Badge tone="idle">Off</Badge>;
  const turn = (isOn: boolean, undo?: () => void): void => {
    const done = isOn ? `${id} runs automatically again.` : `${id} no longer runs automatically.`;
    void runAction(app, 'schedule-update', { id, enabled: isOn }, { done, ...(undo ? { undo } : {}) });
  };
  return (
    <button
      type="button"
      role="switch"
      aria-checked={enabled}
      class={`toggle ${enabled ? 'ok' : 'idle'}`}
      onClick={() => turn(!enabled, () => turn(enabled))}
    >
      <span class="unseen">{`${id} `}</span>
      {enabled ? 'On' : 'Off'}
    </button>
  );
}

function NextRun({ row }: { row: Schedule }) {
  const app = useApp();
  const at = asNumber(row.next_run_unix_seconds);
  const late = at === null || !row.enabled || row.exhausted ? 0 : app.now() - at;
  return (
    <>
      <Time at={at} otherwise="never" />
      {late < LATE_SECONDS ? null : (
        <div>
          <Badge tone="warn">{`Late by ${duration(late)}`}</Badge>
        </div>
      )}
    </>
  );
}

function LastRun({
  row: { id, last_status: status, last_task_id: task, last_run_unix_seconds: at },
}: {
  readonly row: Schedule;
}) {
  if (status === null) return <>–</>;
  return (
    <>
      {task === null ? <TaskBadge status={status} /> : <a href={taskAddress(task)}>{words(status)}</a>}{' '}
      <Time at={asNumber(at)} />
      {' · '}
      <a href={`#/schedules?runs=${encodeURIComponent(id)}`}>
        History<span class="unseen">{` of ${id}`}</span>
      </a>
    </>
  );
}

function done({ run_count: runs, max_runs: most, skipped_overlap: skipped }: Schedule): string {
  const text = most === null ? count(runs) : `${count(runs)} of ${most}`;
  return skipped === 0 ? text : `${text}, ${count(skipped)} skipped`;
}

/** The scope is that of the job, so a token may use all of them or none. */
function RowActions({ row }: { row: Schedule }) {
  const app = useApp();
  const { id, group, action, args, enabled } = row;
  if (!mayRunOn(app, 'schedule-run', action)) return <>–</>;
  const fixed = { id };
  const body = {
    group,
    action,
    ...(args.length === 0 ? {} : { args }),
    ...(row.every_seconds === null ? {} : { every_seconds: row.every_seconds }),
    ...(row.max_runs === null ? {} : { max_runs: row.max_runs }),
    enabled,
  };
  return (
    <>
      <ActionButton
        request={{ action: 'schedule-run', about: id, fixed, initial: { force: !enabled } }}
        about={id}
      >
        Run now
      </ActionButton>
      <ActionButton
        request={{ action: 'schedule-update', about: id, fixed, body, changesOnly: true }}
        about={id}
      >
        Edit
      </ActionButton>
      {/* The configuration would bring it back. */}
      {row.origin === 'configured' ? null : (
        <ActionButton request={{ action: 'schedule-remove', about: id, fixed }} class="danger" about={id}>
          Remove
        </ActionButton>
      )}
    </>
  );
}

function Runs({ id }: { id: string }) {
  const app = useApp();
  const feed = reportState(app, 'task.list');
  const close = (
    <button type="button" class="plain" onClick={() => app.setQuery({ runs: null })}>
      Close
    </button>
  );
  return (
    <Panel title={`Runs of ${id}`} feed={feed} tools={close}>
      {({ items }) => {
        const rows = items.filter(({ schedule_id: of }) => of === id).slice(0, SHOWN_RUNS);
        if (rows.length === 0) {
          return <Empty>The daemon has no record of a run. Press “Run now” to start one.</Empty>;
        }
        return (
          <Table
            caption={`Runs of ${id}, newest first`}
            rows={rows}
            keyOf={({ task_id: task }) => task}
            columns={[
              { head: 'Task', cell: (task) => <TaskLink task={task} /> },
              { head: 'Result', narrow: 'aside', cell: ({ status }) => <TaskBadge status={status} /> },
              { head: 'Began', cell: (task) => <Time at={task.created_at} /> },
              { head: 'Took', narrow: 'none', cell: (task) => <Took task={task} /> },
              { head: 'Why', class: 'wide', cell: (task) => <TaskFailure task={task} /> },
            ]}
          />
        );
      }}
    </Panel>
  );
}
