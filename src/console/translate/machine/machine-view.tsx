import type { FeedRequest } from '../../api/feed-pool.ts';
import { endedAs } from '../../../domain/translation/run-brief.ts';
import type { Task } from '../../api/wire.ts';
import { Panel } from '../../components/panel.tsx';
import { NOTHING, Table } from '../../components/table.tsx';
import { TaskBadge, TaskFailure, TaskLink, TaskProgress } from '../../components/task-parts.tsx';
import { Empty, Time } from '../../components/text.tsx';
import { useApp, type App } from '../../state/app.ts';
import { reportFeed, reportState } from '../../state/read-report.ts';
import { isActive, taskFeed, taskListFeed } from '../../state/tasks.ts';
import type { View } from '../../state/view.ts';
import { OwnChannel } from '../own-channel.tsx';
import { doneText, isRun, reportOf, usageText } from './machine-words.ts';
import { ProvidersPanel } from './providers-panel.tsx';
import { RunPanel } from './run-panel.tsx';

export const machineView: View = {
  feeds,
  Body: () => (
    <OwnChannel>
      <ProvidersPanel />
      <RunPanel />
      <History />
    </OwnChannel>
  ),
};

function feeds(app: App): readonly FeedRequest[] {
  const runs = ['try', 'estimate', 'run'].map((name) => app.query(name)).filter((id) => id !== '');
  return [
    reportFeed(app, 'translation.status', { everyMs: 3000 }),
    taskListFeed(app),
    ...[...new Set(runs)].map((id) => taskFeed(app, id)),
  ];
}

function History() {
  const app = useApp();
  return (
    <Panel title="Runs, newest first" feed={reportState(app, 'task.list')}>
      {({ items }) => {
        const runs = items.filter(isRun);
        return runs.length === 0 ? (
          <Empty>No runs yet. Those of schedules and of the command line are listed here, too.</Empty>
        ) : (
          <Table
            caption="Runs, newest first"
            rows={runs}
            keyOf={({ task_id: id }) => id}
            columns={[
              { head: 'Run', cell: (task) => <TaskLink task={task} /> },
              { head: 'Status', narrow: 'aside', cell: (task) => <TaskBadge status={endedAs(task)} /> },
              { head: 'Outcome', class: 'wide', cell: (task) => <RunOutcome task={task} /> },
              { head: 'Used', cell: usedOf },
              { head: 'Requested', class: 'whole', cell: (task) => <Time at={task.created_at} /> },
            ]}
          />
        );
      }}
    </Panel>
  );
}

function usedOf(task: Task): string {
  return isActive(task) || task.result === null ? NOTHING : usageText(reportOf(task));
}

function RunOutcome({ task }: { task: Task }) {
  if (isActive(task)) return <TaskProgress task={task} />;
  const { provider } = reportOf(task);
  return (
    <>
      {typeof provider === 'string' ? <span class="muted">{`${provider}: `}</span> : null}
      {doneText(task)} <TaskFailure task={task} />
    </>
  );
}
