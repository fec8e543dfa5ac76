import type { Blake3Hex } from '../../../domain/release/digest.ts';
import { backoffMs, type BackoffOptions } from '../../../platform/process/backoff.ts';
import { forEachConcurrently } from '../../../platform/process/concurrently.ts';
import { implementJob, type Job } from '../../tasks/job.ts';
import { TaskError, type TaskContext, type TaskResult } from '../../tasks/task.ts';
import { describe, isSound } from '../checks/release-check.ts';
import { requireStore } from '../checks/require-store.ts';
import { restoreObject, type RestoreOutcome } from '../download/object-restore.ts';
import { DAMAGE_REPAIR_JOB } from '../jobs/release-jobs.ts';
import {
  manifestSubject,
  UPSTREAM_SUBJECT,
  type RepairAttempt,
  type RepairAttempts,
  type RepairSubject,
} from '../records/repair-attempts.ts';
import type { ReleaseRow } from '../records/release-row.ts';
import { rewriteManifest, type RepairDependencies } from './repair-task.ts';

export interface DamageRepairDependencies extends RepairDependencies {
  readonly attempts: RepairAttempts;
  /** In [0, 1). */
  readonly random: () => number;
}

/** Objects restored before their attempts are recorded, and their releases checked and attested. */
const OBJECTS_PER_ROUND = 1000;
/** Failures of upstream in a row after which the other objects of the task are not requested. */
const UPSTREAM_FAILURES_MAX = 3;
/** Maximum number of failures named in the result. */
const UNRECOVERABLE_MAX = 100;
/** Waits before the next attempt: when upstream may recover, and when it does not have the bytes. */
const RETRYABLE_BACKOFF: BackoffOptions = { baseMs: 2000, capMs: 300_000 };
const FINAL_BACKOFF: BackoffOptions = { baseMs: 2000, capMs: 3_600_000 };
/** Waits before objects are requested again after upstream failed as a whole. */
const UPSTREAM_BACKOFF: BackoffOptions = { baseMs: 2000, capMs: 60_000 };

interface Failure {
  readonly release_id: string;
  readonly destination: string;
  readonly reason: string;
}

/** The results of one task so far. */
interface Progress {
  objects: number;
  manifests: number;
  /** Failures of upstream since its last answer. */
  upstreamFailures: number;
  failureCount: number;
  /** The first failures. */
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
  const progress: Progress = {
    objects: 0,
    manifests: 0,
    upstreamFailures: 0,
    failureCount: 0,
    failures: [],
  };
  await requireStore(deps.root, deps.writer.storeId);
  try {
    await repairManifests(deps, context, progress);
    await repairObjects(deps, context, progress);
  } finally {
    await deps.writer.removeStaging(context.taskId);
  }
  const { objects, manifests, failureCount, failures } = progress;
  const [first] = failures;
  if (first === undefined) return { repaired_objects: objects, repaired_manifests: manifests };
  const nextAtMs = deps.attempts.nextAtMs();
  throw new TaskError(
    'repair_incomplete',
    `${failureCount} of the damaged entries could not be repaired; the first is ${first.destination} of release ` +
      `${first.release_id}: ${first.reason}; ` +
      (isUpstreamDown(progress) ? 'upstream failed several times, so no more were requested; ' : '') +
      `the next attempt is at ${instant(nextAtMs ?? deps.clock.now())}`,
    {
      details: {
        repaired_objects: objects,
        repaired_manifests: manifests,
        unrecoverable_count: failureCount,
        unrecoverable: failures,
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
      attempts.record([
        attemptOf(
          deps,
          subject,
          problem?.reason ?? null,
          problem === null ? RETRYABLE_BACKOFF : FINAL_BACKOFF,
        ),
      ]);
      if (problem === null) progress.manifests += 1;
      else noteFailure(progress, problem);
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
  while (!isUpstreamDown(progress)) {
    const due = attempts.dueObjects(clock.now(), OBJECTS_PER_ROUND);
    if (due.length === 0) return;
    const restored = await restoreRound(deps, { due, staging, context }, progress);
    await writer.flush();
    const sound = damage.reassess(restored);
    for (const { channel, release_id } of sound) {
      context.log('info', 'the release is sound again', { channel, release_id });
    }
    if (sound.length > 0) await deps.attestor.issue('damage repaired');
  }
}

/** Restores the objects of one round and records their attempts in one transaction; returns the restored objects. */
async function restoreRound(
  deps: DamageRepairDependencies,
  {
    due,
    staging,
    context,
  }: { readonly due: readonly Blake3Hex[]; readonly staging: string; readonly context: TaskContext },
  progress: Progress,
): Promise<readonly Blake3Hex[]> {
  const restored: Blake3Hex[] = [];
  const tried: RepairAttempt[] = [];
  let hasUpstreamAnswered = false;
  try {
    await forEachConcurrently(due, deps.concurrency, context.signal, async (blake3, signal) => {
      // An object that is not requested stays due.
      if (isUpstreamDown(progress)) return;
      const outcome = await restore(deps, { blake3, staging, context, signal });
      if (outcome === null || outcome.ok) restored.push(blake3);
      if (outcome !== null) {
        hasUpstreamAnswered ||= outcome.ok && outcome.from === 'upstream';
        noteOutcome(progress, outcome);
        const problem = outcome.ok ? null : outcome.failure.reason;
        const backoff = outcome.ok || outcome.retryable ? RETRYABLE_BACKOFF : FINAL_BACKOFF;
        tried.push(attemptOf(deps, blake3, problem, backoff));
      }
      context.progress(progress.objects + progress.failureCount, null, 'entries', 'repair');
    });
  } finally {
    if (isUpstreamDown(progress)) {
      tried.push(attemptOf(deps, UPSTREAM_SUBJECT, progress.failures[0]?.reason ?? null, UPSTREAM_BACKOFF));
    } else if (hasUpstreamAnswered) {
      deps.attempts.forgetUpstream();
    }
    deps.attempts.record(tried);
  }
  return restored;
}

type ObjectOutcome =
  | Extract<RestoreOutcome, { readonly ok: true }>
  | { readonly ok: false; readonly failure: Failure; readonly retryable: boolean };

/** Restores one object for the first of its releases that can; returns `null` when no release needs it any longer. */
async function restore(
  deps: DamageRepairDependencies,
  object: {
    readonly blake3: Blake3Hex;
    readonly staging: string;
    readonly context: TaskContext;
    readonly signal: AbortSignal;
  },
): Promise<ObjectOutcome | null> {
  const { releases } = deps;
  const holders = releases.holders(object.blake3);
  // The releases were deleted since the damage was found.
  if (holders.length === 0) {
    releases.clearObjectDamage(object.blake3);
    return null;
  }
  let failed: (ObjectOutcome & { ok: false }) | null = null;
  for (const release of holders) {
    const outcome = await restoreObject(deps, { ...object, release });
    if (outcome.ok) return outcome;
    const { destination, reason, retryable } = outcome;
    failed ??= { ok: false, failure: { release_id: release.release_id, destination, reason }, retryable };
  }
  return failed;
}

function noteOutcome(progress: Progress, outcome: ObjectOutcome): void {
  if (outcome.ok) {
    progress.objects += 1;
    if (outcome.from === 'upstream') progress.upstreamFailures = 0;
    return;
  }
  if (outcome.retryable) progress.upstreamFailures += 1;
  noteFailure(progress, outcome.failure);
}

function noteFailure(progress: Progress, failure: Failure): void {
  progress.failureCount += 1;
  if (progress.failures.length < UNRECOVERABLE_MAX) progress.failures.push(failure);
}

/** Whether upstream failed too often in a row; the remaining objects are then not requested. */
function isUpstreamDown({ upstreamFailures }: Progress): boolean {
  return upstreamFailures >= UPSTREAM_FAILURES_MAX;
}

function attemptOf(
  { attempts, clock, random }: Pick<DamageRepairDependencies, 'attempts' | 'clock' | 'random'>,
  subject: RepairSubject,
  problem: string | null,
  backoff: BackoffOptions,
): RepairAttempt {
  const nowMs = clock.now();
  const wait = backoffMs(attempts.count(subject, nowMs) + 1, backoff, random(), null);
  return { subject, problem, nowMs, nextAtMs: nowMs + wait };
}

function instant(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
