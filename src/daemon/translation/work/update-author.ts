import { FILE_PROVIDER, UNDO_PROVIDER } from '../../../contract/actions/provider-names.ts';
import type { AuthorKind } from './target-rows.ts';
import type { TaskUpdate } from './task-update.ts';

/** The providers that stand for people: a file that someone brings back, and a decision to take targets back. */
const OF_PEOPLE: ReadonlyMap<string | null, AuthorKind> = new Map([
  [FILE_PROVIDER, 'import'],
  [UNDO_PROVIDER, 'person'],
]);

/** The kind of author that made the targets of an update. Other providers are programs. */
export function authorKindOf({
  provider,
  providerRunId,
}: Pick<TaskUpdate, 'provider' | 'providerRunId'>): AuthorKind {
  return OF_PEOPLE.get(provider) ?? (provider === null && providerRunId === null ? 'person' : 'machine');
}
