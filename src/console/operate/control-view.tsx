import { badge, code, empty, prose } from './elements.js';
import { words } from './format.js';
import { h } from './preact.js';
import { actionButton } from './view.js';

/** @import { App } from './app.js' */
/** @import { View } from './view.js' */
/** @import { AdminIndex } from './wire.d.ts' */

/** @typedef {AdminIndex['actions'][number]} IndexedAction */

/** By the beginning of the name; all other actions are about the daemon and its releases. */
const GROUPS = /** @type {const} */ ([
  ['Schedules', 'schedule-'],
  ['Tasks', 'task-'],
  ['Translation', 'translation-'],
  ['Localized releases', 'localized-'],
]);

/** @type {View} */
export const controlView = {
  id: 'control',
  title: 'Control',
  feeds: () => [],
  render: (app) => {
    const index = app.index();
    if (index === null) return empty('Loading …');
    const { actions } = index;
    if (!app.canControl()) {
      return empty([
        'This server does not forward control actions. Set ',
        code('admin.exposeControl'),
        ' in its configuration to allow them.',
      ]);
    }
    const isOther = (/** @type {IndexedAction} */ { action }) =>
      GROUPS.every(([, prefix]) => !action.startsWith(prefix));
    return [
      group(app, 'Releases and daemon', actions.filter(isOther)),
      GROUPS.map(([title, prefix]) =>
        group(
          app,
          title,
          actions.filter(({ action }) => action.startsWith(prefix)),
        ),
      ),
    ];
  },
};

/**
 * @param {App} app
 * @param {string} title
 * @param {readonly IndexedAction[]} actions
 */
export function group(app, title, actions) {
  return h(
    'section',
    { class: 'panel', key: title },
    h('h2', null, title),
    h(
      'ul',
      { class: 'cards' },
      actions.map(({ action, summary, mode, destructive }) =>
        h(
          'li',
          { class: 'card', key: action },
          h(
            'h3',
            null,
            words(action),
            destructive ? [' ', badge('warn', 'Destructive')] : null,
            mode === 'inline' ? null : [' ', badge('quiet', 'Runs as a task')],
          ),
          h('p', null, prose(summary)),
          actionButton(app, 'Run …', { action }, { about: action, class: destructive ? 'danger' : '' }),
        ),
      ),
    ),
  );
}
