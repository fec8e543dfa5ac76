import { isChannel, type Channel } from '../../domain/release/channel.ts';
import { parseReleaseId, type ReleaseId } from '../../domain/release/release-id.ts';
import type { TaskArguments } from '../tasks/task.ts';

/** Arguments of a release task, as its action normalized them. */
export interface ReleaseTaskArguments {
  readonly force: boolean;
  readonly channel: Channel | null;
  readonly releaseId: ReleaseId | null;
}

/** Reads what the action stored; anything else counts as not given. */
export function readReleaseArguments(args: TaskArguments): ReleaseTaskArguments {
  const { force, channel, release_id: releaseId } = args;
  const parsed = typeof releaseId === 'string' ? parseReleaseId(releaseId) : null;
  return {
    force: force === true,
    channel: typeof channel === 'string' && isChannel(channel) ? channel : null,
    releaseId: parsed?.ok === true ? parsed.value : null,
  };
}
