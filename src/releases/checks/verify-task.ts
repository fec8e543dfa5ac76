import type { ReleaseParts } from '../release-parts.ts';
import { TaskError, type TaskContext, type TaskResult } from '../../engine/tasks/task.ts';
import { describe, isSound, type ReleaseFindings } from './release-check.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import { describeFailure, failureOf } from '../records/release-failure.ts';
import type { ReleaseRow } from '../records/release-row.ts';
import { selectReleases } from '../records/select-releases.ts';
import type { SelectedReleases } from '../jobs/release-jobs.ts';

/** Maximum number of damaged entries in a task result; the database has all of them. */
const RESULT_DAMAGED_MAX = 100;
/** Maximum number of releases named in the failure of a task; the result names all of them. */
const SUMMARY_RELEASES_MAX = 5;

/**
 * The task `verify`: hashes every object of the selected releases (the current ones; with `force` all kept ones).
 * Damage withdraws a release immediately, with a separate attestation, and the task fails with `damage_found`.
 */
export async function verifyReleases(
  parts: ReleaseParts,
  context: TaskContext<SelectedReleases>,
): Promise<TaskResult> {
  const selected = selectReleases(parts.releases, context.args);
  const releases: TaskResult[] = [];
  const failures: string[] = [];
  let damaged = 0;
  for (const release of selected) {
    const findings = await parts.check.full(release, context);
    const changed = await context.commit(() =>
      parts.check.record(release, findings, { bytes: true, finder: 'verify' }),
    );
    // The findings are recorded before anything is awaited: a repair can end before the other releases are read.
    const count = damageOf(parts.releases, release, findings);
    releases.push(resultOf(parts.releases, release, findings, count));
    const failure = describeDamage(parts.releases, release);
    if (failure !== null) failures.push(failure);
    damaged += count;
    // A withdrawal does not wait for the other releases. A sound release is attested again with its new verification.
    if (changed || isSound(findings)) await parts.attestor.issue(`verify ${release.release_id}`);
    context.log(count > 0 ? 'error' : 'info', count > 0 ? describe(findings) : 'the release is sound', {
      channel: release.channel,
      release_id: release.release_id,
      entries: findings.entries,
      damaged: count,
    });
  }
  if (damaged === 0) return { damaged, releases };
  throw new TaskError('damage_found', failures.slice(0, SUMMARY_RELEASES_MAX).join('; '), {
    details: { damaged, releases },
  });
}

function resultOf(
  releases: ReleaseRepository,
  { channel, release_id: releaseId }: ReleaseRow,
  { entries, problem }: ReleaseFindings,
  damaged: number,
): TaskResult {
  return {
    channel,
    release_id: releaseId,
    entries,
    damaged,
    ...(problem === null ? {} : { message: problem.message }),
    damaged_entries: releases
      .damageOf(channel, releaseId, RESULT_DAMAGED_MAX)
      .map(({ destination, status, found_by }) => ({ destination, status, found_by })),
  };
}

function describeDamage(releases: ReleaseRepository, examined: ReleaseRow): string | null {
  const release = releases.get(examined.channel, examined.release_id) ?? examined;
  return release.state === 'damaged' ? describeFailure(release, failureOf(releases, release)) : null;
}

function damageOf(releases: ReleaseRepository, release: ReleaseRow, { problem }: ReleaseFindings): number {
  const { all } = releases.damageCounts(release.channel, release.release_id);
  return all + (problem === null ? 0 : 1);
}
