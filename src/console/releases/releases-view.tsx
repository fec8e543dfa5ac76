import { useState } from 'preact/hooks';
import { lastCurrentAt } from '../../domain/release/release-history.ts';
import type { ReleaseRow, Report } from '../api/wire.ts';
import { ActionButton, Button } from '../components/controls.tsx';
import { FilterBar, type Filter } from '../components/filter-bar.tsx';
import { Panel } from '../components/panel.tsx';
import { EmptyState } from '../components/text.tsx';
import { VirtualTable, type SortOrder } from '../components/virtual-table.tsx';
import { useApp } from '../state/app.ts';
import { reportFeed, reportState } from '../state/read-report.ts';
import { taskListFeed } from '../state/tasks.ts';
import type { View } from '../state/view.ts';
import { releaseAddress } from '../text/addresses.ts';
import { count, words } from '../text/format.ts';
import { releaseColumns } from './release-columns.tsx';
import type { ReleaseStatus } from './release-facts.ts';
import { ReleasePage } from './release-page.tsx';
import { compareHref, ReleaseButtons } from './release-parts.tsx';

export const releasesView: View = {
  feeds: (app) => [
    reportFeed(app, 'release.status'),
    reportFeed(app, 'release.list'),
    reportFeed(app, 'translation.status', { everyMs: 30_000 }),
    ...(app.route.argument === null ? [] : [taskListFeed(app)]),
  ],
  Body: () => {
    const id = useApp().route.argument;
    return id === null ? <Releases /> : <ReleasePage id={id} key={id} />;
  },
};

function Releases() {
  const app = useApp();
  const feed = reportState(app, 'release.list');
  const status = app.pool.state<ReleaseStatus>('release.status').value;
  const translation = reportState(app, 'translation.status').value;
  const tools = <ActionButton request={{ action: 'release-cleanup' }}>Clean up …</ActionButton>;
  return (
    <Panel title="Both channels" feed={feed} tools={tools}>
      {({ releases }) => <ReleaseList all={releases} status={status} translation={translation} />}
    </Panel>
  );
}

function ReleaseList({
  all,
  status,
  translation,
}: {
  readonly all: readonly ReleaseRow[];
  readonly status: ReleaseStatus | null;
  readonly translation: Report<'translation.status'> | null;
}) {
  const app = useApp();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [channel, state] = [app.query('channel'), app.query('state')];
  const sort = { by: app.query('sort') || 'published', isDescending: app.query('order') !== 'up' };
  const rows = sortReleases(
    all.filter((row) => (channel === '' || row.channel === channel) && (state === '' || row.state === state)),
    sort,
  );
  if (all.length === 0) {
    return (
      <EmptyState
        title="No release yet"
        actions={
          <ActionButton request={{ action: 'sync' }} class="primary">
            Sync
          </ActionButton>
        }
      >
        A sync fetches the first one from upstream.
      </EmptyState>
    );
  }
  const toggle = (row: ReleaseRow): void => {
    const next = new Set(selected);
    if (!next.delete(keyOf(row))) next.add(keyOf(row));
    setSelected(next);
  };
  return (
    <>
      <FilterBar
        label="Filter releases"
        count={`${count(rows.length)} of ${count(all.length)}`}
        filters={filtersOf(all)}
      />
      <ReleaseSelection
        rows={all.filter((row) => selected.has(keyOf(row)))}
        all={all}
        status={status}
        onClear={() => setSelected(new Set())}
      />
      {rows.length === 0 ? (
        <EmptyState title="No release matches">
          Choose another channel or state, or clear the filters.
        </EmptyState>
      ) : (
        <VirtualTable
          label="Releases"
          columns={releaseColumns(status, translation)}
          count={rows.length}
          row={(index) => rows[index]}
          keyOf={keyOf}
          selected={selected}
          onSelect={toggle}
          onOpen={({ release_id: id }) => app.navigate(releaseAddress(id))}
          sort={sort}
          onSort={(by) =>
            app.setQuery({ sort: by, order: sort.by === by && sort.isDescending ? 'up' : null })
          }
        />
      )}
    </>
  );
}

function keyOf({ channel, release_id: id }: ReleaseRow): string {
  return `${channel}/${id}`;
}

function filtersOf(all: readonly ReleaseRow[]): readonly Filter[] {
  const states = [...new Set(all.map(({ state }) => state))].sort();
  return [
    {
      kind: 'choice',
      name: 'channel',
      label: 'Channel',
      options: [
        ['official', 'Official'],
        ['localized', 'Localized'],
      ],
    },
    {
      kind: 'choice',
      name: 'state',
      label: 'State',
      options: states.map((state) => [state, words(state)] as const),
    },
  ];
}

/** The actions of the selected releases. It keeps its height, so that the table does not move. */
function ReleaseSelection({
  rows,
  all,
  status,
  onClear,
}: {
  readonly rows: readonly ReleaseRow[];
  readonly all: readonly ReleaseRow[];
  readonly status: ReleaseStatus | null;
  readonly onClear: () => void;
}) {
  const [first, second] = rows.toSorted((left, right) => left.created_at - right.created_at);
  return (
    <div class="selection" role="group" aria-label="Selected releases">
      {first === undefined ? (
        <span class="muted">Select a release for its actions, or two to compare them.</span>
      ) : null}
      {first !== undefined && rows.length === 1 ? (
        <>
          <strong>{first.release_id}</strong>
          <ReleaseButtons release={first} rows={all} status={status} />
        </>
      ) : null}
      {first !== undefined && second !== undefined && rows.length === 2 ? (
        <a class="button primary" href={compareHref(first.release_id, second.release_id)}>
          {`Compare ${first.release_id} with ${second.release_id}`}
        </a>
      ) : null}
      {rows.length > 2 ? <span>{`${rows.length} are selected. Two releases can be compared.`}</span> : null}
      {rows.length === 0 ? null : (
        <Button class="plain" onClick={onClear}>
          Clear
        </Button>
      )}
    </div>
  );
}

const VALUES: Readonly<Record<string, (row: ReleaseRow) => string | number>> = {
  release: ({ release_id: id }) => id,
  channel: ({ channel }) => channel,
  state: ({ state }) => state,
  published: lastCurrentAt,
  size: ({ manifest }) => manifest?.total_bytes ?? 0,
};

/** Sorts releases by a column; equal ones keep their order, newest first. */
export function sortReleases(
  rows: readonly ReleaseRow[],
  { by, isDescending }: SortOrder,
): readonly ReleaseRow[] {
  const valueOf = VALUES[by];
  if (valueOf === undefined) return rows;
  const sign = isDescending ? -1 : 1;
  return rows.toSorted((left, right) => {
    const [a, b] = [valueOf(left), valueOf(right)];
    if (a === b) return 0;
    return a < b ? -sign : sign;
  });
}
