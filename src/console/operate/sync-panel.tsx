import type { JSX } from 'preact';
import type { FeedRequest } from '../api/feed-pool.ts';
import type { Report } from '../api/wire.ts';
import { ThroughputCurve } from '../charts/throughput-curve.tsx';
import { ActionButton } from '../components/controls.tsx';
import { Panel } from '../components/panel.tsx';
import { TaskProgress } from '../components/task-parts.tsx';
import { Badge, Time } from '../components/text.tsx';
import { useApp, type App } from '../state/app.ts';
import { readReport } from '../state/read-report.ts';
import { BUSY_MS, isActive } from '../state/tasks.ts';
import { currentVerdict } from '../state/verdict.ts';
import { taskAddress } from '../text/addresses.ts';
import { duration, sentences, words, textBytes } from '../text/format.ts';
import { mainPhase, samplesOf, speedText, type TaskStatus } from './task-steps.ts';

type ReleaseStatus = Report<'release.status'>;
type Sync = ReleaseStatus['sync'];

const KEY = 'overview.sync';

/** What can come before the next sync: an edge does not wait for it. */
export function earlierText({ origin }: ReleaseStatus): string {
  return origin === undefined ? '' : ', or when a poll of the origin finds a change';
}
const QUIET_MS = 5000;

/** The sync that runs, or else the one that ended last. Its id is known when the other reports are. */
export function syncFeed(app: App): FeedRequest {
  return {
    key: KEY,
    load: async (signal) => {
      const id = syncTaskId(app);
      return id === null ? null : await readReport(app, 'task.status', { task_id: id }, signal);
    },
    pauseAfter: (value) => {
      const report = value as TaskStatus | null;
      return report !== null && isActive(report.task) ? BUSY_MS : QUIET_MS;
    },
  };
}

function syncTaskId({ pool }: App): string | null {
  const tasks = pool.state<Report<'task.list'>>('task.list').value?.items ?? [];
  const running = tasks.find((task) => task.kind === 'sync' && task.status === 'running');
  return running?.task_id ?? pool.state<ReleaseStatus>('release.status').value?.sync.last?.task_id ?? null;
}

/** How fetching from upstream goes. */
export function SyncPanel(): JSX.Element {
  const app = useApp();
  const feed = app.pool.state<ReleaseStatus>('release.status');
  const status = app.pool.state<TaskStatus | null>(KEY).value;
  // Where a sync is the remedy, the incident has its button.
  const isRemedy = currentVerdict(app).action === 'sync';
  const tools = isRemedy ? null : <ActionButton request={{ action: 'sync' }}>Sync now</ActionButton>;
  return (
    <Panel title="Sync" feed={feed} tools={tools} report="release.status">
      {(releases) => (
        <>
          {status !== null && isActive(status.task) ? <RunningSync status={status} /> : null}
          <LastSync sync={releases.sync} status={status} />
          {status === null ? null : <Curve status={status} />}
          <p class="muted">
            Next <Time at={releases.sync.next_at} otherwise="none is planned" />
            {earlierText(releases)}
          </p>
        </>
      )}
    </Panel>
  );
}

function RunningSync({ status: { task } }: { status: TaskStatus }) {
  return (
    <div>
      <p>
        <a href={taskAddress(task.task_id)}>A sync runs</a> <Badge tone="info">{words(task.status)}</Badge>
      </p>
      <TaskProgress task={task} />
    </div>
  );
}

function LastSync({ sync, status }: { sync: Sync; status: TaskStatus | null }) {
  const app = useApp();
  const { last, consecutive_failures: failures } = sync;
  if (last === null) return <p>No sync has ended yet.</p>;
  const word = words(last.result ?? last.status);
  const tone = last.status === 'failed' ? 'bad' : last.status === 'cancelled' ? 'idle' : 'ok';
  const took = status !== null && status.task.task_id === last.task_id ? tookText(status) : null;
  return (
    <>
      <p>
        <a href={taskAddress(last.task_id)}>Last sync</a>{' '}
        <Badge tone={tone}>{failures > 1 ? `${word}, ${failures} in a row` : word}</Badge>{' '}
        <Time at={last.finished_at} />
        {took === null ? null : <span class="muted">{` ${took}`}</span>}
      </p>
      {last.message === null ? null : <p title={last.code ?? ''}>{sentences(last.message, app.now())}</p>}
    </>
  );
}

function tookText({ task, course }: TaskStatus): string | null {
  if (task.started_at === null || task.finished_at === null) return null;
  const fetched = course.find(({ unit }) => unit === 'bytes')?.samples.at(-1)?.done;
  const time = `in ${duration(task.finished_at - task.started_at)}`;
  return fetched === undefined ? time : `${textBytes(fetched)} ${time}`;
}

function Curve({ status: { course } }: { status: TaskStatus }) {
  const phase = course.findLast(({ unit }) => unit === 'bytes') ?? mainPhase(course);
  if (phase === null) return null;
  return (
    <ThroughputCurve
      label={`Speed of the ${phase.phase}`}
      samples={samplesOf(phase)}
      format={(rate) => speedText(rate, phase.unit)}
    />
  );
}
