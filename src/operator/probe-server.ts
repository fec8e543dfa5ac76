import { createServer } from 'node:http';
import { randomUUID } from 'node:crypto';
import { ServiceError } from '../contract/service-error.ts';
import { listen, type Listening } from '../platform/http/listen.ts';
import { renderProblem, sendProblem } from '../platform/http/problem.ts';

/** What the probes ask; each gives what is wrong, nothing when all is well. */
export interface Probes {
  /** Would a restart help? */
  readonly live: () => readonly string[];
  /** Can the operator do its work? */
  readonly ready: () => readonly string[];
}

const MAX_CONNECTIONS = 64;
const MAX_HEADER_BYTES = 8 * 1024;
const HEADERS_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 10_000;
const METHODS = 'GET, HEAD';

/** Serves `/livez` and `/readyz`: 200 or 503 with `{status, problems}`. @throws ListenError */
export async function createProbeServer(
  address: { readonly host: string; readonly port: number },
  probes: Probes,
): Promise<Listening> {
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
    },
    (request, response) => {
      const [path] = (request.url ?? '').split('?', 1);
      const probe = path === '/livez' ? probes.live : path === '/readyz' ? probes.ready : null;
      if (probe === null) {
        const error = new ServiceError('not_found', 'This port serves /livez and /readyz only.');
        sendProblem(response, renderProblem(error, randomUUID()));
        return;
      }
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        const error = new ServiceError('method_not_allowed', `Probes answer ${METHODS}.`);
        sendProblem(response, renderProblem(error, randomUUID(), { allow: METHODS }));
        return;
      }
      const problems = probe();
      const body = Buffer.from(
        JSON.stringify({ status: problems.length === 0 ? 'ok' : 'failing', problems }),
      );
      response.writeHead(problems.length === 0 ? 200 : 503, {
        'content-type': 'application/json',
        'content-length': body.length,
        'cache-control': 'no-store',
      });
      response.end(request.method === 'HEAD' ? undefined : body);
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  return await listen(server, address);
}
