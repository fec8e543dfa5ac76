import { useRef } from 'preact/hooks';
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
import { containerQuery, type TranslationTask } from '../editor/unit.ts';
import { UnitLink } from '../unit-link.tsx';
import type { ReviewScope, WaitingFiles } from './review-model.ts';
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
  if (id === '' || id === ALL || id === HELD) return [];
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
  // It stays open while it is in the list, also when another one comes before it.
  const opened = useRef<string | null>(null);
  const items = asked === '' && !isPhone ? (tasks.value?.items ?? []) : [];
  const first = items.find(({ task_id: id }) => id === opened.current) ?? items[0];
  opened.current = first?.task_id ?? null;
  const chosen = first?.task_id ?? asked;
  const task = first ?? app.pool.state<Report<'translation.tasks'>>(`review-task:${chosen}`).value?.items[0];
  const handoff = app.pool.state<Report<'translation.handoff'>>('review-handoff');
  const files = filesOf(chosen, task, tasks.value?.items, handoff.value?.releases[0]);
  if (isPhone && chosen !== '') {
    return (
      <div class="review full-width">
        <Button class="plain" onClick={() => app.setQuery({ task: null })}>
          ‹ All tasks
        </Button>
        <ChosenTask files={files} chosen={chosen} status={statusOf(app)} />
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
        <Panel title="On hold" feed={handoff}>
          {({ releases }) => <HeldList release={releases[0]} />}
        </Panel>
      </div>
      {isPhone ? null : <ChosenTask files={files} chosen={chosen} status={statusOf(app)} />}
    </div>
  );
}

/** All tasks of the list, and all units on hold, in the place of the id of a task. */
const ALL = 'all';
const HELD = 'held';

function filesOf(
  chosen: string,
  task: TranslationTask | undefined,
  tasks: readonly TranslationTask[] | undefined,
  release: HandoffRelease | undefined,
): WaitingFiles | null {
  if (chosen === HELD) {
    const names = [...new Set((release?.held ?? []).map(({ destination }) => destination))];
    if (release === undefined) return null;
    const containers = names.map((destination) => ({ destination }));
    return { title: 'Units on hold', containers, key: `${HELD} ${names.join('\n')}`, scope: 'held' };
  }
  if (chosen === ALL) {
    if (tasks === undefined) return null;
    const key = tasks.map(({ task_id: id }) => id).join(' ');
    const title = `All ${counted(tasks.length, 'file')}`;
    return { title, containers: tasks.map(containerQuery), key, scope: scopeOfTasks(tasks) };
  }
  if (task === undefined) return null;
  const { destination: title, task_id: key } = task;
  return { title, containers: [containerQuery(task)], key, scope: scopeOfTasks([task]) };
}

/** Machines hand in drafts, so that a task of theirs has nothing else to review. */
function scopeOfTasks(tasks: readonly TranslationTask[]): ReviewScope {
  const isOfDrafts = tasks.some(
    ({ unit_counts: { translated = 0, draft = 0 } }) => translated === 0 && draft > 0,
  );
  return isOfDrafts ? 'drafts' : 'translated';
}

function ChosenTask({
  files,
  chosen,
  status,
}: {
  readonly files: WaitingFiles | null;
  readonly chosen: string;
  readonly status: string;
}) {
  // All files of another status are another list.
  if (files !== null) return <WaitingList files={files} key={chosen === ALL ? `${ALL} ${status}` : chosen} />;
  return (
    <EmptyState title={chosen === '' ? 'No task selected' : 'Loading the task …'}>
      {chosen === '' ? 'Select one to review its units beside their previous translations.' : null}
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
          Translators submit a task when all its units have a target. Choose another status to see other
          tasks.
        </EmptyState>
        {waits}
      </>
    );
  }
  return (
    <>
      {waits}
      {tasks.length < 2 ? null : (
        <p>
          <Button class="plain" onClick={() => app.setQuery({ task: ALL })}>
            {`Review all ${counted(tasks.length, 'file')} together`}
          </Button>
        </p>
      )}
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
              <span class="muted">{countsText(counts)}</span>
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

/** Such as `12 submitted, 3 drafts`. */
function countsText({ translated = 0, draft = 0, proofread = 0 }: TranslationTask['unit_counts']): string {
  return [
    translated === 0 ? null : `${count(translated)} submitted`,
    draft === 0 ? null : counted(draft, 'draft'),
    proofread === 0 ? null : `${count(proofread)} proofread`,
  ]
    .filter((part) => part !== null)
    .join(', ');
}

type HandoffRelease = Report<'translation.handoff'>['releases'][number];

function HeldList({ release }: { release: HandoffRelease | undefined }) {
  const app = useApp();
  const held = release?.held ?? [];
  if (release === undefined || held.length === 0)
    return <p class="empty">No unit is on hold. A rollback or a reviewer puts units on hold.</p>;
  return (
    <>
      <p>
        <Button onClick={() => app.setQuery({ task: HELD, scope: null })}>
          {release.held_total > held.length
            ? `Review the first ${count(held.length)} of ${count(release.held_total)} units on hold`
            : `Review all ${counted(held.length, 'unit')} on hold`}
        </Button>
      </p>
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
    </>
  );
}
