import { ServiceError } from '../../../contract/problems/service-error.ts';
import { ReleasesAnswer, type ReleasesBody } from '../../../contract/schemas/answers/release.ts';
import type { Channel } from '../../../domain/release/channel.ts';
import type { DaemonClient } from '../../daemon-client/daemon-client.ts';
import { DaemonUnavailable } from '../../daemon-client/daemon-unavailable.ts';
import { RETRY_AFTER_SECONDS } from '../../http/not-distributable.ts';

/**
 * The complete report `release.list` of the daemon.
 *
 * @throws ServiceError `backend_unavailable` (503)
 */
export async function listReleases(
  client: DaemonClient,
  channel: Channel | undefined,
  signal: AbortSignal,
): Promise<ReleasesBody> {
  try {
    const report = await client.fetchReport('release.list', channel === undefined ? {} : { channel }, signal);
    const parsed = ReleasesAnswer.schema.safeParse(report);
    if (parsed.success) return parsed.data;
  } catch (error) {
    if (error instanceof DaemonUnavailable) throw unavailable(error);
    throw error;
  }
  throw unavailable(
    new DaemonUnavailable('answer_invalid', 'release.list does not match the contract', { status: 200 }),
  );
}

function unavailable(error: DaemonUnavailable): ServiceError {
  return new ServiceError(
    'backend_unavailable',
    'The release history of the daemon is not available now; the current release is not affected. Retry later.',
    {
      daemon: { status: error.status, code: error.daemonCode },
      retryAfter: RETRY_AFTER_SECONDS,
      internal: error.message,
      cause: error,
    },
  );
}
