import type { Duplex } from 'node:stream';
import type { ProblemCode } from '../../contract/problems.ts';
import { ServiceError } from '../../contract/service-error.ts';
import { renderProblem } from '../../platform/http/problem.ts';

const PROBLEM_OF: Readonly<Record<string, readonly [ProblemCode, string, string]>> = {
  HPE_HEADER_OVERFLOW: [
    'headers_too_large',
    'the request headers are too large',
    'Request Header Fields Too Large',
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'the request did not arrive in time', 'Request Timeout'],
};

/** Answers what is no HTTP request, and ends its connection. */
export function answerClientError(error: Error, socket: Duplex): void {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (!socket.writable || code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const [problem, detail, phrase] = PROBLEM_OF[code] ?? [
    'invalid_request',
    'the request is not valid HTTP/1.1',
    'Bad Request',
  ];
  const { status, headers, body } = renderProblem(new ServiceError(problem, detail), '');
  const lines = Object.entries({ ...headers, connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  socket.end(`HTTP/1.1 ${status} ${phrase}\r\n${lines.join('')}\r\n${body.toString('utf8')}`);
}
