import type { Report } from '../api/wire.ts';
import { Button } from '../components/controls.tsx';
import { FilterBar } from '../components/filter-bar.tsx';
import { Panel } from '../components/panel.tsx';
import { EmptyState } from '../components/text.tsx';
import { VirtualTable } from '../components/virtual-table.tsx';
import { useApp, type App } from '../state/app.ts';
import { reportFeed } from '../state/read-report.ts';
import { useReportPages } from '../state/report-pages.ts';
import type { View } from '../state/view.ts';
import { editorAddress } from '../text/addresses.ts';
import { counted } from '../text/format.ts';
import { OwnChannel } from './own-channel.tsx';
import { FolderCoverage } from './queue/folder-table.tsx';
import { NeedsYou, REMARKS } from './queue/needs-you.tsx';
import { UndoPanel } from './queue/undo-panel.tsx';
import { QUEUE_COLUMNS } from './queue/queue-columns.tsx';
import { chosenFilters, HEAD, queueFilters, showsSuperseded } from './queue/queue-filters.ts';

const EVERY_MS = 15_000;
const NAMED_REMARKS = 3;

export const queueView: View = {
  feeds: (app) => [
    reportFeed(app, 'translation.status', { everyMs: EVERY_MS }),
    reportFeed(app, 'translation.handoff', { everyMs: EVERY_MS }),
    reportFeed(app, 'translation.tasks', headOf(app)),
    ...Object.entries(REMARKS).map(([filter, key]) =>
      reportFeed(app, 'translation.tasks', {
        key,
        query: { [filter]: 'true', limit: String(NAMED_REMARKS) },
        everyMs: EVERY_MS,
      }),
    ),
  ],
  Body: () => (
    <OwnChannel>
      <NeedsYou />
      <FolderCoverage />
      <Queue />
      <UndoPanel />
    </OwnChannel>
  ),
};

/** One row with the counts of all states, so that the choice of a state shows what the others have. */
function headOf(app: App): { key: string; query: Record<string, string>; everyMs: number } {
  const { status: _status, ...query } = chosenFilters(app);
  return { key: `${HEAD}${JSON.stringify(query)}`, query: { ...query, limit: '1' }, everyMs: EVERY_MS };
}

function Queue() {
  const app = useApp();
  const head = app.pool.state<Report<'translation.tasks'>>(headOf(app).key);
  const query = chosenFilters(app);
  const source = useReportPages(app, 'translation.tasks', { query, stamp: head.loadedAt });
  const feed = source.state.value;
  // The report lists the tasks that newer ones have replaced last.
  const superseded = showsSuperseded(app) ? 0 : (feed.value?.answer.counts['superseded'] ?? 0);
  const total = feed.value === null ? undefined : feed.value.total - superseded;
  return (
    <Panel title="Translation tasks" feed={feed}>
      {() => (
        <>
          <FilterBar
            label="Filter translation tasks"
            filters={queueFilters(app.contract, head.value?.counts ?? {})}
            {...(total === undefined ? {} : { count: counted(total, 'task') })}
          />
          {superseded === 0 ? null : (
            <p class="muted">
              {`${counted(superseded, 'superseded task is', 'superseded tasks are')} hidden. `}
              <Button class="plain" onClick={() => app.setQuery({ superseded: 'shown' })}>
                Show superseded tasks
              </Button>
            </p>
          )}
          {total === 0 ? (
            <NoTasks isFiltered={Object.keys(query).length > 0} />
          ) : (
            <VirtualTable
              // Another query is another list, which begins at its first row.
              key={JSON.stringify(query)}
              label="Translation tasks"
              columns={QUEUE_COLUMNS}
              count={total ?? 0}
              row={(index) => source.row(index)}
              keyOf={({ task_id: id }) => id}
              onOpen={({ task_id: id }) => app.navigate(editorAddress(id))}
              onRange={(first, last) => source.show(first, last)}
            />
          )}
        </>
      )}
    </Panel>
  );
}

function NoTasks({ isFiltered }: { isFiltered: boolean }) {
  return isFiltered ? (
    <EmptyState title="No task matches">Change the filters, or clear them.</EmptyState>
  ) : (
    <EmptyState title="No translation tasks yet">
      A parse of the official release makes them. It runs after every sync.
    </EmptyState>
  );
}
