import { instant } from '../../domain/instant.ts';
import type { TaskParts } from '../release-parts.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import { backoffMs, type BackoffOptions } from '../../platform/process/backoff.ts';
import { forEachConcurrently } from '../../platform/process/concurrently.ts';
import { TaskError, type TaskContext, type TaskResult } from '../../engine/tasks/task.ts';
import { describe, isSound } from '../checks/release-check.ts';
import { restoreObject, type RestoreOutcome } from '../download/object-restore.ts';
import {
  manifestSubject,
  UPSTREAM_SUBJECT,
  type RepairAttempt,
  type RepairSubject,
} from '../records/repair-attempts.ts';
import type { ReleaseRow } from '../records/release-row.ts';
import { rewriteManifest, type Unrecoverable } from './repair-task.ts';

/** Objects restored before their attempts are recorded, and their releases checked and attested. */
const OBJECTS_PER_ROUND = 1000;
/** Failures of upstream in a row after which the other objects of the task are not requested. */
const UPSTREAM_FAILURES_MAX = 3;
const UNRECOVERABLE_MAX = 100;
/** Waits before the next attempt: when upstream may recover, and when it does not have the bytes. */
const RETRYABLE_BACKOFF: BackoffOptions = { baseMs: 2000, capMs: 300_000 };
const FINAL_BACKOFF: BackoffOptions = { baseMs: 2000, capMs: 3_600_000 };
/** Waits before objects are requested again after upstream failed as a whole. */
const UPSTREAM_BACKOFF: BackoffOptions = { baseMs: 2000, capMs: 60_000 };

interface Progress {
  objects: number;
  manifests: number;
  upstreamFailures: number;
  failureCount: number;
  readonly failures: Unrecoverable[];
}

/**
 * The task `damage-repair`: restores the objects, manifests and records that are known to be damaged and due for an
 * attempt. It hashes nothing else, so it ends soon. It issues an attestation only when the state of a release changed.
 */
export async function repairDamage(parts: TaskParts, context: TaskContext): Promise<TaskResult> {
  const progress: Progress = {
    objects: 0,
    manifests: 0,
    upstreamFailures: 0,
    failureCount: 0,
    failures: [],
  };
  try {
    await repairManifests(parts, context, progress);
    await repairObjects(parts, context, progress);
  } finally {
    await parts.writer.removeStaging(context.taskId);
  }
  const { objects, manifests, failureCount, failures } = progress;
  const [first] = failures;
  if (first === undefined) return { repaired_objects: objects, repaired_manifests: manifests };
  const nextAtMs = parts.attempts.nextAtMs();
  throw new TaskError(
    'repair_incomplete',
    `${failureCount} of the damaged entries could not be repaired; the first is ${first.destination} of release ` +
      `${first.release_id}: ${first.reason}; ` +
      (isUpstreamDown(progress) ? 'upstream failed several times, so no more were requested; ' : '') +
      `the next attempt is at ${instant((nextAtMs ?? parts.clock.now()) / 1000)}`,
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
async function repairManifests(parts: TaskParts, context: TaskContext, progress: Progress): Promise<void> {
  const { check, releases, attempts, clock } = parts;
  let isChanged = false;
  const looked = new Set<string>();
  // Missing objects of one release can damage others, which are looked at next.
  for (let next = nextDamaged(releases.kept(), looked); next !== null;) {
    const subject = manifestSubject(next);
    looked.add(subject);
    let findings = await check.quick(next, context.signal);
    if (findings.problem !== null && attempts.isDue(subject, clock.now())) {
      context.log('warn', describe(findings), { channel: next.channel, release_id: next.release_id });
      const problem = await rewriteManifest(parts, next, context);
      attempts.record([
        attemptOf(
          parts,
          subject,
          problem?.reason ?? null,
          problem === null ? RETRYABLE_BACKOFF : FINAL_BACKOFF,
        ),
      ]);
      if (problem === null) progress.manifests += 1;
      else noteFailure(progress, problem);
      findings = await check.quick(next, context.signal);
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
  if (isChanged) await parts.attestor.issue('damage repair');
}

function nextDamaged(kept: readonly ReleaseRow[], looked: ReadonlySet<string>): ReleaseRow | null {
  return kept.find((row) => row.state === 'damaged' && !looked.has(manifestSubject(row))) ?? null;
}

async function repairObjects(parts: TaskParts, context: TaskContext, progress: Progress): Promise<void> {
  const { attempts, clock, damage, writer } = parts;
  const staging = await writer.stagingDirectory(context.taskId);
  while (!isUpstreamDown(progress)) {
    const due = attempts.dueObjects(clock.now(), OBJECTS_PER_ROUND);
    if (due.length === 0) return;
    const restored = await restoreRound(parts, { due, staging, context }, progress);
    await writer.flush();
    const sound = damage.reassess(restored);
    for (const { channel, release_id } of sound) {
      context.log('info', 'the release is sound again', { channel, release_id });
    }
    if (sound.length > 0) await parts.attestor.issue('damage repaired');
  }
}

async function restoreRound(
  parts: TaskParts,
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
    await forEachConcurrently(
      due,
      parts.configuration().downloadConcurrency,
      context.signal,
      async (blake3, signal) => {
        // An object that is not requested stays due.
        if (isUpstreamDown(progress)) return;
        const outcome = await restore(parts, { blake3, staging, context, signal });
        if (outcome === null || outcome.ok) restored.push(blake3);
        if (outcome !== null) {
          hasUpstreamAnswered ||= outcome.ok && outcome.from === 'upstream';
          noteOutcome(progress, outcome);
          const problem = outcome.ok ? null : outcome.failure.reason;
          const backoff = outcome.ok || outcome.retryable ? RETRYABLE_BACKOFF : FINAL_BACKOFF;
          tried.push(attemptOf(parts, blake3, problem, backoff));
        }
        context.progress(progress.objects + progress.failureCount, null, 'entries', 'repair');
      },
    );
  } finally {
    if (isUpstreamDown(progress)) {
      tried.push(attemptOf(parts, UPSTREAM_SUBJECT, progress.failures[0]?.reason ?? null, UPSTREAM_BACKOFF));
    } else if (hasUpstreamAnswered) {
      parts.attempts.forgetUpstream();
    }
    parts.attempts.record(tried);
  }
  return restored;
}

type ObjectOutcome =
  | Extract<RestoreOutcome, { readonly ok: true }>
  | { readonly ok: false; readonly failure: Unrecoverable; readonly retryable: boolean };

/** Restores one object for the first of its releases that can; returns `null` when no release needs it any longer. */
async function restore(
  parts: TaskParts,
  object: {
    readonly blake3: Blake3Hex;
    readonly staging: string;
    readonly context: TaskContext;
    readonly signal: AbortSignal;
  },
): Promise<ObjectOutcome | null> {
  const { releases } = parts;
  const holders = releases.holders(object.blake3);
  // The releases were deleted since the damage was found.
  if (holders.length === 0) {
    releases.clearObjectDamage(object.blake3);
    return null;
  }
  let failed: (ObjectOutcome & { ok: false }) | null = null;
  for (const release of holders) {
    const outcome = await restoreObject(parts, { ...object, release });
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

function noteFailure(progress: Progress, failure: Unrecoverable): void {
  progress.failureCount += 1;
  if (progress.failures.length < UNRECOVERABLE_MAX) progress.failures.push(failure);
}

/** Whether upstream failed too often in a row; the remaining objects are then not requested. */
function isUpstreamDown({ upstreamFailures }: Progress): boolean {
  return upstreamFailures >= UPSTREAM_FAILURES_MAX;
}

function attemptOf(
  { attempts, clock, random }: TaskParts,
  subject: RepairSubject,
  problem: string | null,
  backoff: BackoffOptions,
): RepairAttempt {
  const nowMs = clock.now();
  const wait = backoffMs(attempts.count(subject, nowMs) + 1, backoff, random(), null);
  return { subject, problem, nowMs, nextAtMs: nowMs + wait };
}
