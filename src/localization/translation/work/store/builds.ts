import type { Row } from './target-rows.ts';
import type { WorkReader } from './work.ts';

/** The release and the generation of the parse index that tasks were built for. */
export interface BuiltFor {
  readonly releaseId: string;
  readonly generation: number;
}

/** The row of the build in a state, of which a language has at most one. */
export function buildInState(work: WorkReader, state: 'building' | 'current'): Row | undefined {
  return work
    .sql('SELECT * FROM build WHERE target_language = ? AND state = ?')
    .get(work.targetLanguage, state);
}

/** What the current tasks were built for. */
export function currentTasks(work: WorkReader): BuiltFor {
  const { release_id: releaseId = '', generation = 0 } = buildInState(work, 'current') ?? {};
  return { releaseId: String(releaseId), generation: Number(generation) };
}

/** Whether the current tasks are those that something was read or judged for; false while there are none. */
export function areCurrent(work: WorkReader, builtFor: BuiltFor): boolean {
  return currentBuild(work, builtFor) !== null;
}

/** The id of the current build; `null` when it is of another release or generation. */
export function currentBuild(
  work: WorkReader,
  { releaseId, generation }: { readonly releaseId: string | null; readonly generation: number },
): number | null {
  const found = work
    .sql(
      `SELECT build_id FROM build WHERE target_language = ? AND state = 'current' AND release_id = ? AND generation = ?`,
    )
    .get(work.targetLanguage, releaseId, generation);
  return found === undefined ? null : Number(found['build_id']);
}
