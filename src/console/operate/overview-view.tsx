import type { JSX } from 'preact';
import type { Report, Task } from '../api/wire.ts';
import { ActionButton } from '../components/controls.tsx';
import { Panel } from '../components/panel.tsx';
import { CancelButton, TaskBadge, TaskLink, TaskProgress } from '../components/task-parts.tsx';
import { Badge, Empty, Time } from '../components/text.tsx';
import { useApp } from '../state/app.ts';
import { reportFeed } from '../state/report-feed.ts';
import { isActive, taskListFeed } from '../state/tasks.ts';
import { currentVerdict, verdictState } from '../state/verdict.ts';
import type { View } from '../state/view.ts';
import { words } from '../text/format.ts';
import { ChannelCard } from './channel-card.tsx';

/** Actions that the overview always offers. */
const QUICK_ACTIONS = ['sync', 'verify', 'repair'];
/** Schedules that the overview shows. */
const NEXT_RUNS = 4;

/** The releases that are served, the tasks that run, and everything that needs attention. */
export const overviewView: View = {
  feeds: (app) => [
    taskListFeed(app),
    reportFeed(app, 'release.status'),
    reportFeed(app, 'daemon.doctor'),
    reportFeed(app, 'schedule.list'),
  ],
  Body: () => (
    <>
      <QuickActions />
      <Channels />
      <div class="columns">
        <RunningTasks />
        <Doctor />
        <NextRuns />
      </div>
      <Checks />
    </>
  ),
};

/** The usual actions. The primary one is the remedy of the present state, if an action is. */
function QuickActions(): JSX.Element | null {
  const app = useApp();
  if (!app.canControl()) return null;
  const { action: remedy } = currentVerdict(app);
  return (
    <p class="buttons">
      {remedy === null ? null : (
        <ActionButton request={{ action: remedy }} class="primary">
          {words(remedy)}
        </ActionButton>
      )}
      {QUICK_ACTIONS.filter((action) => action !== remedy).map((action) => (
        <ActionButton request={{ action }} key={action}>
          {words(action)}
        </ActionButton>
      ))}
    </p>
  );
}

function Channels(): JSX.Element {
  const feed = useApp().pool.state<Report<'release.status'>>('release.status');
  return (
    <Panel title="Channels" feed={feed}>
      {(report) => (
        <div class="columns">
          <ChannelCard name="official" report={report} />
          <ChannelCard name="localized" report={report} />
        </div>
      )}
    </Panel>
  );
}

function RunningTasks(): JSX.Element {
  const feed = useApp().pool.state<Report<'task.list'>>('task.list');
  return (
    <Panel title="Running now" feed={feed}>
      {({ items }) => {
        const active = items.filter(isActive);
        if (active.length === 0) return <Empty>No active tasks.</Empty>;
        return (
          <ul class="rows">
            {active.map((task) => (
              <li key={task.task_id}>
                <TaskRow task={task} />
              </li>
            ))}
          </ul>
        );
      }}
    </Panel>
  );
}

function TaskRow({ task }: { readonly task: Task }): JSX.Element {
  return (
    <>
      <div class="row-head">
        <TaskLink task={task} /> <TaskBadge status={task.status} />
        <CancelButton task={task} />
      </div>
      <TaskProgress task={task} />
    </>
  );
}

function Doctor(): JSX.Element {
  const feed = useApp().pool.state<Report<'daemon.doctor'>>('daemon.doctor');
  return (
    <Panel title="Doctor" feed={feed} tools={<a href="#/diagnostics">All checks</a>}>
      {({ checks }) => {
        const troubled = checks.filter(({ status }) => status !== 'ok');
        return (
          <>
            <p>{`${checks.length - troubled.length} of ${checks.length} checks are ok.`}</p>
            {troubled.length === 0 ? null : (
              <ul class="rows">
                {troubled.map(({ id, status, message }) => (
                  <li key={id}>
                    <Badge tone={status === 'failing' ? 'bad' : 'warn'}>{words(status)}</Badge>{' '}
                    <code>{id}</code> <span>{message}</span>
                  </li>
                ))}
              </ul>
            )}
          </>
        );
      }}
    </Panel>
  );
}

function NextRuns(): JSX.Element {
  const feed = useApp().pool.state<Report<'schedule.list'>>('schedule.list');
  return (
    <Panel title="Next runs" feed={feed} tools={<a href="#/schedules">Schedules</a>}>
      {({ items }) => {
        const due = items
          .filter(
            ({ enabled, replaced_by: other, next_run_unix_seconds: next }) =>
              enabled && other === null && next !== null,
          )
          .sort((left, right) => Number(left.next_run_unix_seconds) - Number(right.next_run_unix_seconds))
          .slice(0, NEXT_RUNS);
        if (due.length === 0) return <Empty>No scheduled runs.</Empty>;
        return (
          <ul class="rows">
            {due.map(({ id, action, next_run_unix_seconds: next }) => (
              <li key={id}>
                <code>{id}</code> <span>{action}</span> <Time at={Number(next)} />
              </li>
            ))}
          </ul>
        );
      }}
    </Panel>
  );
}

const CHECK_SIGNS = { good: '✓', bad: '✕', quiet: '–' } as const;

function Checks(): JSX.Element {
  return (
    <Panel title="Checks of the verdict" feed={verdictState(useApp())}>
      {({ readiness }) => (
        <ul class="checks">
          {(readiness.checks ?? []).map(({ name, ok, message, reason }) => {
            const tone = ok === null ? 'quiet' : ok ? 'good' : 'bad';
            return (
              <li class={tone} key={name}>
                <span class="sign" aria-hidden="true">
                  {CHECK_SIGNS[tone]}
                </span>
                {words(name)}
                {ok === false ? (
                  `: ${message ?? 'failed'} (${reason ?? 'no reason given'})`
                ) : (
                  <span class="unseen">{ok ? ': ok' : ': not evaluated'}</span>
                )}
              </li>
            );
          })}
        </ul>
      )}
    </Panel>
  );
}
