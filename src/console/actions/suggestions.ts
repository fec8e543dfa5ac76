/** Suggested values for the fields of a form, from the reports that are already loaded. */

import type { Report } from '../api/wire.ts';
import type { App } from '../state/app.ts';
import { isActive } from '../state/tasks.ts';

/**
 * @param action whose form it is
 * @param field its name
 */
export function suggestionsFor(app: App, action: string, field: string): readonly string[] {
  switch (field) {
    case 'task_id':
      return action === 'task-cancel'
        ? (app.pool.state<Report<'task.list'>>('task.list').value?.items ?? [])
            .filter(isActive)
            .map(({ task_id: id }) => id)
        : [];
    case 'id':
      return action.startsWith('schedule-')
        ? (app.pool.state<Report<'schedule.list'>>('schedule.list').value?.items ?? []).map(({ id }) => id)
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

function releaseIds(app: App, channel: 'official' | 'localized'): readonly string[] {
  const report = app.pool.state<Report<'release.list'>>('release.list').value;
  return (report?.releases ?? [])
    .filter((release) => release.channel === channel)
    .map(({ release_id: id }) => id);
}
