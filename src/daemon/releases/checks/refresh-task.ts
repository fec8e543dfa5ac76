import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';
import { callOf, implementJob, type Job } from '../../tasks/job.ts';
import type { TaskContext, TaskResult } from '../../tasks/task.ts';
import type { TaskEngine } from '../../tasks/task-engine.ts';
import type { UpstreamAdapter } from '../../upstream/upstream.ts';
import type { Attestor } from '../attest/attestor.ts';
import type { ProbeRepository } from '../records/probe-repository.ts';
import { describe, isSound, type ReleaseCheck } from './release-check.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import { REFRESH_JOB, VERIFY_JOB } from '../jobs/release-jobs.ts';

export interface RefreshDependencies {
  readonly releases: ReleaseRepository;
  readonly check: ReleaseCheck;
  readonly attestor: Attestor;
  readonly probes: ProbeRepository;
  readonly adapter: UpstreamAdapter | null;
  readonly engine: Pick<TaskEngine, 'submit'>;
  readonly clock: Clock;
}

/**
 * The task `refresh`: checks the manifest, the record and the objects of every kept release (presence and size), probes
 * upstream, and attests the findings. A damaged release is queued for a verification, because only a hash of its bytes
 * can show that it is sound again.
 */
export function createRefreshTask(deps: RefreshDependencies): Job {
  return implementJob(REFRESH_JOB, async (context) => await refresh(deps, context));
}

async function refresh(deps: RefreshDependencies, context: TaskContext): Promise<TaskResult> {
  const { releases, check, adapter } = deps;
  const kept = releases.kept();
  const found: TaskResult[] = [];
  for (const [index, release] of kept.entries()) {
    context.progress(index, kept.length, 'steps', `look at ${release.release_id}`);
    const findings = await check.look(release, context.signal);
    if (!isSound(findings)) {
      await context.commit(() => check.record(release, findings, { bytes: false, finder: 'refresh' }));
      context.log('error', describe(findings), { channel: release.channel, release_id: release.release_id });
    }
    found.push({ channel: release.channel, release_id: release.release_id, sound: isSound(findings) });
  }
  const damaged = releases.kept().filter((release) => release.state === 'damaged');
  for (const release of damaged) {
    const { channel, release_id } = release;
    deps.engine.submit({ ...callOf(VERIFY_JOB, { channel, release_id }), dedupe: true });
  }
  if (adapter !== null) {
    const health = await adapter.probe(context.signal);
    deps.probes.record({ label: adapter.label, ...health, checkedAt: unixSeconds(deps.clock) });
  }
  const version = await deps.attestor.issue('refresh');
  return {
    releases: found,
    damaged: damaged.map((release) => release.release_id),
    attestation_version: version,
  };
}
