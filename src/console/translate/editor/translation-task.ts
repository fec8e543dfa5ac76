import type { Report } from '../../api/wire.ts';
import type { App } from '../../state/app.ts';

/** A translation task. */
export type TranslationTask = Report<'translation.tasks'>['items'][number];

/** The key of the feed of the task that the editor shows. */
export function taskFeedKey(app: App): string {
  return `translation-task:${app.route.argument ?? ''}`;
}
