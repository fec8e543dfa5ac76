import type { TaskParts } from '../release-parts.ts';
import { TaskError, type TaskContext, type TaskResult } from '../../engine/tasks/task.ts';
import { forEachConcurrently } from '../../platform/process/concurrently.ts';
import { messageOf } from '../../platform/errors.ts';
import { countText } from '../../domain/count-text.ts';
import { restoreObject } from '../download/object-restore.ts';
import { describe, isSound, type ReleaseFindings } from '../checks/release-check.ts';
import type { ReleaseRow } from '../records/release-row.ts';
import { selectReleases } from '../records/select-releases.ts';
import type { SelectedReleases } from '../jobs/release-jobs.ts';

const UNRECOVERABLE_MAX = 100;

export interface Unrecoverable {
  readonly release_id: string;
  readonly destination: string;
  readonly reason: string;
}

/**
 * The task `repair`: finds damaged objects, puts them aside and fetches them again; one whose bytes are intact stays and
 * gets its block list again. Only bytes that match the manifest are accepted, so a release that upstream no longer has may
 * stay incomplete.
 */
export async function repairReleases(
  parts: TaskParts,
  context: TaskContext<SelectedReleases>,
): Promise<TaskResult> {
  const repaired: TaskResult[] = [];
  const unrecoverable: Unrecoverable[] = [];
  let retryable = false;
  for (const release of selectReleases(parts.releases, context.args)) {
    const outcome = await repairRelease(parts, release, context);
    repaired.push({ channel: release.channel, release_id: release.release_id, repaired: outcome.repaired });
    unrecoverable.push(...outcome.unrecoverable);
    retryable ||= outcome.retryable;
  }
  await parts.writer.removeStaging(context.taskId);
  if (unrecoverable.length === 0) return { releases: repaired };
  throw new TaskError(
    'repair_incomplete',
    `${countText(unrecoverable.length, 'entry', 'entries')} could not be recovered; the first is ${unrecoverable[0]?.destination ?? ''}: ` +
      `${unrecoverable[0]?.reason ?? ''}; sync to switch to the current release of upstream`,
    {
      retryable,
      details: {
        releases: repaired,
        unrecoverable_count: unrecoverable.length,
        unrecoverable: unrecoverable.slice(0, UNRECOVERABLE_MAX),
      },
    },
  );
}

interface RepairOutcome {
  readonly repaired: number;
  readonly unrecoverable: readonly Unrecoverable[];
  readonly retryable: boolean;
}

async function repairRelease(
  parts: TaskParts,
  release: ReleaseRow,
  context: TaskContext,
): Promise<RepairOutcome> {
  const { check, releases } = parts;
  const current = (): ReleaseRow => releases.get(release.channel, release.release_id) ?? release;
  let isRewritten = false;
  let findings = await check.full(release, context);
  const isChanged = await context.commit(() =>
    check.record(release, findings, { bytes: true, finder: 'repair' }),
  );
  // The damaged release must be withdrawn before its files change. A sound one is attested with its new verification.
  if (isChanged || isSound(findings)) await parts.attestor.issue(`repair ${release.release_id}`);
  if (isSound(findings)) return { repaired: 0, unrecoverable: [], retryable: false };
  context.log('warn', describe(findings), { channel: release.channel, release_id: release.release_id });
  if (findings.problem !== null) {
    const problem = await rewriteManifest(parts, release, context);
    if (problem !== null) return { repaired: 0, unrecoverable: [problem], retryable: false };
    findings = await check.full(release, context);
    isRewritten = await context.commit(() =>
      check.record(current(), findings, { bytes: true, finder: 'repair' }),
    );
  }
  const outcome = await restoreAll(parts, release, findings, context);
  await parts.writer.flush();
  const recovered = parts.damage.reassess();
  // Every byte was hashed above or when it was fetched, so a check that every object is present is enough.
  const looked = await check.quick(release, context.signal);
  const isDifferent = await context.commit(() =>
    check.record(current(), looked, { bytes: false, finder: 'repair' }),
  );
  const whole = isSound(looked) && outcome.unrecoverable.length === 0;
  if (whole) {
    releases.update(release.channel, release.release_id, { verified_at: findings.startedAt });
    context.log('info', 'the release is complete again', {
      release_id: release.release_id,
      repaired: outcome.repaired,
    });
  }
  // A repair that changed nothing is not attested.
  if (isRewritten || recovered.length > 0 || isDifferent)
    await parts.attestor.issue(`repaired ${release.release_id}`);
  return outcome;
}

/** Writes the manifest and the record again from the database. @returns why it could not, or `null` */
export async function rewriteManifest(
  parts: TaskParts,
  release: ReleaseRow,
  context: TaskContext,
): Promise<Unrecoverable | null> {
  try {
    await context.commit(() => parts.publisher.rewrite(release, context.taskId));
    context.log('info', 'manifest and record were rewritten', { release_id: release.release_id });
    return null;
  } catch (error) {
    if (!(error instanceof TaskError)) throw error;
    return { release_id: release.release_id, destination: '(manifest)', reason: messageOf(error) };
  }
}

async function restoreAll(
  parts: TaskParts,
  release: ReleaseRow,
  findings: ReleaseFindings,
  context: TaskContext,
): Promise<RepairOutcome> {
  const staging = await parts.writer.stagingDirectory(context.taskId);
  const unrecoverable: Unrecoverable[] = [];
  let repaired = 0;
  let retryable = false;
  await forEachConcurrently(
    findings.damaged,
    parts.configuration().downloadConcurrency,
    context.signal,
    async ({ blake3 }, signal) => {
      const outcome = await restoreObject(parts, { release, blake3, staging, context, signal });
      if (outcome.ok) {
        repaired += 1;
      } else {
        retryable ||= outcome.retryable;
        const { destination, reason } = outcome;
        unrecoverable.push({ release_id: release.release_id, destination, reason });
      }
      context.progress(repaired + unrecoverable.length, findings.damaged.length, 'entries', 'repair');
    },
  );
  return { repaired, unrecoverable, retryable };
}
