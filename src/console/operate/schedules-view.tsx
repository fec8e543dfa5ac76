import type { JSX } from 'preact';
import type { Report, Schedule } from '../api/wire.ts';
import { ActionButton } from '../components/controls.tsx';
import { Panel } from '../components/panel.tsx';
import { Table } from '../components/table.tsx';
import { TaskBadge } from '../components/task-parts.tsx';
import { Badge, Empty, Time } from '../components/text.tsx';
import { typedText } from '../forms/form-model.ts';
import { useApp } from '../state/app.ts';
import { reportFeed } from '../state/report-feed.ts';
import type { View } from '../state/view.ts';
import { count, duration, words } from '../text/format.ts';

const ORIGINS: Record<Schedule['origin'], string> = {
  configured: 'configuration',
  manual: 'a person',
  controller: 'a ReleaseChannel',
};

/** The actions that the daemon runs by itself, with their times. */
export const schedulesView: View = {
  feeds: (app) => [reportFeed(app, 'schedule.list', { everyMs: 4000 })],
  Body: Schedules,
};

function Schedules(): JSX.Element {
  const feed = useApp().pool.state<Report<'schedule.list'>>('schedule.list');
  const tools = (
    <ActionButton request={{ action: 'schedule-add' }} class="primary">
      Add a schedule
    </ActionButton>
  );
  return (
    <Panel title="All schedules" feed={feed} tools={tools}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty>No schedules yet. Start with a nightly verification.</Empty>
        ) : (
          <Table
            caption="Schedules, by id"
            rows={items}
            keyOf={({ id }) => id}
            columns={[
              { head: 'Schedule', cell: ({ id }) => <code>{id}</code> },
              { head: 'From', cell: ({ origin }) => ORIGINS[origin] },
              { head: 'Runs', cell: what },
              { head: 'State', cell: state },
              {
                head: 'Next run',
                cell: (row) => <Time at={asNumber(row.next_run_unix_seconds)} otherwise="never" />,
              },
              {
                head: 'Every',
                cell: (row) => (row.every_seconds === null ? 'once' : duration(Number(row.every_seconds))),
              },
              { head: 'Done', cell: done },
              { head: 'Last', cell: last },
              { head: 'Actions', class: 'tools', cell: rowActions },
            ]}
          />
        )
      }
    </Panel>
  );
}

function asNumber(value: number | bigint | null): number | null {
  return value === null ? null : Number(value);
}

function what({ action, args, group }: Schedule): JSX.Element {
  return (
    <>
      <span>{action}</span> <span class="faint">{[group, ...args].join(' ')}</span>
    </>
  );
}

function state({ enabled, exhausted, replaced_by: other }: Schedule): JSX.Element {
  if (exhausted) return <Badge tone="quiet">Used up</Badge>;
  // A daemon of the previous version leaves it out.
  if (other) return <Badge tone="quiet">{`Replaced by ${other}`}</Badge>;
  return enabled ? <Badge tone="good">On</Badge> : <Badge tone="quiet">Off</Badge>;
}

function done({ run_count: runs, max_runs: most, skipped_overlap: skipped }: Schedule): string {
  const text = most === null ? count(runs) : `${count(runs)} of ${most}`;
  return skipped === 0 ? text : `${text}, ${count(skipped)} skipped`;
}

function last({ last_status: status, last_task_id: task, last_run_unix_seconds: at }: Schedule): JSX.Element {
  if (status === null) return <>–</>;
  return (
    <>
      {task === null ? (
        <TaskBadge status={status} />
      ) : (
        <a href={`#/tasks/${encodeURIComponent(task)}`}>{words(status)}</a>
      )}{' '}
      <Time at={asNumber(at)} />
    </>
  );
}

function rowActions(row: Schedule): JSX.Element {
  const fixed = { id: row.id };
  const about = row.id;
  const initial = {
    group: row.group,
    action: row.action,
    args: typedText(row.args),
    every_seconds: typedText(row.every_seconds),
    next_run_unix_seconds: typedText(row.next_run_unix_seconds),
    max_runs: typedText(row.max_runs),
    enabled: String(row.enabled),
  };
  return (
    <>
      <ActionButton
        request={{ action: 'schedule-run', fixed, initial: { force: !row.enabled } }}
        about={about}
      >
        Run now
      </ActionButton>
      <ActionButton request={{ action: 'schedule-update', fixed, initial, changesOnly: true }} about={about}>
        Edit
      </ActionButton>
      {/* The configuration would bring it back. */}
      {row.origin === 'configured' ? null : (
        <ActionButton request={{ action: 'schedule-remove', fixed }} class="danger" about={about}>
          Remove
        </ActionButton>
      )}
    </>
  );
}
