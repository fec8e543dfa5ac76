import { existsSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join, resolve } from 'node:path';
import { describe, expect, it, onTestFinished, test } from 'vitest';
import { ProblemSchema } from '../../../src/contract/problems/problem-schema.ts';
import { PROBLEMS, type ProblemCode } from '../../../src/contract/problems/problems.ts';
import { ServiceError } from '../../../src/contract/problems/service-error.ts';
import { REASONS, type Reason } from '../../../src/domain/verdict/reasons.ts';
import { bearerTokenOf, isBearerToken } from '../../../src/platform/http/bearer-token.ts';
import {
  createHttpClient,
  parseJsonAnswer,
  type BoundedAnswer,
  type HttpCall,
  type HttpClientOptions,
} from '../../../src/platform/http/http-client.ts';
import { listen, type ListenAddress } from '../../../src/platform/http/listen.ts';
import { renderProblem, sendProblem } from '../../../src/platform/http/problem.ts';
import { parseRetryAfter } from '../../../src/platform/http/retry-after.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

async function serve(handler: Handler, address: ListenAddress = { host: '127.0.0.1', port: 0 }) {
  const server = createServer(handler);
  const listening = await listen(server, address);
  onTestFinished(async () => await listening.close(AbortSignal.abort()));
  return listening.url;
}

function sender(options: Partial<HttpClientOptions> = {}) {
  const client = createHttpClient({ connections: 1, keepAlive: true, ...options });
  onTestFinished(() => client.close());
  return async (url: string, call: Partial<HttpCall> = {}): Promise<BoundedAnswer> =>
    await client.send({ url, timeoutMs: 500, maxBytes: 100, ...call });
}

const json = { 'content-type': 'application/json' };

describe('the client for HTTP', () => {
  describe('the client for our own services', () => {
    it('sends method, headers, token and body, and returns an answer of any status', async () => {
      const url = await serve((request, response) => {
        const { method, url: path, headers } = request;
        const { authorization, accept } = headers;
        response.writeHead(418, { ...json, etag: '"1"' });
        request.on('data', (body: Buffer) => {
          response.end(JSON.stringify([method, path, authorization, accept, body.toString()]));
        });
      });
      const answer = await sender()(`${url}/path?a=b`, { method: 'POST', token: 't', body: 'text' });
      expect([answer.status, answer.etag]).toEqual([418, '"1"']);
      expect(parseJsonAnswer(answer)).toEqual(['POST', '/path?a=b', 'Bearer t', 'application/json', 'text']);
    });

    it('hands over the headers that the call wants, and no others', async () => {
      const url = await serve((_request, response) => {
        response.writeHead(200, { ...json, 'x-one': '1', 'x-two': '2' });
        response.end('{}');
      });
      const send = sender();
      expect((await send(url, { wantedHeaders: ['x-one', 'x-none'] })).headers).toEqual({ 'x-one': '1' });
      expect((await send(url)).headers).toBeUndefined();
    });

    it('reaches a Unix socket', async () => {
      const socketPath = join(await temporaryDirectory(), 'socket');
      await serve((request, response) => response.end(request.url), { socketPath });
      const answer = await sender({ socketPath })('http://localhost/x');
      expect(answer.body.toString()).toBe('/x');
    });

    it('follows no redirect', async () => {
      const url = await serve((_request, response) => response.writeHead(302, { location: '/other' }).end());
      expect((await sender()(url)).status).toBe(302);
    });

    it.each<[string, string, Handler]>([
      ['an answer beyond the bound', 'answer_too_large', (_, response) => response.end('x'.repeat(101))],
      ['silence', 'timeout', () => undefined],
      ['an answer that never ends', 'timeout', (_, response) => response.writeHead(200).write('x')],
      [
        'a cut answer',
        'unreachable',
        (_, response) =>
          response.writeHead(200, { 'content-length': '9' }).write('x', () => response.destroy()),
      ],
      [
        'a content coding',
        'answer_type',
        (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('x'),
      ],
      [
        'a head beyond the bound',
        'unreachable',
        (_, response) => response.writeHead(200, { 'x-long': 'x'.repeat(17_000) }).end(),
      ],
    ])('fails for %s with the code %s', async (_what, code, handler) => {
      const url = await serve(handler);
      await expect(sender()(url)).rejects.toMatchObject({ name: 'HttpFailure', code });
    });

    it('fails with the reason of an aborted signal', async () => {
      const url = await serve(() => undefined);
      const abort = new AbortController();
      const sent = sender()(url, { signal: abort.signal });
      abort.abort(new Error('stopped'));
      await expect(sent).rejects.toThrow('stopped');
    });

    it('retries a GET on a kept connection that was closed, and sends a POST only once', async () => {
      let count = 0;
      const url = await serve((request, response) => {
        count += 1;
        // Every second request finds its connection closed, as after an idle timeout of the server.
        if (count % 2 === 0) request.socket.destroy();
        else response.end('fine');
      });
      const send = sender();
      await send(url);
      expect((await send(url)).body.toString()).toBe('fine');
      expect(count).toBe(3);
      await expect(send(url, { method: 'POST', body: '' })).rejects.toMatchObject({ code: 'unreachable' });
      expect(count).toBe(4);
    });
  });

  describe('a JSON answer', () => {
    const answer = (contentType: string, body: string | Uint8Array): BoundedAnswer => ({
      status: 200,
      contentType,
      etag: null,
      body: Buffer.from(body),
    });

    it('keeps integers beyond 2^53', () => {
      expect(
        parseJsonAnswer(answer('application/problem+json; charset=utf-8', '[9007199254740993]')),
      ).toEqual([9_007_199_254_740_993n]);
    });

    it.each([
      ['text/html', '{}', 'answer_type'],
      ['', '{}', 'answer_type'],
      ['application/json', '{', 'answer_invalid'],
      ['application/json', Uint8Array.of(0x22, 0xff, 0x22), 'answer_invalid'],
    ])('of type "%s" with the body %s fails with %s', (type, body, code) => {
      expect(() => parseJsonAnswer(answer(type, body))).toThrow(expect.objectContaining({ code }));
    });

    it('rejects repeated keys when strict', () => {
      const repeated = answer('application/json', '{"a":1,"a":2}');
      expect(parseJsonAnswer(repeated)).toEqual({ a: 2 });
      expect(() => parseJsonAnswer(repeated, { strict: true })).toThrow('not valid JSON');
    });
  });
});

const RUNBOOKS = resolve(import.meta.dirname, '../../../docs/runbooks');
const CODES = Object.keys(PROBLEMS) as ProblemCode[];

function bodyOf(error: unknown): Record<string, unknown> {
  return JSON.parse(renderProblem(error, 'request-1').body.toString()) as Record<string, unknown>;
}

class Recorder {
  headersSent = false;
  destroyed = false;
  head: unknown[] = [];
  body: Buffer | undefined;
  readonly req: { readonly method: string };

  constructor(method: string) {
    this.req = { method };
  }
  writeHead(...head: unknown[]): void {
    this.head = head;
  }
  end(body?: Buffer): void {
    this.body = body;
  }
  destroy(): void {
    this.destroyed = true;
  }
}

describe('a problem', () => {
  describe('renderProblem', () => {
    it.each(CODES)('renders %s according to the catalogue and the schema', (code) => {
      const problem = renderProblem(new ServiceError(code, 'The cause and the remedy.'), 'request-1');
      const body = ProblemSchema.parse(JSON.parse(problem.body.toString()));
      expect(problem.status).toBe(PROBLEMS[code].status);
      expect(body).toEqual({
        type: `https://slipway.dev/problems/${code}`,
        title: PROBLEMS[code].title,
        status: PROBLEMS[code].status,
        detail: 'The cause and the remedy.',
        instance: 'request-1',
        code,
      });
      expect(problem.headers).toMatchObject({
        'content-type': 'application/problem+json',
        'content-length': String(problem.body.length),
        'cache-control': 'no-store',
      });
    });

    it('carries reason, errors and the daemon answer, and Retry-After in whole seconds', () => {
      const error = new ServiceError('not_distributable', 'Später wieder.', {
        reason: 'EntryDamaged',
        errors: [{ pointer: '/limit', message: 'must be 1 to 1000' }],
        daemon: { status: 409, code: 'store_locked' },
        retryAfter: 1.2,
        internal: 'not for the caller',
      });
      const problem = renderProblem(error, 'request-1', { vary: 'Accept' });
      expect(bodyOf(error)).toMatchObject({
        detail: 'Später wieder.',
        reason: 'EntryDamaged',
        errors: [{ pointer: '/limit', message: 'must be 1 to 1000' }],
        daemon: { status: 409, code: 'store_locked' },
      });
      expect(problem.headers).toMatchObject({ 'retry-after': '2', vary: 'Accept' });
      expect(Number(problem.headers['content-length'])).toBe(problem.body.length);
      expect(problem.body.toString()).not.toContain('not for the caller');
      expect(problem.internal).toBe('not for the caller');
    });

    it.each(Object.keys(REASONS) as Reason[])(
      'of the reason %s links to its runbook, which exists',
      (reason) => {
        const link = bodyOf(new ServiceError('not_distributable', 'Later.', { reason }))['documentation'];
        expect(link).toBe(`/admin/dashboard/runbooks/${reason}`);
        expect(existsSync(join(RUNBOOKS, `${reason}.md`))).toBe(true);
      },
    );

    it('without a reason has no link to a runbook', () => {
      expect(bodyOf(new ServiceError('not_found', 'Nothing.'))).not.toHaveProperty('documentation');
    });

    it.each([new Error('secret /etc/path'), 'secret text', null, undefined, { secret: 1 }])(
      'reveals nothing of an unknown error (%s)',
      (error) => {
        const problem = renderProblem(error, 'request-1');
        expect([problem.status, problem.code, problem.logLevel]).toEqual([500, 'internal_error', 'error']);
        expect(problem.body.toString()).not.toContain('secret');
      },
    );

    it('challenges on every 401', () => {
      const problem = renderProblem(new ServiceError('not_authenticated', 'No token.'), 'request-1');
      expect(problem.headers['www-authenticate']).toMatch(/^Bearer /);
    });
  });

  describe('sendProblem', () => {
    const problem = renderProblem(new ServiceError('not_found', 'Nothing here.'), 'request-1');

    it('sends head and body', () => {
      const response = new Recorder('GET');
      sendProblem(response, problem);
      expect(response.head).toEqual([404, problem.headers]);
      expect(response.body).toBe(problem.body);
    });

    it('sends the same head and no body for HEAD', () => {
      const response = new Recorder('HEAD');
      sendProblem(response, problem);
      expect(response.head).toEqual([404, problem.headers]);
      expect(response.body).toBeUndefined();
    });

    it('cuts an answer that has begun', () => {
      const response = new Recorder('GET');
      response.headersSent = true;
      sendProblem(response, problem);
      expect([response.destroyed, response.head]).toEqual([true, []]);
    });
  });
});

describe('Retry-After', () => {
  it('reads Retry-After as seconds or as a date, within a bound', () => {
    const now = Date.UTC(2026, 0, 1);
    expect(parseRetryAfter('Thu, 01 Jan 2026 00:00:30 GMT', now)).toBe(30_000);
    expect(parseRetryAfter('Thu, 01 Jan 2025 00:00:30 GMT', now)).toBe(0);
    expect(parseRetryAfter('Thu, 01 Jan 2036 00:00:30 GMT', now)).toBe(300_000);
    expect(parseRetryAfter(' 12 ', now)).toBe(12_000);
    for (const text of ['', '-1', '1.5', 'soon', 'Moonday, x']) expect(parseRetryAfter(text, now)).toBeNull();
    expect(parseRetryAfter(null, now)).toBeNull();
  });
});

describe('a bearer token', () => {
  test.each([
    ['Bearer abc', 'abc'],
    ['bearer   abc= ', 'abc='],
    ['Bearer', ''],
    ['Bearer ', ''],
    ['Bearer two words', 'two words'],
    ['Bearerabc', null],
    ['Basic abc', null],
    ['', null],
  ])('the token of "%s" is %j', (authorization, token) => {
    expect(bearerTokenOf(authorization)).toBe(token);
  });

  test.each([
    ['abc-._~+/==', true],
    ['', false],
    ['two words', false],
    ['abc=d', false],
  ])('"%s" can be sent as a token: %s', (text, expected) => {
    expect(isBearerToken(text)).toBe(expected);
  });
});
