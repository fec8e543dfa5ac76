import { TaskError } from '../../tasks/task.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import type { ReleaseRow } from '../records/release-row.ts';
import { isStale } from '../records/retention-rules.ts';

/**
 * Refuses releases that must not become current.
 *
 * @throws TaskError `release_damaged`, `base_mismatch`
 */
export function requireSwitchable(
  releases: Pick<ReleaseRepository, 'pointer'>,
  releaseId: string,
  target: ReleaseRow | null,
): asserts target is ReleaseRow {
  if (target === null || !['verified', 'current', 'superseded'].includes(target.state)) {
    throw new TaskError(
      'release_damaged',
      `release ${releaseId} cannot become current: it is ${target?.state ?? 'not registered'}`,
      { retryable: target?.state === 'damaged' },
    );
  }
  const officialId = releases.pointer('official')?.release_id ?? null;
  if (isStale(target, officialId)) {
    throw new TaskError(
      'base_mismatch',
      `localized release ${releaseId} was made for ${target.base_release_id ?? 'no release'}, and the current official one is ${officialId ?? 'none'}`,
    );
  }
}
