import type { IncomingMessage } from 'node:http';

import { collectBounded } from '../../platform/memory/collect-bounded.ts';
import { DaemonUnavailable } from './daemon-unavailable.ts';

/** One answer, read whole and no longer than allowed. */
export interface BoundedAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly etag: string | null;
  readonly body: Buffer;
}

/**
 * Reads an answer of the daemon.
 *
 * @throws DaemonUnavailable `answer_too_large` past `maxBytes`, `answer_type` for a content coding; stream errors as they are
 */
export async function readAnswer(answer: IncomingMessage, maxBytes: number): Promise<BoundedAnswer> {
  const status = answer.statusCode ?? 0;
  const coding = single(answer.headers['content-encoding']);
  if (coding !== '' && coding !== 'identity') {
    discard(answer);
    throw new DaemonUnavailable('answer_type', 'the daemon sent an answer with a content coding', { status });
  }
  const body = await collectBounded(answer as AsyncIterable<Buffer>, maxBytes, () => {
    discard(answer);
    return new DaemonUnavailable('answer_too_large', `the daemon's answer exceeds ${maxBytes} bytes`, {
      status,
    });
  });
  const etag = single(answer.headers['etag']);
  return {
    status,
    contentType: single(answer.headers['content-type']),
    etag: etag === '' ? null : etag,
    body,
  };
}

/** Gives an answer up together with its connection. */
function discard(body: IncomingMessage): void {
  // Destroying it early is reported as an error on the stream, which nobody reads any more.
  body.once('error', () => undefined);
  body.destroy();
}

function single(value: string | string[] | undefined): string {
  return (Array.isArray(value) ? value.join(',') : value) ?? '';
}
