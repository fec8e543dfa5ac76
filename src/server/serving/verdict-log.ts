import type { Channel } from '../../domain/release/channel.ts';
import type { Reason } from '../../domain/verdict/reasons.ts';
import type { Verdict } from '../../domain/verdict/verdict.ts';
import type { Logger } from '../../platform/logging/logging.ts';

/** Reasons of a server, or of a service, that has not been ready yet. */
const NOT_YET: ReadonlySet<Reason | null> = new Set<Reason>([
  'AttestationUnavailable',
  'SnapshotLoading',
  'ReleaseNotAuthorized',
]);

/**
 * Makes the function that logs each change of a verdict: as a warning when the official channel is no longer served, and as
 * information while it has not been served yet.
 */
export function createVerdictLog(logger: Logger): (verdict: Verdict, previous: Verdict | null) => void {
  const served = new Set<Channel>();
  return (verdict, previous) => {
    const { channel, distributable, reason, message, release_id, snapshot_id } = verdict;
    if (distributable) served.add(channel);
    const isNotYet = NOT_YET.has(reason) && !served.has(channel);
    logger[distributable || isNotYet || channel === 'localized' ? 'info' : 'warn'](
      { channel, distributable, reason, detail: message, release_id, snapshot_id, before: previous?.reason },
      'verdict changed',
    );
  };
}
