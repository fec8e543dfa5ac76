import type { IncomingMessage, Server } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ProblemCode } from '../../contract/problems/problems.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { renderProblem } from './problem.ts';
import { errorCode } from '../files/error-code.ts';

type Refusal = readonly [code: ProblemCode, detail: string, phrase: string];

/** How long a client may take a refusal before its connection is cut. */
const LINGER_MS = 5_000;

const LATE: Refusal = ['request_timeout', 'The request did not arrive in time.', 'Request Timeout'];
const MALFORMED: Refusal = ['invalid_request', 'The request is not valid HTTP/1.1.', 'Bad Request'];
const REFUSALS: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: [
    'headers_too_large',
    'The request line and the header fields are too large.',
    'Request Header Fields Too Large',
  ],
  ERR_HTTP_REQUEST_TIMEOUT: LATE,
};
const TUNNEL: Refusal = ['method_not_allowed', 'This server does not open tunnels.', 'Method Not Allowed'];

/**
 * Answers what never becomes a request of its own: a malformed or oversize message, one that does not come to its end in
 * time, and CONNECT. Each ends its connection, because nobody can say where the next message would begin.
 *
 * @param isAnswering whether a connection is in the midst of an answer; a refusal would be read as its next bytes, so
 *   the connection is cut instead
 *
 * Source: RFC 9112, sections 2.2, 6.3 and 9.6; RFC 9110, sections 6.6.1 and 15.5.6.
 */
export function answerClientErrors(server: Server, isAnswering: (socket: Duplex) => boolean): void {
  server.on('clientError', (error: Error, socket: Duplex) => {
    const code = errorCode(error) ?? '';
    // Behind its last request a client can say what it likes: nobody reads it, and the answer ends the connection.
    if (code === 'HPE_CLOSED_CONNECTION') return;
    if (!socket.writable || code === 'ECONNRESET' || isAnswering(socket)) socket.destroy();
    else refuse(socket, REFUSALS[code] ?? MALFORMED);
  });
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    // The connection is nobody's now: without a listener its failure would be an uncaught error.
    socket.on('error', () => undefined);
    if (isAnswering(socket)) socket.destroy();
    else refuse(socket, TUNNEL, { allow: '' });
  });
}

/** Refuses a request that does not come, on a connection that no answer is on its way on. */
export function refuseLateRequest(socket: Duplex): void {
  refuse(socket, LATE);
}

function refuse(
  socket: Duplex,
  [code, detail, phrase]: Refusal,
  further: Readonly<Record<string, string>> = {},
): void {
  const { status, headers, body } = renderProblem(new ServiceError(code, detail), '', further);
  const fields = { ...headers, date: new Date().toUTCString(), connection: 'close' };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  const destroy = (): void => {
    socket.destroy();
  };
  // A rejected client may keep its side open forever.
  if (socket instanceof Socket) socket.setTimeout(LINGER_MS, destroy);
  socket.end(`HTTP/1.1 ${status} ${phrase}\r\n${lines.join('')}\r\n${body.toString('utf8')}`, destroy);
}
