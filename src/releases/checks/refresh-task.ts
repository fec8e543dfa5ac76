import type { TaskParts } from '../release-parts.ts';
import { unixSeconds } from '../../platform/process/clock.ts';
import { callOf } from '../../engine/tasks/job.ts';
import type { TaskContext, TaskResult } from '../../engine/tasks/task.ts';
import { describe, isSound } from './release-check.ts';
import { VERIFY_JOB } from '../jobs/release-jobs.ts';

/**
 * The task `refresh`: checks the manifest, the record and the objects of every kept release (presence and size), probes
 * upstream, and attests the findings. A damaged release is queued for a verification, because only a hash of its bytes
 * can show that it is sound again.
 */
export async function refreshReleases(parts: TaskParts, context: TaskContext): Promise<TaskResult> {
  const { releases, check, upstream } = parts;
  const kept = releases.kept();
  const found: TaskResult[] = [];
  for (const [index, release] of kept.entries()) {
    context.progress(index, kept.length, 'steps', `look at ${release.release_id}`);
    const findings = await check.quick(release, context.signal);
    if (!isSound(findings)) {
      await context.commit(() => check.record(release, findings, { bytes: false, finder: 'refresh' }));
      context.log('error', describe(findings), { channel: release.channel, release_id: release.release_id });
    }
    found.push({ channel: release.channel, release_id: release.release_id, sound: isSound(findings) });
  }
  const damaged = releases.kept().filter((release) => release.state === 'damaged');
  for (const release of damaged) {
    const { channel, release_id } = release;
    parts.engine.submit({ ...callOf(VERIFY_JOB, { channel, release_id }), dedupe: true });
  }
  if (upstream !== null) {
    const { adapter } = upstream;
    const health = await adapter.probe(context.signal);
    parts.probes.record({ label: adapter.label, ...health, checkedAt: unixSeconds(parts.clock) });
  }
  const version = await parts.attestor.issue('refresh');
  return {
    releases: found,
    damaged: damaged.map((release) => release.release_id),
    attestation_version: version,
  };
}
