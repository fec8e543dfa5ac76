import { ApiFailure } from '../../../../src/console/api/api-client.ts';
import { EMPTY_FEED } from '../../../../src/console/api/live-feed.ts';
import type { Task } from '../../../../src/console/api/wire.ts';
import { LogLines } from '../../../../src/console/components/log-lines.tsx';
import { Panel } from '../../../../src/console/components/panel.tsx';
import { Table } from '../../../../src/console/components/table.tsx';
import {
  TaskBadge,
  TaskFailure,
  TaskLink,
  TaskProgress,
} from '../../../../src/console/components/task-parts.tsx';
import { Facts, Time } from '../../../../src/console/components/text.tsx';
import { useApp } from '../../../../src/console/state/app.ts';
import type { ComponentSample } from './sample.ts';

/** A panel with data, and one whose report failed and has old data. */
export const panelSample: ComponentSample = {
  title: 'Panel',
  Body: () => {
    const now = useApp().localNow();
    const failure = new ApiFailure('The server does not answer.');
    const old = { value: 3, failure, loadedAt: now - 12_000, nextAt: now + 5000 };
    return (
      <div class="columns">
        <Panel title="With data" feed={{ ...EMPTY_FEED, value: 3, loadedAt: now }} tools="Tools">
          {(files) => <Facts rows={[['Files', files]]} />}
        </Panel>
        <Panel title="After a failure" feed={old}>
          {(files) => <Facts rows={[['Files', files]]} />}
        </Panel>
      </div>
    );
  },
};

const TASKS = [
  { task_id: 'sample-1', kind: 'sync', status: 'running', done: 1_288_490_188, code: null },
  { task_id: 'sample-2', kind: 'verify', status: 'failed', done: null, code: 'integrity_failed' },
  { task_id: 'sample-3', kind: 'release-cleanup', status: 'succeeded', done: null, code: null },
] as const;

/** A plain table with the parts that show tasks; on a narrow screen its rows have two lines. */
export const taskSample: ComponentSample = {
  title: 'Table and tasks',
  Body: () => {
    const now = useApp().now();
    return (
      <Table
        caption="Sample tasks"
        rows={TASKS}
        keyOf={({ task_id: id }) => id}
        columns={[
          {
            head: 'Task',
            cell: (task) => <TaskLink task={{ ...task, args: {}, result: null } as unknown as Task} />,
          },
          { head: 'Status', narrow: 'aside', cell: ({ status }) => <TaskBadge status={status} /> },
          {
            head: 'Outcome',
            class: 'wide',
            cell: ({ kind, done, code }) => {
              if (done === null)
                return code === null ? (
                  '–'
                ) : (
                  <TaskFailure task={{ failure_code: code, failure_reason: '1 file is damaged' } as Task} />
                );
              const progress = { phase: 'download', done, total: 6_871_947_673, unit: 'bytes' as const };
              return <TaskProgress task={{ kind, progress } as Task} />;
            },
          },
          { head: 'Requested', cell: () => <Time at={now - 90} /> },
          { head: 'Took', narrow: 'none', cell: () => '12 s' },
        ]}
      />
    );
  },
};

/** The lines of a log in every level. */
export const logSample: ComponentSample = {
  title: 'Log',
  Body: () => {
    const at = useApp().now();
    return (
      <LogLines
        label="Lines of the sample"
        lines={(['debug', 'info', 'warn', 'error', 'fatal'] as const).map((level, seq) => ({
          ts: at - 60 + seq,
          seq,
          level,
          msg: `a line of the level ${level}`,
          ...(level === 'info' ? { fields: { entries: 8123 }, task_id: 'sample-1' } : {}),
        }))}
      />
    );
  },
};
