import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { CONDITION_HEADERS, renderConditions } from '../../src/contract/formats/condition-headers.ts';
import type { DaemonCondition } from '../../src/domain/service-state/daemon-conditions.ts';
import type { AtEnd } from './shared-fixture.ts';

/** A fault of the daemon. */
export type DaemonFault =
  | 'hang'
  | 'drip'
  | 'garbage'
  | 'huge'
  | 'html'
  | 'coded'
  | 'refuse'
  | 'truncated'
  | 'reset'
  | 'upgrade'
  | 'endless head'
  | 'endless interim'
  | null;

/** One request as it arrived. */
export interface ReceivedRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** An answer that the test prescribes. */
export interface FakeAnswer {
  readonly status: number;
  /** An object is sent as JSON, a text as it is. */
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A daemon that serves the content that a test sets, over real HTTP. */
export interface FakeDaemon {
  readonly url: string;
  /** Method and target of every request received. */
  readonly requests: string[];
  /** Every request received, whole. */
  readonly received: ReceivedRequest[];
  /** Connections accepted so far, and the most that were open concurrently. */
  readonly connections: () => { readonly accepted: number; readonly most: number };
  /** Sets the answer to a path, such as `/v1/control/sync`. It takes precedence over reports. */
  setAnswer(path: string, answer: FakeAnswer): void;
  /** The newest envelope. A change answers the waiting polls. */
  setEnvelope(envelope: Buffer | null): void;
  /** The conditions that it tells. A change answers the waiting polls that know others. */
  setConditions(conditions: readonly DaemonCondition[]): void;
  setReport(name: string, body: unknown): void;
  setFault(fault: DaemonFault): void;
}

/** Starts a fake daemon. By default it stops with the running test. */
export async function startFakeDaemon(atEnd: AtEnd = onTestFinished): Promise<FakeDaemon> {
  let envelope: Buffer | null = null;
  let version = 0;
  let conditions: readonly DaemonCondition[] | null = null;
  let conditionChanges = 0;
  let fault: DaemonFault = null;
  const reports = new Map<string, unknown>();
  const requests: string[] = [];
  const received: ReceivedRequest[] = [];
  const answers = new Map<string, FakeAnswer>();
  let [accepted, open, most] = [0, 0, 0];
  const waiting = new Set<() => void>();

  const answerAttestation = (request: IncomingMessage, response: ServerResponse): void => {
    const { conditions: header, tag } = CONDITION_HEADERS;
    if (conditions !== null) {
      response.setHeader(header, renderConditions(conditions));
      response.setHeader(tag, `tag-${conditionChanges}`);
    }
    if (envelope === null) {
      send(response, 404, { code: 'no_attestation' });
      return;
    }
    const etag = `"${version}"`;
    const isNews = conditions !== null && request.headers[tag] !== `tag-${conditionChanges}`;
    if (request.headers['if-none-match'] === etag && isNews) {
      response.writeHead(304, { etag }).end();
      return;
    }
    if (request.headers['if-none-match'] !== etag) {
      response.writeHead(200, { 'content-type': 'application/json', etag });
      response.end(envelope);
      return;
    }
    const waitMs = Number(new URL(request.url ?? '', 'http://daemon').searchParams.get('wait') ?? 0) * 1000;
    const timer = setTimeout(() => response.writeHead(304, { etag }).end(), waitMs);
    const wake = (): void => {
      waiting.delete(wake);
      clearTimeout(timer);
      answerAttestation(request, response);
    };
    waiting.add(wake);
    response.once('close', () => {
      clearTimeout(timer);
      waiting.delete(wake);
    });
  };

  const server = createServer((request, response) => {
    requests.push(`${request.method ?? ''} ${request.url ?? ''}`);
    void text(request).then(
      (body) => {
        received.push({
          method: request.method ?? '',
          target: request.url ?? '',
          headers: request.headers,
          body,
        });
        answer(request, response);
      },
      () => undefined,
    );
  });
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    if (misbehave(fault, response)) return;
    const path = (request.url ?? '').split('?', 1)[0] ?? '';
    const prescribed = answers.get(path);
    if (prescribed !== undefined) {
      response.writeHead(prescribed.status, { 'content-type': 'application/json', ...prescribed.headers });
      response.end(typeof prescribed.body === 'string' ? prescribed.body : JSON.stringify(prescribed.body));
      return;
    }
    if (path === '/v1/attestation') {
      answerAttestation(request, response);
      return;
    }
    const report = reports.get(path.slice('/v1/reports/'.length));
    if (report === undefined) send(response, 503, { code: 'backend_unavailable' });
    else send(response, 200, report);
  };
  server.on('connection', (socket) => {
    accepted += 1;
    open += 1;
    most = Math.max(most, open);
    socket.once('close', () => {
      open -= 1;
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    received,
    connections: () => ({ accepted, most }),
    setAnswer: (path, prescribed) => {
      answers.set(path, prescribed);
    },
    setEnvelope: (next) => {
      envelope = next;
      version += 1;
      for (const wake of waiting) wake();
    },
    setConditions: (next) => {
      conditions = next;
      conditionChanges += 1;
      for (const wake of waiting) wake();
    },
    setReport: (name, body) => {
      reports.set(name, body);
    },
    setFault: (next) => {
      fault = next;
    },
  };
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

/** Acts out the fault; returns `false` when there is none. */
function misbehave(fault: DaemonFault, response: ServerResponse): boolean {
  const json = { 'content-type': 'application/json' };
  switch (fault) {
    case null:
      return false;
    case 'hang':
      return true;
    case 'reset':
      response.destroy();
      return true;
    case 'drip': {
      response.writeHead(200, json);
      const timer = setInterval(() => response.write(' '), 20);
      response.once('close', () => {
        clearInterval(timer);
      });
      return true;
    }
    case 'upgrade':
      response.socket?.write(
        'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
      );
      return true;
    case 'endless head': {
      response.socket?.write('HTTP/1.1 200 OK\r\n');
      const timer = setInterval(() => response.socket?.write('x: y\r\n'), 20);
      response.once('close', () => {
        clearInterval(timer);
      });
      return true;
    }
    case 'endless interim': {
      const timer = setInterval(() => response.socket?.write('HTTP/1.1 102 Processing\r\n\r\n'), 20);
      response.once('close', () => {
        clearInterval(timer);
      });
      return true;
    }
    case 'garbage':
      response.writeHead(200, json).end('{"payload": not json');
      return true;
    case 'html':
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html></html>');
      return true;
    case 'coded':
      response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end('{}');
      return true;
    case 'refuse':
      send(response, 500, { code: 'internal_error' });
      return true;
    case 'truncated':
      response.writeHead(200, { ...json, 'content-length': 1000 });
      response.write('{', () => response.destroy());
      return true;
    case 'huge': {
      response.writeHead(200, json);
      const piece = Buffer.alloc(256 * 1024, 0x20);
      const pump = (): void => {
        while (!response.destroyed && response.write(piece));
      };
      response.on('drain', pump);
      pump();
      return true;
    }
  }
}
