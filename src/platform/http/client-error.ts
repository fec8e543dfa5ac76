import type { IncomingMessage, Server } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ProblemCode } from '../../contract/problems/problems.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import { closeGently } from './close-gently.ts';
import { renderProblem } from './problem.ts';
import { errorCode } from '../files/error-code.ts';

/**
 * The answer on a connection at the moment: none, one that is being sent, or one that is sent completely while its request is not
 * received completely.
 */
export type AnswerProgress = 'none' | 'sending' | 'sent';

type Refusal = readonly [code: ProblemCode, detail: string, phrase: string];

const LATE: Refusal = ['request_timeout', 'The request did not arrive in time.', 'Request Timeout'];
const MALFORMED: Refusal = ['invalid_request', 'The request is not valid HTTP/1.1.', 'Bad Request'];
const TARGET_TOO_LONG: Refusal = ['uri_too_long', 'The request target is too long.', 'URI Too Long'];
const UNFINISHED_TARGET = /^[A-Z]+ [!-~\x80-\xff]*$/;
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
 * Answers messages that never become a request: a malformed or oversize message, an incomplete one after its timeout, and
 * CONNECT. Each answer ends its connection, because the start of the next message is unknown.
 *
 * @param progressOf the answer on a connection: while one is being sent, the client would read a refusal as part of it, so the
 *   connection is cut instead; a request that has its answer gets no second one
 *
 * Source: RFC 9112, sections 2.2, 6.3 and 9.6; RFC 9110, sections 6.6.1 and 15.5.6.
 */
export function answerClientErrors(server: Server, progressOf: (socket: Duplex) => AnswerProgress): void {
  server.on('clientError', (error: Error, socket: Duplex) => {
    const code = errorCode(error) ?? '';
    // Bytes behind the last request of a connection mean nothing; the response ends the connection.
    if (code === 'HPE_CLOSED_CONNECTION') return;
    const progress = progressOf(socket);
    if (!socket.writable || code === 'ECONNRESET' || progress === 'sending') socket.destroy();
    else if (progress === 'sent') end(socket);
    else if (code === 'HPE_HEADER_OVERFLOW' && isInTarget(error)) refuse(socket, TARGET_TOO_LONG);
    else refuse(socket, REFUSALS[code] ?? MALFORMED);
  });
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    // Node has removed its listener; without one a failure of the socket would be an uncaught error.
    socket.on('error', () => undefined);
    if (progressOf(socket) === 'sending') socket.destroy();
    else refuse(socket, TUNNEL, { allow: '' });
  });
}

/**
 * Whether a head became too large inside its target. Node reports one limit for both, and only the bytes that it read
 * last. They show it if they begin with the method; later bytes of a target look like those of a header field, and the
 * answer for either is the one for the whole head.
 */
function isInTarget(error: Error): boolean {
  const { rawPacket, bytesParsed } = error as {
    readonly rawPacket?: unknown;
    readonly bytesParsed?: unknown;
  };
  if (!Buffer.isBuffer(rawPacket) || typeof bytesParsed !== 'number') return false;
  return UNFINISHED_TARGET.test(rawPacket.toString('latin1', 0, bytesParsed));
}

/** Refuses a request that did not arrive in time, on a connection without a response in progress. */
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
  socket.write(`HTTP/1.1 ${status} ${phrase}\r\n${lines.join('')}\r\n${body.toString('utf8')}`);
  end(socket);
}

/** A rejected client may still send, and keep its side open forever. */
function end(socket: Duplex): void {
  if (socket instanceof Socket) closeGently(socket);
  else socket.end();
}
