import { UNDO_PROVIDER } from '../../../contract/actions/provider-names.ts';
import { isAuthor, type UndoChoice } from '../../../domain/translation/undo-decision.ts';
import type { ServiceUnit } from './service-pages.ts';

/** Whether the newest target of a unit may be one to take back. Its history decides. */
export function mayUndo({ translation }: ServiceUnit, { run, author, since }: UndoChoice): boolean {
  if (translation === null || translation.author === null) return false;
  if (since !== null && (translation.updated_at ?? 0) < since) return false;
  // Someone else has put the target back.
  if (translation.author.provider === UNDO_PROVIDER) return true;
  const isRun = run === null || translation.author.provider_run_id === run;
  return isRun && (author === null || isAuthor(translation.author, author));
}
