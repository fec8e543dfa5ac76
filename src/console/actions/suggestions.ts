/** Suggested values for the fields of a form, from the reports that are already loaded. */

import { isActive } from './task-parts.js';

/** @import { App } from './app.js' */
/** @import { Report } from './wire.d.ts' */

/**
 * @param {App} app
 * @param {string} action
 * @param {string} field its name
 * @returns {readonly string[]}
 */
export function suggestionsFor(app, action, field) {
  switch (field) {
    case 'task_id':
      return action === 'task-cancel'
        ? (tasks(app)?.items ?? []).filter(isActive).map(({ task_id: id }) => id)
        : [];
    case 'id':
      return action.startsWith('schedule-')
        ? (schedules(app)?.items ?? []).map(({ id }) => id)
        : releaseIds(app, 'official');
    case 'localized_release_id':
      return releaseIds(app, 'localized');
    case 'group':
      return ['res', 'parse', 'i18n'];
    case 'action':
      return Object.entries(app.contract.actions)
        .filter(([, { mode }]) => mode === 'queued')
        .map(([name]) => name);
    default:
      return [];
  }
}

/**
 * @param {App} app
 * @returns {Report<'task.list'> | null}
 */
function tasks(app) {
  return app.pool.state('task.list').value;
}

/**
 * @param {App} app
 * @returns {Report<'schedule.list'> | null}
 */
function schedules(app) {
  return app.pool.state('schedule.list').value;
}

/**
 * @param {App} app
 * @param {'official' | 'localized'} channel
 */
function releaseIds(app, channel) {
  /** @type {Report<'release.list'> | null} */
  const report = app.pool.state('release.list').value;
  return (report?.releases ?? [])
    .filter((release) => release.channel === channel)
    .map(({ release_id: id }) => id);
}
