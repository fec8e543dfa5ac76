import { badge, code, empty, panel, select, table, time } from './elements.js';
import { bytes, count, words } from './format.js';
import { h } from './preact.js';
import { actionButton, reportFeed } from './view.js';

/** @import { App } from './app.js' */
/** @import { Tone } from './elements.js' */
/** @import { FeedState } from './live-feed.js' */
/** @import { View } from './view.js' */
/** @import { ReleaseRow, Report } from './wire.d.ts' */

const CHANNELS = /** @type {const} */ ([
  ['', 'All'],
  ['official', 'Official'],
  ['localized', 'Localized'],
]);

/** @type {Readonly<Partial<Record<ReleaseRow['state'], Tone>>>} */
const STATE_TONES = { current: 'good', staging: 'busy', building: 'busy', damaged: 'bad', failed: 'bad' };

/** @type {View} */
export const releasesView = {
  id: 'releases',
  title: 'Releases',
  feeds: (app) => [reportFeed(app, 'release.status'), reportFeed(app, 'release.list')],
  render: (app) => [damage(app), history(app)],
};

/** @param {App} app */
function damage(app) {
  /** @type {FeedState<Report<'release.status'>>} */
  const feed = app.pool.state('release.status');
  const releases = [feed.value?.official ?? null, feed.value?.localized ?? null];
  const damaged = releases
    .filter((release) => release !== null)
    .filter(({ damaged_count: some }) => some > 0);
  return damaged.map(({ release_id: id, damaged: destinations, damaged_count: total }) =>
    h(
      'div',
      { class: 'note bad', key: id },
      h(
        'p',
        null,
        h('strong', null, `${count(total)} damaged in ${id}. `),
        'A repair fetches or rebuilds them.',
      ),
      h(
        'ul',
        null,
        destinations.map((destination) => h('li', { key: destination }, code(destination))),
      ),
      actionButton(app, 'Repair', { action: 'repair', initial: { args: `release_id=${id}` } }),
    ),
  );
}

/** @param {App} app */
function history(app) {
  /** @type {FeedState<Report<'release.list'>>} */
  const feed = app.pool.state('release.list');
  const { releaseChannel } = app.settings;
  const tools = [
    select('Channel', releaseChannel, CHANNELS, (value) => app.set({ releaseChannel: value })),
    actionButton(app, 'Clean up …', { action: 'release-cleanup' }),
  ];
  return panel(app, { title: 'History', feed, tools }, ({ releases }) => {
    const rows = releases.filter(({ channel }) => releaseChannel === '' || channel === releaseChannel);
    if (rows.length === 0) return empty('No release yet. A sync fetches the first one.');
    return table({
      caption: 'Releases, newest first',
      rows,
      keyOf: ({ channel, release_id: id }) => `${channel}/${id}`,
      columns: [
        { head: 'Release', cell: (row) => code(row.release_id) },
        { head: 'Channel', cell: (row) => words(row.channel) },
        { head: 'State', cell: (row) => badge(STATE_TONES[row.state] ?? 'quiet', words(row.state)) },
        { head: 'Published', cell: (row) => time(app, row.published_at, 'never') },
        {
          head: 'Entries',
          class: 'number',
          cell: (row) => (row.manifest === null ? '–' : count(row.manifest.entry_count)),
        },
        {
          head: 'Size',
          class: 'number',
          cell: (row) => (row.manifest === null ? '–' : bytes(row.manifest.total_bytes)),
        },
        { head: 'Integrity', cell: (row) => artifactIntegrity(app, row) },
        { head: 'Actions', class: 'tools', cell: (row) => rowActions(app, row) },
      ],
    });
  });
}

/**
 * @param {App} app
 * @param {ReleaseRow} row
 */
function artifactIntegrity(app, { artifact_integrity: { checked_at: at, ok, damaged } }) {
  if (at === null) return badge('quiet', 'Not verified');
  return [ok ? badge('good', 'Whole') : badge('bad', `${count(damaged)} damaged`), ' ', time(app, at)];
}

/**
 * @param {App} app
 * @param {ReleaseRow} row
 */
function rowActions(app, { release_id: id, channel, state }) {
  const args = `channel=${channel}\nrelease_id=${id}`;
  const canReturn = channel === 'localized' && state !== 'current' && state !== 'deleted';
  return [
    state === 'deleted'
      ? null
      : actionButton(app, 'Verify', { action: 'verify', initial: { args } }, { about: id }),
    canReturn
      ? actionButton(
          app,
          'Roll back to this release',
          { action: 'localized-rollback', fixed: { localized_release_id: id } },
          { about: id },
        )
      : null,
  ];
}
