import type { AuthorKind } from './target-rows.ts';
import type { TaskUpdate } from './task-update.ts';

/** The provider of targets that someone brings back in a file. */
const FILE_PROVIDER = 'file';

/** Who made the targets of an update: a file is the work of people, another provider is a program. */
export function authorKindOf({
  provider,
  providerRunId,
}: Pick<TaskUpdate, 'provider' | 'providerRunId'>): AuthorKind {
  if (provider === FILE_PROVIDER) return 'import';
  return provider === null && providerRunId === null ? 'person' : 'machine';
}
