import { messageOf } from '../../../platform/errors.ts';
import type { TaskContext } from '../../tasks/task.ts';
import type { HeldOrigin } from '../records/origin-repository.ts';
import { copyRelease, type CopiedRelease, type CopyDependencies } from './copy-release.ts';
import { missingRetained } from './plan-retained.ts';

export interface RetainedDependencies extends CopyDependencies {
  /** Number of earlier releases of a channel that stay reachable here. */
  readonly retainedCount: number;
}

/**
 * Copies the earlier releases that the origin retains and that are missing here. They matter less than the current ones, so one that
 * cannot be copied is only logged.
 *
 * @throws the reason of the task's signal
 */
export async function copyRetained(
  deps: RetainedDependencies,
  origin: HeldOrigin,
  context: TaskContext,
): Promise<readonly CopiedRelease[]> {
  const { attested, retainedCount, releases, attestor } = deps;
  // A source that was carried here has one release only.
  if (attested.isCarried === true) return [];
  const copied: CopiedRelease[] = [];
  const missing = missingRetained(origin.statement, releases, {
    channels: attested.channels,
    count: retainedCount,
  });
  for (const { release, place } of missing) {
    const { channel, release_id } = release;
    try {
      copied.push(await copyRelease(deps, origin, { channel, attested: release }, context));
    } catch (error) {
      context.signal.throwIfAborted();
      context.log('warn', `an earlier release cannot be copied now: ${messageOf(error)}`, {
        channel,
        release_id,
      });
      continue;
    }
    // It was never current here. The order of the origin decides which ones stay reachable.
    const leftAt = origin.issuedAt - place;
    releases.update(channel, release_id, {
      state: 'superseded',
      published_at: leftAt,
      superseded_at: leftAt,
    });
    context.log('info', 'an earlier release was copied', { channel, release_id });
  }
  if (copied.length > 0) await attestor.issue('sync: earlier releases');
  return copied;
}
