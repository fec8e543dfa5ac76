import type { JSX } from 'preact';
import type { ReleaseRow, Report } from '../api/wire.ts';
import { ActionButton, Select } from '../components/controls.tsx';
import { Panel } from '../components/panel.tsx';
import { Table } from '../components/table.tsx';
import { Badge, Empty, Time, type Tone } from '../components/text.tsx';
import { useApp } from '../state/app.ts';
import { reportFeed } from '../state/report-feed.ts';
import type { View } from '../state/view.ts';
import { bytes, count, words } from '../text/format.ts';

const CHANNELS = [
  ['', 'All'],
  ['official', 'Official'],
  ['localized', 'Localized'],
] as const;

const STATE_TONES: Readonly<Partial<Record<ReleaseRow['state'], Tone>>> = {
  current: 'good',
  staging: 'busy',
  building: 'busy',
  damaged: 'bad',
  failed: 'bad',
};

/** Every release that the daemon knows, and what is damaged in the current ones. */
export const releasesView: View = {
  feeds: (app) => [reportFeed(app, 'release.status'), reportFeed(app, 'release.list')],
  Body: () => (
    <>
      <Damage />
      <History />
    </>
  ),
};

function Damage(): JSX.Element {
  const { value } = useApp().pool.state<Report<'release.status'>>('release.status');
  const damaged = [value?.official ?? null, value?.localized ?? null]
    .filter((release) => release !== null)
    .filter(({ damaged_count: some }) => some > 0);
  return (
    <>
      {damaged.map(({ release_id: id, damaged: destinations, damaged_count: total }) => (
        <div class="note bad" key={id}>
          <p>
            <strong>{`${count(total)} damaged in ${id}. `}</strong>A repair fetches or rebuilds them.
          </p>
          <ul>
            {destinations.map((destination) => (
              <li key={destination}>
                <code>{destination}</code>
              </li>
            ))}
          </ul>
          <ActionButton request={{ action: 'repair', initial: { args: `release_id=${id}` } }}>
            Repair
          </ActionButton>
        </div>
      ))}
    </>
  );
}

function History(): JSX.Element {
  const app = useApp();
  const feed = app.pool.state<Report<'release.list'>>('release.list');
  const { releaseChannel } = app.settings;
  const tools = (
    <>
      <Select
        label="Channel"
        value={releaseChannel}
        options={CHANNELS}
        onChange={(value) => app.set({ releaseChannel: value })}
      />
      <ActionButton request={{ action: 'release-cleanup' }}>Clean up …</ActionButton>
    </>
  );
  return (
    <Panel title="History" feed={feed} tools={tools}>
      {({ releases }) => {
        const rows = releases.filter(({ channel }) => releaseChannel === '' || channel === releaseChannel);
        if (rows.length === 0) return <Empty>No release yet. A sync fetches the first one.</Empty>;
        return <ReleaseTable rows={rows} />;
      }}
    </Panel>
  );
}

function ReleaseTable({ rows }: { readonly rows: readonly ReleaseRow[] }): JSX.Element {
  return (
    <Table
      caption="Releases, newest first"
      rows={rows}
      keyOf={({ channel, release_id: id }) => `${channel}/${id}`}
      columns={[
        { head: 'Release', cell: (row) => <code>{row.release_id}</code> },
        { head: 'Channel', cell: (row) => words(row.channel) },
        {
          head: 'State',
          cell: (row) => <Badge tone={STATE_TONES[row.state] ?? 'quiet'}>{words(row.state)}</Badge>,
        },
        { head: 'Published', cell: (row) => <Time at={row.published_at} otherwise="never" /> },
        {
          head: 'Entries',
          class: 'number',
          cell: ({ manifest }) => (manifest === null ? '–' : count(manifest.entry_count)),
        },
        {
          head: 'Size',
          class: 'number',
          cell: ({ manifest }) => (manifest === null ? '–' : bytes(manifest.total_bytes)),
        },
        { head: 'Integrity', cell: artifactIntegrity },
        { head: 'Actions', class: 'tools', cell: rowActions },
      ]}
    />
  );
}

function artifactIntegrity({ artifact_integrity: { checked_at: at, ok, damaged } }: ReleaseRow): JSX.Element {
  if (at === null) return <Badge tone="quiet">Not verified</Badge>;
  return (
    <>
      {ok ? <Badge tone="good">Whole</Badge> : <Badge tone="bad">{`${count(damaged)} damaged`}</Badge>}{' '}
      <Time at={at} />
    </>
  );
}

function rowActions({ release_id: id, channel, state }: ReleaseRow): JSX.Element {
  const args = `channel=${channel}\nrelease_id=${id}`;
  const canReturn = channel === 'localized' && state !== 'current' && state !== 'deleted';
  return (
    <>
      {state === 'deleted' ? null : (
        <ActionButton request={{ action: 'verify', initial: { args } }} about={id}>
          Verify
        </ActionButton>
      )}
      {canReturn ? (
        <ActionButton
          request={{ action: 'localized-rollback', fixed: { localized_release_id: id } }}
          about={id}
        >
          Roll back to this release
        </ActionButton>
      ) : null}
    </>
  );
}
