import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { UNLIMITED_CONNECTIONS } from './connection-limits.ts';
import { Connections } from './connections.ts';
import { listen, type Listening } from './listen.ts';
import { renderProblem, sendProblem } from './problem.ts';

export interface SideAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export interface SideServerOptions {
  readonly host: string;
  readonly port: number;
  readonly paths: Readonly<Record<string, () => SideAnswer | Promise<SideAnswer>>>;
  /** Begins the sentence that names the methods: `/metrics answers`. */
  readonly subject: string;
  readonly onError: (error: unknown) => void;
}

const METHODS = 'GET, HEAD';
const MAX_CONNECTIONS = 64;
const MAX_HEADER_BYTES = 8 * 1024;
const HEADERS_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 10_000;

/** Serves a few fixed paths on a separate port, so that clients can never reach them. @throws ListenError */
export async function createSideServer(options: SideServerOptions): Promise<Listening> {
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
    },
    (request, response) => {
      answer(request, response, options).catch((error: unknown) => {
        options.onError(error);
        sendProblem(response, renderProblem(error, randomUUID()));
      });
    },
  );
  const limits = { ...UNLIMITED_CONNECTIONS, connections: MAX_CONNECTIONS };
  return await listen(server, { host: options.host, port: options.port }, new Connections({ limits }));
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { paths, subject }: SideServerOptions,
): Promise<void> {
  const [path = ''] = (request.url ?? '').split('?', 1);
  const make = Object.hasOwn(paths, path) ? paths[path] : undefined;
  if (make === undefined) {
    const error = new ServiceError('not_found', `This port serves ${Object.keys(paths).join(' and ')} only.`);
    sendProblem(response, renderProblem(error, randomUUID()));
    return;
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    const error = new ServiceError('method_not_allowed', `${subject} ${METHODS}.`);
    sendProblem(response, renderProblem(error, randomUUID(), { allow: METHODS }));
    return;
  }
  const { status, contentType, body } = await make();
  const bytes = Buffer.from(body);
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': bytes.length,
    'cache-control': 'no-store',
  });
  response.end(request.method === 'HEAD' ? undefined : bytes);
}
