import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  BYTE_FILES,
  BYTE_PATHS,
  describeBytePaths,
  etagOf,
  expectWhole,
  LARGE,
  SMALL,
} from '../support/byte-path.ts';
import { ask, HttpConnection, renderRequest, type RequestFields } from '../support/http-connection.ts';
import type { RawAnswer } from '../support/raw-http.ts';
import { startServedProcess, type ServedProcess } from '../support/served-process.ts';
import { sharedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const small = BYTE_FILES[SMALL]!;

describeBytePaths((served) => {
  const get = async (destination: string, fields: RequestFields = [], method = 'GET'): Promise<RawAnswer> =>
    await ask(served().port, method, served().target(destination), fields);

  it('R1: HEAD has every field of GET and no content, for every request', async () => {
    for (const target of [
      ...Object.keys(BYTE_FILES).flatMap((name) => [served().target(name), served().target(name, 'r1')]),
      served().target('no such entry'),
      served().target('', 'r1'),
      `${served().target('')}%zz`,
    ]) {
      for (const fields of [[], [['If-Match', '"x"']], [['If-None-Match', '*']]] as RequestFields[]) {
        const whole = await ask(served().port, 'GET', target, fields);
        const head = await ask(served().port, 'HEAD', target, fields);
        expect(head.status).toBe(whole.status);
        expect(withoutMoment(head)).toEqual(withoutMoment(whole));
        expect(head.body.length).toBe(0);
      }
    }
  });

  it('R18: the entity tag is strong and belongs to the bytes, which are never content-coded', async () => {
    for (const [name, bytes] of Object.entries(BYTE_FILES)) {
      const answer = await get(name, [['Accept-Encoding', 'gzip, br, zstd, *;q=0.1']]);
      expect(answer.headers['etag']).toBe(etagOf(bytes));
      expect(answer.headers['content-encoding']).toBeUndefined();
      expectWhole(answer, bytes);
    }
  });

  it('R20: every answer has its date', async () => {
    const answers = await Promise.all([
      get(SMALL),
      get(SMALL, [['Range', 'bytes=0-1']]),
      get(SMALL, [['Range', 'bytes=9999-']]),
      get(SMALL, [['If-None-Match', '*']]),
      get(SMALL, [['If-Match', '"x"']]),
      get(SMALL, [], 'OPTIONS'),
      get(SMALL, [], 'DELETE'),
      get('no such entry'),
      ask(served().port, 'GET', `${served().target('')}%zz`),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 206, 416, 304, 412, 204, 405, 404, 400]);
    for (const { headers } of answers) expect(Date.parse(headers['date'] ?? '')).not.toBeNaN();
  });

  it('R21: another method gets 405 and the list of allowed methods', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'PURGE']) {
      const answer = await get(SMALL, [], method);
      expect([method, answer.status, answer.headers['allow']]).toEqual([method, 405, 'GET, HEAD, OPTIONS']);
    }
  });

  it('R23: a head that is too large gets 431, and its connection ends', async () => {
    const target = served().target(SMALL);
    for (const request of [
      renderRequest('GET', target, [['X-Large', 'x'.repeat(20_000)]]),
      renderRequest(
        'GET',
        target,
        Array.from({ length: 4000 }, () => ['a', ''] as const),
      ),
    ]) {
      const connection = await HttpConnection.open(served().port);
      connection.send(request);
      const answer = await connection.answer();
      expect([answer.status, answer.headers['connection']]).toEqual([431, 'close']);
      expect(answer.headers['date']).toBeDefined();
      await connection.closed();
    }
  });

  it('R27: a target that is too long gets 414, and its connection ends', async () => {
    const target = served().target(SMALL);
    for (const tooLong of [
      `${target}?${'x'.repeat(20_000)}`,
      `${target}/${'%E5%85%88'.repeat(3000)}`,
      `/${'x'.repeat(200_000)}`,
    ]) {
      const connection = await HttpConnection.open(served().port);
      connection.send(renderRequest('GET', tooLong));
      const answer = await connection.answer();
      expect([answer.status, answer.headers['connection']]).toEqual([414, 'close']);
      expect(JSON.parse(answer.body.toString())).toMatchObject({ status: 414, code: 'uri_too_long' });
      await connection.closed();
    }
  });

  it('R28: pages of other origins may read bytes and ranges', async () => {
    for (const [method, fields] of [
      ['GET', []],
      ['GET', [['Range', 'bytes=1-2']]],
      ['GET', [['Range', 'bytes=9999-']]],
      ['GET', [['If-None-Match', '*']]],
      ['HEAD', [['Origin', 'https://play.example.org']]],
      ['OPTIONS', [['Origin', 'https://play.example.org']]],
    ] as ReadonlyArray<readonly [string, RequestFields]>) {
      const { headers } = await get(SMALL, fields, method);
      expect([method, headers['access-control-allow-origin'], headers['vary']]).toEqual([
        method,
        '*',
        undefined,
      ]);
      expect(headers['access-control-expose-headers']).toContain('Content-Range');
      expect(headers['access-control-allow-credentials']).toBeUndefined();
      expect(headers['access-control-allow-headers'] !== undefined).toBe(method === 'OPTIONS');
    }
  });

  it('R25: Content-Length equals the bytes sent, and is absent where no content is allowed', async () => {
    // Every request of this file also checks that no byte is missing or left over.
    for (const [name, bytes] of Object.entries(BYTE_FILES)) {
      const { headers, body } = await get(name);
      expect([headers['content-length'], body.length]).toEqual([String(bytes.length), bytes.length]);
      expect(headers['transfer-encoding']).toBeUndefined();
    }
    const multipart = await get(LARGE, [['Range', 'bytes=0-0,5-9,-1']]);
    expect(multipart.headers['content-length']).toBe(String(multipart.body.length));
    for (const nothing of [await get(SMALL, [], 'OPTIONS'), await get(SMALL, [['If-None-Match', '*']])]) {
      expect(nothing.headers['content-length']).toBeUndefined();
      expect(nothing.headers['transfer-encoding']).toBeUndefined();
    }
  });

  it('R19: Last-Modified is never later than Date', async () => {
    const { release } = served();
    served().attest({ official: { ...release, created_at: Math.floor(Date.now() / 1000) + 86_400 } });
    await served().untilAttested();
    for (const fields of [[], [['Range', 'bytes=0-1']], [['If-None-Match', '*']]] as RequestFields[]) {
      const { headers } = await get(SMALL, fields);
      expect(Date.parse(headers['last-modified'] ?? '')).toBeLessThanOrEqual(
        Date.parse(headers['date'] ?? ''),
      );
    }
    served().attest({ official: release });
    await served().untilAttested();
  });
});

describe.each(BYTE_PATHS)('%s with a token', (_name, fastPath) => {
  const served = sharedFixture(async (atEnd) => await startWithToken(fastPath, atEnd));

  it('R22: a 401 says how to authenticate', async () => {
    const { port } = served();
    const target = served().target(SMALL);
    for (const fields of [[], [['Authorization', 'Bearer wrong']]] as RequestFields[]) {
      const refused = await ask(port, 'GET', target, fields);
      expect([refused.status, refused.headers['www-authenticate']]).toEqual([401, 'Bearer realm="slipway"']);
      expect(refused.headers['cache-control']).toBe('no-store');
    }
    expectWhole(await ask(port, 'GET', target, [['Authorization', TOKEN_FIELD]]), small);
  });

  it('R24: the daemon sees this service, not the client', async () => {
    const { port, daemon } = served();
    await ask(port, 'GET', '/admin/tasks', [
      ['Authorization', TOKEN_FIELD],
      ['Connection', 'keep-alive, X-Hop'],
      ['X-Hop', 'canary'],
      ['Keep-Alive', 'timeout=canary'],
      ['Proxy-Connection', 'canary'],
      ['TE', 'trailers, canary'],
      ['Cookie', 'canary'],
      ['X-Forwarded-Host', 'canary'],
    ]);
    const forwarded = daemon.received.find(({ target }) => target.startsWith('/v1/reports/task.list'));
    expect(forwarded?.headers['via']).toBe('1.1 slipway');
    expect(JSON.stringify(forwarded)).not.toContain('canary');
  });
});

const TOKEN_FIELD = 'Bearer canary-of-the-byte-path';

async function startWithToken(fastPath: boolean, atEnd: AtEnd): Promise<ServedProcess> {
  const file = join(await temporaryDirectory(atEnd), 'token');
  await writeFile(file, TOKEN_FIELD.slice('Bearer '.length));
  return await startServedProcess({
    fastPath,
    release: { releaseId: 'r1', files: { [SMALL]: small } },
    config: { auth: { public: 'token' }, admin: { tokenFiles: [file] } },
    atEnd,
  });
}

/** The fields that two answers to the same request must share. */
function withoutMoment({ headers }: RawAnswer): Readonly<Record<string, string>> {
  const { date: _date, 'x-request-id': _id, ...rest } = headers;
  // A problem body contains its request id, which always has the same length.
  return rest;
}
