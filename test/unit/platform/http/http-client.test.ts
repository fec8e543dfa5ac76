import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  createHttpClient,
  parseJsonAnswer,
  type BoundedAnswer,
  type HttpCall,
  type HttpClientOptions,
} from '../../../../src/platform/http/http-client.ts';
import { listen, type ListenAddress } from '../../../../src/platform/http/listen.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

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
    expect(parseJsonAnswer(answer('application/problem+json; charset=utf-8', '[9007199254740993]'))).toEqual([
      9_007_199_254_740_993n,
    ]);
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
