import type { Report } from '../../api/wire.ts';

/** A translation task. */
export type TranslationTask = Report<'translation.tasks'>['items'][number];
