import type { FeedRequest } from '../../api/feed-pool.ts';
import type { Report } from '../../api/wire.ts';
import { Button, Select } from '../../components/controls.tsx';
import { isNarrow } from '../../components/narrow.ts';
import { Panel } from '../../components/panel.tsx';
import { EmptyState, Time } from '../../components/text.tsx';
import { useApp, type App } from '../../state/app.ts';
import { reportFeed } from '../../state/read-report.ts';
import type { View } from '../../state/view.ts';
import { counted, count } from '../../text/format.ts';
import { PersonField } from '../editor/task-head.tsx';
import type { TranslationTask } from '../editor/unit.ts';
import { UnitLink } from '../unit-link.tsx';
import { WaitingList } from './waiting-list.tsx';

export const reviewView: View = {
  feeds: (app) => [tasksFeedOf(app), ...chosenFeedOf(app), handoffFeedOf(app), publishedFeedOf(app)],
  Body: ReviewBody,
};

const EVERY_MS = 15_000;
const TASK_LIMIT = '200';

const STATUSES = [
  ['translated', 'Submitted'],
  ['in_progress', 'In progress'],
  ['blocked', 'Blocked'],
  ['proofread', 'Proofread'],
  ['published', 'Published'],
] as const;

const PUBLISHED = { status: 'published', unit_state: 'draft,translated' };
const WAITS = 'review-waits';

function statusOf(app: App): string {
  const wanted = app.query('status');
  return STATUSES.some(([status]) => status === wanted) ? wanted : 'translated';
}

function tasksKey(app: App): string {
  return `review-tasks:${statusOf(app)}`;
}

function tasksFeedOf(app: App): FeedRequest {
  const status = statusOf(app);
  const query = { ...(status === PUBLISHED.status ? PUBLISHED : { status }), limit: TASK_LIMIT };
  return reportFeed(app, 'translation.tasks', { key: tasksKey(app), query, everyMs: EVERY_MS });
}

function chosenFeedOf(app: App): readonly FeedRequest[] {
  const id = app.query('task');
  if (id === '') return [];
  const key = `review-task:${id}`;
  return [reportFeed(app, 'translation.tasks', { key, query: { task_id: id }, everyMs: EVERY_MS })];
}

function handoffFeedOf(app: App): FeedRequest {
  return reportFeed(app, 'translation.handoff', { key: 'review-handoff', everyMs: EVERY_MS });
}

function publishedFeedOf(app: App): FeedRequest {
  const query = { ...PUBLISHED, limit: '1' };
  return reportFeed(app, 'translation.tasks', { key: WAITS, query, everyMs: EVERY_MS });
}

function ReviewBody() {
  const app = useApp();
  const tasks = app.pool.state<Report<'translation.tasks'>>(tasksKey(app));
  const isPhone = isNarrow();
  const asked = app.query('task');
  // A wide page opens the first task automatically; a narrow one has room for the list or the task.
  const first = asked === '' && !isPhone ? tasks.value?.items[0] : undefined;
  const chosen = first?.task_id ?? asked;
  const task = first ?? app.pool.state<Report<'translation.tasks'>>(`review-task:${chosen}`).value?.items[0];
  if (isPhone && chosen !== '') {
    return (
      <div class="review full-width">
        <Button class="plain" onClick={() => app.setQuery({ task: null })}>
          ‹ All tasks
        </Button>
        <ChosenTask task={task} chosen={chosen} />
      </div>
    );
  }
  return (
    <div class="review full-width">
      <div class="review-side">
        <Panel
          title="Tasks"
          feed={tasks}
          tools={
            <Select
              label="Status"
              value={statusOf(app)}
              options={STATUSES}
              onChange={(status) => app.setQuery({ status: status === 'translated' ? null : status })}
            />
          }
        >
          {({ items, total }) => <TaskList tasks={items} total={total} chosen={chosen} />}
        </Panel>
        <Panel title="On hold" feed={app.pool.state<Report<'translation.handoff'>>('review-handoff')}>
          {({ releases }) => <HeldList release={releases[0]} />}
        </Panel>
        {app.mayRun('translation-proofread') ? (
          <>
            <PersonField />
            <p class="muted">
              Your reviews are recorded under this name; without one, under the name of your token.
            </p>
          </>
        ) : null}
      </div>
      {isPhone ? null : <ChosenTask task={task} chosen={chosen} />}
    </div>
  );
}

function ChosenTask({ task, chosen }: { task: TranslationTask | undefined; chosen: string }) {
  if (task !== undefined) return <WaitingList task={task} key={task.task_id} />;
  return (
    <EmptyState title={chosen === '' ? 'No task is chosen' : 'Loading the task …'}>
      Its units that wait for a review are shown here, each with what it was before.
    </EmptyState>
  );
}

function TaskList({
  tasks,
  total,
  chosen,
}: {
  readonly tasks: readonly TranslationTask[];
  readonly total: number;
  readonly chosen: string;
}) {
  const app = useApp();
  const published =
    statusOf(app) === PUBLISHED.status
      ? 0
      : (app.pool.state<Report<'translation.tasks'>>(WAITS).value?.total ?? 0);
  const waits =
    published === 0 ? null : (
      <p>
        <a href="#/review?status=published">{counted(published, 'published task')}</a> with units that nobody
        has proofread.
      </p>
    );
  if (tasks.length === 0) {
    return (
      <>
        <EmptyState title="No task to review here">
          Translators hand tasks in when every unit has a target. Choose another status to see other tasks.
        </EmptyState>
        {waits}
      </>
    );
  }
  return (
    <>
      {waits}
      <ul class="review-tasks">
        {tasks.map(({ task_id: id, destination, archive_entry: entry, unit_counts: counts }) => (
          <li key={id}>
            <button
              type="button"
              class="plain"
              aria-pressed={id === chosen}
              onClick={() => app.setQuery({ task: id })}
            >
              <bdi class="clip">{entry === null ? destination : `${destination} › ${entry}`}</bdi>
              <span class="muted">
                {count(counts['translated'] ?? 0)} submitted, {counted(counts['draft'] ?? 0, 'draft')},{' '}
                {count(counts['proofread'] ?? 0)} proofread
              </span>
            </button>
          </li>
        ))}
      </ul>
      {total > tasks.length ? (
        <p class="muted">
          The first {count(tasks.length)} of {count(total)}. <a href="#/translate">The queue</a> finds the
          others.
        </p>
      ) : null}
    </>
  );
}

type HandoffRelease = Report<'translation.handoff'>['releases'][number];

function HeldList({ release }: { release: HandoffRelease | undefined }) {
  const held = release?.held ?? [];
  if (release === undefined || held.length === 0)
    return <p class="empty">No unit is on hold. A rollback or a reviewer puts units on hold.</p>;
  return (
    <>
      <ul class="rows">
        {held.map((unit) => (
          <li key={unit.unit_id}>
            <UnitLink unit={unit} mode="review" />
            {unit.reason === null ? null : (
              <p>
                “<bdi>{unit.reason}</bdi>”
              </p>
            )}
            <p class="muted">
              <bdi>{unit.reviewer ?? 'A rollback'}</bdi>, <Time at={unit.since} />
            </p>
          </li>
        ))}
      </ul>
      {release.held_total > held.length ? (
        <p class="muted">
          The first {count(held.length)} of {count(release.held_total)}.
        </p>
      ) : null}
    </>
  );
}
