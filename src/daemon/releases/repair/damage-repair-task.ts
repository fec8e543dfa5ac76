import type { Blake3Hex } from '../../../domain/release/digest.ts';
import { backoffMs, type BackoffOptions } from '../../../platform/process/backoff.ts';
import { forEachConcurrently } from '../../../platform/process/concurrently.ts';
import { implementJob, type Job } from '../../tasks/job.ts';
import { TaskError, type TaskContext, type TaskResult } from '../../tasks/task.ts';
import { describe, isSound } from '../checks/release-check.ts';
import { requireStore } from '../checks/require-store.ts';
import { restoreObject, type RestoreOutcome } from '../download/object-restore.ts';
import { DAMAGE_REPAIR_JOB } from '../jobs/release-jobs.ts';
import { manifestSubject, type RepairAttempts, type RepairSubject } from '../records/repair-attempts.ts';
import type { ReleaseRow } from '../records/release-row.ts';
import { rewriteManifest, type RepairDependencies } from './repair-task.ts';

export interface DamageRepairDependencies extends RepairDependencies {
  /** Root of the snapshot volume. */
  readonly root: string;
  readonly attempts: RepairAttempts;
  /** In [0, 1). */
  readonly random: () => number;
}

/** Objects restored before their releases are checked and attested. */
const OBJECTS_PER_ROUND = 1000;
/** Failures of upstream in a row after which the other objects of the task are not requested. */
const UPSTREAM_FAILURES_MAX = 3;
/** Maximum number of failures named in the result. */
const UNRECOVERABLE_MAX = 100;
/** Waits before the next attempt: when upstream may recover, and when it does not have the bytes. */
const RETRYABLE_BACKOFF: BackoffOptions = { baseMs: 2000, capMs: 300_000 };
const FINAL_BACKOFF: BackoffOptions = { baseMs: 2000, capMs: 3_600_000 };

interface Failure {
  readonly release_id: string;
  readonly destination: string;
  readonly reason: string;
}

/** The results of one task so far. */
interface Progress {
  objects: number;
  manifests: number;
  upstreamFailures: number;
  readonly failures: Failure[];
}

/**
 * The task `damage-repair`: restores the objects, manifests and records that are known to be damaged and due for an
 * attempt. It hashes nothing else, so it ends soon. It issues an attestation only when the state of a release changed.
 */
export function createDamageRepairTask(deps: DamageRepairDependencies): Job {
  return implementJob(DAMAGE_REPAIR_JOB, async (context) => await repairDamage(deps, context));
}

async function repairDamage(deps: DamageRepairDependencies, context: TaskContext): Promise<TaskResult> {
  const progress: Progress = { objects: 0, manifests: 0, upstreamFailures: 0, failures: [] };
  await requireStore(deps.root, deps.writer.storeId);
  try {
    await repairManifests(deps, context, progress);
    await repairObjects(deps, context, progress);
  } finally {
    await deps.writer.removeStaging(context.taskId);
  }
  const { objects, manifests, failures } = progress;
  const [first] = failures;
  if (first === undefined) return { repaired_objects: objects, repaired_manifests: manifests };
  const nextAtMs = deps.attempts.nextAtMs();
  throw new TaskError(
    'repair_incomplete',
    `${failures.length} of the damaged entries could not be repaired; the first is ${first.destination} of release ` +
      `${first.release_id}: ${first.reason}; the next attempt is at ${instant(nextAtMs ?? deps.clock.now())}`,
    {
      details: {
        repaired_objects: objects,
        repaired_manifests: manifests,
        unrecoverable_count: failures.length,
        unrecoverable: failures.slice(0, UNRECOVERABLE_MAX),
        next_attempt_at: nextAtMs === null ? null : Math.floor(nextAtMs / 1000),
      },
    },
  );
}

/**
 * Writes damaged manifests and records again, and finds all missing objects of the damaged releases: one missing object
 * is often the first sign that a whole folder was lost.
 */
async function repairManifests(
  deps: DamageRepairDependencies,
  context: TaskContext,
  progress: Progress,
): Promise<void> {
  const { check, releases, attempts, clock } = deps;
  let isChanged = false;
  const looked = new Set<string>();
  // Missing objects of one release can damage others, which are looked at next.
  for (let next = nextDamaged(releases.kept(), looked); next !== null;) {
    const subject = manifestSubject(next);
    looked.add(subject);
    let findings = await check.look(next, context.signal);
    if (findings.problem !== null && attempts.isDue(subject, clock.now())) {
      context.log('warn', describe(findings), { channel: next.channel, release_id: next.release_id });
      const problem = await rewriteManifest(deps, next, context);
      recordAttempt(deps, subject, problem?.reason ?? null, false);
      if (problem === null) progress.manifests += 1;
      else progress.failures.push(problem);
      findings = await check.look(next, context.signal);
    }
    const release = releases.get(next.channel, next.release_id) ?? next;
    const known = releases.damageCounts(next.channel, next.release_id).all;
    const hasChanged = await context.commit(() =>
      check.record(release, findings, { bytes: false, finder: 'repair' }),
    );
    isChanged ||= hasChanged || releases.damageCounts(next.channel, next.release_id).all !== known;
    if (!isSound(findings)) {
      context.log('warn', describe(findings), { channel: next.channel, release_id: next.release_id });
    }
    next = nextDamaged(releases.kept(), looked);
  }
  if (isChanged) await deps.attestor.issue('damage repair');
}

function nextDamaged(kept: readonly ReleaseRow[], looked: ReadonlySet<string>): ReleaseRow | null {
  return kept.find((row) => row.state === 'damaged' && !looked.has(manifestSubject(row))) ?? null;
}

async function repairObjects(
  deps: DamageRepairDependencies,
  context: TaskContext,
  progress: Progress,
): Promise<void> {
  const { attempts, clock, damage, writer } = deps;
  const staging = await writer.stagingDirectory(context.taskId);
  for (;;) {
    const due = attempts.dueObjects(clock.now(), OBJECTS_PER_ROUND);
    if (due.length === 0) return;
    const restored: Blake3Hex[] = [];
    await forEachConcurrently(due, deps.concurrency, context.signal, async (blake3, signal) => {
      const failure = await restore(deps, { blake3, staging, context, signal }, progress);
      if (failure === null) restored.push(blake3);
      else progress.failures.push(failure);
      context.progress(progress.objects + progress.failures.length, null, 'entries', 'repair');
    });
    progress.objects += restored.length;
    await writer.flush();
    const sound = damage.reassess(restored);
    for (const { channel, release_id } of sound) {
      context.log('info', 'the release is sound again', { channel, release_id });
    }
    if (sound.length > 0) await deps.attestor.issue('damage repaired');
  }
}

/** Restores one object for the first of its releases that can; returns the failure, or `null`. */
async function restore(
  deps: DamageRepairDependencies,
  object: {
    readonly blake3: Blake3Hex;
    readonly staging: string;
    readonly context: TaskContext;
    readonly signal: AbortSignal;
  },
  progress: Progress,
): Promise<Failure | null> {
  const { releases } = deps;
  const { blake3 } = object;
  const holders = releases.holders(blake3);
  // The releases were deleted since the damage was found.
  if (holders.length === 0) {
    releases.clearObjectDamage(blake3);
    return null;
  }
  let failed: { readonly release: ReleaseRow; readonly outcome: RestoreOutcome & { ok: false } } | null =
    null;
  for (const release of holders) {
    const outcome =
      progress.upstreamFailures < UPSTREAM_FAILURES_MAX
        ? await restoreObject(deps, { ...object, release })
        : notRequested(deps, release, blake3);
    if (outcome.ok) {
      progress.upstreamFailures = 0;
      recordAttempt(deps, blake3, null, false);
      return null;
    }
    failed ??= { release, outcome };
  }
  if (failed === null) throw new Error(`object ${blake3} has no release`);
  const { destination, reason, retryable } = failed.outcome;
  if (retryable) progress.upstreamFailures += 1;
  recordAttempt(deps, blake3, reason, retryable);
  return { release_id: failed.release.release_id, destination, reason };
}

function notRequested(
  { releases }: Pick<DamageRepairDependencies, 'releases'>,
  release: ReleaseRow,
  blake3: Blake3Hex,
): RestoreOutcome & { ok: false } {
  const [destination = ''] = releases.destinationsOf(release, blake3, 1);
  return { ok: false, destination, reason: 'upstream failed for the objects before it', retryable: true };
}

function recordAttempt(
  { attempts, clock, random }: Pick<DamageRepairDependencies, 'attempts' | 'clock' | 'random'>,
  subject: RepairSubject,
  problem: string | null,
  retryable: boolean,
): void {
  const nowMs = clock.now();
  const backoff = problem === null || retryable ? RETRYABLE_BACKOFF : FINAL_BACKOFF;
  const wait = backoffMs(attempts.count(subject, nowMs) + 1, backoff, random(), null);
  attempts.record({ subject, problem, nowMs, nextAtMs: nowMs + wait });
}

function instant(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
