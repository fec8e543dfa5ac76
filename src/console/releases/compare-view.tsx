import type { ReleaseRow } from '../api/wire.ts';
import { Button, Select } from '../components/controls.tsx';
import { Panel } from '../components/panel.tsx';
import { useApp } from '../state/app.ts';
import { reportFeed, reportState } from '../state/read-report.ts';
import type { View } from '../state/view.ts';
import { words } from '../text/format.ts';
import { Difference } from './difference-panel.tsx';
import { servingOf, type ReleaseStatus } from './release-facts.ts';

export const compareView: View = {
  feeds: (app) => [reportFeed(app, 'release.status'), reportFeed(app, 'release.list')],
  Body: Compare,
};

function Compare() {
  const app = useApp();
  const feed = reportState(app, 'release.list');
  const status = app.pool.state<ReleaseStatus>('release.status').value;
  return (
    <>
      <p>
        <a href="#/releases">← All releases</a>
      </p>
      <Panel title="Difference of two releases" feed={feed}>
        {({ releases }) => <Pair rows={releases} status={status} />}
      </Panel>
    </>
  );
}

function Pair({ rows, status }: { rows: readonly ReleaseRow[]; status: ReleaseStatus | null }) {
  const app = useApp();
  const [left, right] = [app.query('left'), app.query('right')];
  const found = [left, right].map((id) => rows.find((row) => row.release_id === id));
  const [first, second] = found;
  return (
    <>
      <div class="filter-bar compare-pair">
        <Side name="left" label="Before" rows={rows} status={status} />
        <Side name="right" label="After" rows={rows} status={status} />
        <Button onClick={() => app.setQuery({ left: right, right: left })}>Swap</Button>
      </div>
      {first === undefined || second === undefined ? (
        <p class="empty">
          {[left, right].some((id, index) => id !== '' && found[index] === undefined)
            ? 'No release has the id that the address names. Choose two releases.'
            : 'Choose two releases.'}
        </p>
      ) : (
        <>
          <TextDifference left={first} right={second} />
          <Difference left={first} right={second} status={status} />
        </>
      )}
    </>
  );
}

/** The files below say nothing about lines; another page does. */
function TextDifference({ left, right }: { left: ReleaseRow; right: ReleaseRow }) {
  if (left.channel !== right.channel) return null;
  return left.channel === 'localized' ? (
    <p>
      <a href="#/publish">Which lines readers see change</a>: a dry run of a publication, or the preview of a
      rollback, shows them.
    </p>
  ) : (
    <p>
      <a href="#/translate?unit_state=stale">Translated lines whose source has changed</a> in the current
      release.
    </p>
  );
}

function Side({
  name,
  label,
  rows,
  status,
}: {
  readonly name: 'left' | 'right';
  readonly label: string;
  readonly rows: readonly ReleaseRow[];
  readonly status: ReleaseStatus | null;
}) {
  const app = useApp();
  const chosen = app.query(name);
  const served = rows.filter(
    (row) => row.release_id === chosen || (servingOf(row, status) ?? 'none') !== 'none',
  );
  return (
    <Select
      label={label}
      value={chosen}
      options={[
        ['', 'Choose …'],
        ...served.map(({ release_id: id, channel }) => [id, `${id} (${words(channel)})`] as const),
      ]}
      onChange={(id) => app.setQuery({ [name]: id })}
    />
  );
}
