import type { Listening } from '../platform/http/listen.ts';
import { createSideServer, type SideAnswer } from '../platform/http/side-server.ts';
import type { Logger } from '../platform/logging/logging.ts';
import { JSON_MEDIA_TYPE } from '../contract/json/media-types.ts';

/** The checks of the probes. Each returns its problems; an empty list means success. */
export interface Probes {
  /** Would a restart help? */
  readonly live: () => readonly string[];
  /** Can the operator do its work? */
  readonly ready: () => readonly string[];
}

/** Serves `/livez` and `/readyz`: 200 or 503 with `{status, problems}`. @throws ListenError */
export async function createProbeServer(
  address: { readonly host: string; readonly port: number },
  probes: Probes,
  logger: Logger,
): Promise<Listening> {
  return await createSideServer({
    ...address,
    paths: { '/livez': () => answerOf(probes.live()), '/readyz': () => answerOf(probes.ready()) },
    subject: 'Probes answer',
    onError: (error) => {
      logger.error({ err: error }, 'a probe could not be answered');
    },
  });
}

function answerOf(problems: readonly string[]): SideAnswer {
  const isFine = problems.length === 0;
  return {
    status: isFine ? 200 : 503,
    contentType: JSON_MEDIA_TYPE,
    body: JSON.stringify({ status: isFine ? 'ok' : 'failing', problems }),
  };
}
