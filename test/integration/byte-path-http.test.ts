import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createRandom } from '../../src/cli/dev/seeded-random.ts';
import { renderHttpDate } from '../../src/domain/http/http-date.ts';
import {
  BYTE_FILES,
  BYTE_PATHS,
  describeBytePaths,
  EMPTY,
  etagOf,
  LARGE,
  SMALL,
} from '../support/byte-path.ts';
import { ask, HttpConnection, renderRequest, type RequestFields } from '../support/http-connection.ts';
import { parseByteRanges, parseContentRange } from '../support/multipart.ts';
import type { RawAnswer } from '../support/raw-http.ts';
import { startServedProcess, type ServedProcess } from '../support/served-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const MIB = 1024 * 1024;
const CREATED = 1_760_000_000;
const MODIFIED = renderHttpDate(CREATED);
const EARLIER = renderHttpDate(CREATED - 1);
const LATER = renderHttpDate(CREATED + 1);
const small = BYTE_FILES[SMALL]!;
const large = BYTE_FILES[LARGE]!;
const ETAG = etagOf(small);

describeBytePaths((served) => {
  const get = async (destination: string, fields: RequestFields = [], method = 'GET'): Promise<RawAnswer> =>
    await ask(served().port, method, served().target(destination), fields);
  const statusOf = async (...fields: RequestFields): Promise<number> => (await get(SMALL, fields)).status;

  it('R1: HEAD has every field of GET and no content, whatever is asked for', async () => {
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

  it('R2: HEAD ignores Range', async () => {
    for (const range of ['bytes=0-0', 'bytes=0-0,2-3', 'bytes=99999999-', 'nonsense']) {
      const head = await get(SMALL, [['Range', range]], 'HEAD');
      expect([head.status, head.headers['content-length']]).toEqual([200, '5000']);
      expect(head.headers['content-range']).toBeUndefined();
    }
  });

  it('R3: a range unit that is not known is ignored', async () => {
    for (const range of ['items=0-1', 'seconds=1-2', 'bytes 0-1', '=0-1']) {
      expectWhole(await get(SMALL, [['Range', range]]), small);
    }
  });

  it.each([
    ['bytes=0-0', 0, 1],
    ['bytes=0-', 0, large.length],
    ['bytes=-1', large.length - 1, large.length],
    ['bytes=-70000', large.length - 70_000, large.length],
    [`bytes=${MIB - 1}-${MIB}`, MIB - 1, MIB + 1],
    [`bytes=${MIB}-${2 * MIB - 1}`, MIB, 2 * MIB],
    ['bytes=5-2500000', 5, 2_500_001],
    ['BYTES=7-8', 7, 9],
    ['bytes=, ,3-4,', 3, 5],
    // Two asked for, one of them outside: what is left is one.
    ['bytes=10-19,99999999-', 10, 20],
  ])('R4: one range is one part: %s', async (range, start, end) => {
    const answer = await get(LARGE, [['Range', range]]);
    expect(answer.status).toBe(206);
    expect(answer.headers['content-range']).toBe(`bytes ${start}-${end - 1}/${large.length}`);
    expect(answer.headers['content-length']).toBe(String(end - start));
    expect(answer.headers['content-type']).toBe('video/mp4');
    expect(answer.body.equals(large.subarray(start, end))).toBe(true);
  });

  it('R5: several ranges are multipart/byteranges, in the order in which they were asked for', async () => {
    const wanted = [
      [2 * MIB - 10, 2 * MIB + 10],
      [0, 1],
      [large.length - 3, large.length],
      [100, 70_000],
    ] as const;
    const range = wanted.map(([start, end]) => `${start}-${end - 1}`).join(', ');
    const answer = await get(LARGE, [['Range', `bytes=${range}`]]);
    expect(answer.status).toBe(206);
    expect(answer.headers['content-range']).toBeUndefined();
    const parts = parseByteRanges(answer.headers['content-type'] ?? '', answer.body);
    expect(parts.map(({ headers }) => headers)).toEqual(
      wanted.map(([start, end]) => ({
        'content-type': 'video/mp4',
        'content-range': `bytes ${start}-${end - 1}/${large.length}`,
      })),
    );
    wanted.forEach(([start, end], i) => {
      expect(parts[i]?.body.equals(large.subarray(start, end))).toBe(true);
    });
  });

  it('R6: a 206 carries what a 200 would', async () => {
    const whole = await get(LARGE);
    for (const range of ['bytes=1-2', 'bytes=1-2,5-6']) {
      const part = await get(LARGE, [['Range', range]]);
      for (const name of ['etag', 'last-modified', 'cache-control', 'accept-ranges', 'vary', 'expires']) {
        expect([name, part.headers[name]]).toEqual([name, whole.headers[name]]);
      }
      expect(part.headers['date']).toBeDefined();
    }
  });

  it.each([
    ['bytes=0-99999', 0, 5000],
    ['bytes=4999-99999999999999999999999999999999', 4999, 5000],
    ['bytes=000000000000000000000000000001-1', 1, 2],
    ['bytes=-99999999999999999999999999999999', 0, 5000],
    ['bytes=0-18446744073709551615', 0, 5000],
    ['bytes=4000-9007199254740993', 4000, 5000],
  ])('R7: positions beyond the end, of any number of digits, are clipped: %s', async (range, start, end) => {
    const answer = await get(SMALL, [['Range', range]]);
    expect([answer.status, answer.headers['content-range']]).toEqual([206, `bytes ${start}-${end - 1}/5000`]);
    expect(answer.body.equals(small.subarray(start, end))).toBe(true);
  });

  it('R8: nothing satisfiable is 416 with the size', async () => {
    for (const range of [
      'bytes=5000-',
      'bytes=-0',
      'bytes=9999-99999,6000-',
      'bytes=18446744073709551616-',
      'bytes=99999999999999999999999999-99999999999999999999999999',
    ]) {
      const answer = await get(SMALL, [['Range', range]]);
      expect([answer.status, answer.headers['content-range']]).toEqual([416, 'bytes */5000']);
      expect(answer.headers['cache-control']).toBe('no-store');
    }
  });

  it('R9: malformed and wasteful ranges are answered with the whole', async () => {
    const many = Array.from({ length: 17 }, (_, i) => `${i * 10}-${i * 10}`).join(',');
    for (const range of [
      'bytes=',
      'bytes=-',
      'bytes=a-b',
      'bytes=5-2',
      'bytes=+1-2',
      'bytes=0x1-2',
      'bytes=1 - 2',
      'bytes=1-2;3-4',
      'bytes=0-1,x',
      'bytes=1-2,bytes=3-4',
      `bytes=${many}`,
      `bytes=${'0-0,'.repeat(1500)}`,
    ]) {
      expectWhole(await get(SMALL, [['Range', range]]), small);
    }
    // Repeated, the field is a list with a malformed element.
    expectWhole(
      await get(SMALL, [
        ['Range', 'bytes=0-1'],
        ['Range', 'bytes=2-3'],
      ]),
      small,
    );
  });

  it('R9: overlapping ranges are merged', async () => {
    const merged = await get(SMALL, [['Range', 'bytes=0-99,50-149,100-199']]);
    expect([merged.status, merged.headers['content-range']]).toEqual([206, 'bytes 0-199/5000']);
    const two = await get(SMALL, [['Range', 'bytes=0-99,1000-1099,50-149']]);
    const parts = parseByteRanges(two.headers['content-type'] ?? '', two.body);
    expect(parts.map(({ headers }) => headers['content-range'])).toEqual([
      'bytes 0-149/5000',
      'bytes 1000-1099/5000',
    ]);
  });

  it('R9: no Range field whatever gives wrong bytes', async () => {
    const random = createRandom(9110);
    const position = (): string => random.pick(['', '', String(random.below(large.length + 1000))]);
    for (let turn = 0; turn < 120; turn += 1) {
      const specs = Array.from({ length: 1 + random.below(4) }, () => `${position()}-${position()}`);
      const answer = await get(LARGE, [['Range', `bytes=${specs.join(random.pick([',', ', ']))}`]]);
      expect([200, 206, 416]).toContain(answer.status);
      if (answer.status === 200) expectWhole(answer, large);
      if (answer.status === 206) expectTrueParts(answer, large);
    }
  });

  it('R10: a representation without bytes has no ranges', async () => {
    for (const range of ['bytes=0-', 'bytes=-1', 'bytes=0-0,1-1', 'bytes=5-']) {
      expectWhole(await get(EMPTY, [['Range', range]]), Buffer.alloc(0));
    }
  });

  it('R11: If-Range lets a range through only for exactly these bytes', async () => {
    const answered = async (ifRange: string): Promise<number> =>
      await statusOf(['Range', 'bytes=0-1'], ['If-Range', ifRange]);
    expect(await answered(ETAG)).toBe(206);
    expect(await answered(MODIFIED)).toBe(206);
    for (const other of [
      `W/${ETAG}`,
      etagOf(large),
      '*',
      `${ETAG}, ${ETAG}`,
      EARLIER,
      LATER,
      ETAG.slice(1, -1),
      'x',
    ]) {
      expect([other, await answered(other)]).toEqual([other, 200]);
    }
    expect(await statusOf(['If-Range', '"x"'])).toBe(200);
  });

  it('R12: If-None-Match compares weakly, takes lists and *, and wins over If-Modified-Since', async () => {
    for (const value of [ETAG, `W/${ETAG}`, '*', `"a", W/"b" , ${ETAG}`, `,, ${ETAG},`]) {
      expect([value, await statusOf(['If-None-Match', value])]).toEqual([value, 304]);
    }
    for (const value of ['"x"', 'x', ETAG.slice(1, -1), `${ETAG}x`]) {
      expect([value, await statusOf(['If-None-Match', value])]).toEqual([value, 200]);
    }
    expect(await statusOf(['If-None-Match', '"x"'], ['If-None-Match', ETAG])).toBe(304);
    expect(await statusOf(['If-None-Match', '"x"'], ['If-Modified-Since', MODIFIED])).toBe(200);
    expect(await statusOf(['If-None-Match', ETAG], ['If-Modified-Since', EARLIER])).toBe(304);
  });

  it('R13: If-Match compares strongly and wins over If-Unmodified-Since', async () => {
    for (const value of [ETAG, '*', `"a", ${ETAG}`]) {
      expect([value, await statusOf(['If-Match', value])]).toEqual([value, 200]);
    }
    for (const value of [`W/${ETAG}`, '"x"', 'x']) {
      expect([value, await statusOf(['If-Match', value])]).toEqual([value, 412]);
    }
    expect(await statusOf(['If-Match', ETAG], ['If-Unmodified-Since', EARLIER])).toBe(200);
    expect(await statusOf(['If-Match', '"x"'], ['If-Unmodified-Since', LATER])).toBe(412);
  });

  it('R14: a date that is none, or a list of dates, is ignored', async () => {
    expect(await statusOf(['If-Modified-Since', MODIFIED])).toBe(304);
    expect(await statusOf(['If-Modified-Since', EARLIER])).toBe(200);
    expect(await statusOf(['If-Unmodified-Since', EARLIER])).toBe(412);
    expect(await statusOf(['If-Unmodified-Since', MODIFIED])).toBe(200);
    for (const name of ['If-Modified-Since', 'If-Unmodified-Since']) {
      for (const value of ['yesterday', '1760000000', `${MODIFIED}, ${MODIFIED}`, EARLIER.slice(5)]) {
        expect([name, value, await statusOf([name, value])]).toEqual([name, value, 200]);
      }
      expect(await statusOf([name, EARLIER], [name, EARLIER])).toBe(200);
    }
  });

  it('R15: preconditions decide nothing where the plain answer is an error', async () => {
    for (const field of [
      ['If-Match', '"x"'],
      ['If-None-Match', '*'],
      ['If-Unmodified-Since', EARLIER],
    ] as const) {
      expect((await get('no such entry', [field])).status).toBe(404);
    }
  });

  it('R16: If-Match comes before If-None-Match, and both before Range', async () => {
    expect(await statusOf(['If-Match', '"x"'], ['If-None-Match', ETAG])).toBe(412);
    expect(await statusOf(['If-Match', ETAG], ['If-None-Match', ETAG])).toBe(304);
    expect(await statusOf(['If-None-Match', ETAG], ['Range', 'bytes=0-1'])).toBe(304);
    expect(await statusOf(['If-None-Match', ETAG], ['Range', 'bytes=9999-'])).toBe(304);
    expect(await statusOf(['If-Match', '"x"'], ['Range', 'bytes=9999-'])).toBe(412);
    expect(await statusOf(['If-None-Match', '"x"'], ['If-Range', ETAG], ['Range', 'bytes=0-1'])).toBe(206);
  });

  it('R17: a 304 carries the fields of a 200 that caches update, and no content', async () => {
    const whole = await get(SMALL);
    const unchanged = await get(SMALL, [['If-None-Match', ETAG]]);
    for (const name of ['etag', 'cache-control', 'last-modified', 'vary', 'expires', 'content-location']) {
      expect([name, unchanged.headers[name]]).toEqual([name, whole.headers[name]]);
    }
    expect(unchanged.headers['date']).toBeDefined();
    expect(unchanged.headers['content-type']).toBeUndefined();
  });

  it('R18: the entity tag is strong and that of the bytes, which are never coded', async () => {
    for (const [name, bytes] of Object.entries(BYTE_FILES)) {
      const answer = await get(name, [['Accept-Encoding', 'gzip, br, zstd, *;q=0.1']]);
      expect(answer.headers['etag']).toBe(etagOf(bytes));
      expect(answer.headers['content-encoding']).toBeUndefined();
      expectWhole(answer, bytes);
    }
  });

  it('R20: every answer has the moment of its making', async () => {
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

  it('R21: another method is 405 and told which ones there are', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'PURGE']) {
      const answer = await get(SMALL, [], method);
      expect([method, answer.status, answer.headers['allow']]).toEqual([method, 405, 'GET, HEAD, OPTIONS']);
    }
  });

  it('R23: a head that is too large is 431, and its connection ends', async () => {
    const target = served().target(SMALL);
    for (const request of [
      renderRequest('GET', target, [['X-Large', 'x'.repeat(20_000)]]),
      renderRequest('GET', `${target}?${'x'.repeat(20_000)}`),
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

  it('R25: Content-Length is what is sent, and absent where nothing can be', async () => {
    // That no byte is missing or left over is seen by every request of this file.
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

  it('R26: OPTIONS looks at no precondition', async () => {
    const fields: RequestFields = [
      ['If-Match', '"x"'],
      ['If-None-Match', '*'],
      ['If-Unmodified-Since', EARLIER],
      ['Range', 'bytes=99999-'],
    ];
    for (const target of [served().target(SMALL), served().target('no such entry'), '*']) {
      const answer = await ask(served().port, 'OPTIONS', target, fields);
      expect([answer.status, answer.headers['allow']]).toEqual([204, 'GET, HEAD, OPTIONS']);
    }
  });
});

it.each(BYTE_PATHS)('R19: Last-Modified is never later than Date (%s)', async (_name, fastPath) => {
  const served = await startServedProcess({
    fastPath,
    release: { releaseId: 'r1', files: { [SMALL]: small } },
  });
  const ahead = Math.floor(Date.now() / 1000) + 86_400;
  served.attest({ official: { ...served.release, created_at: ahead } });
  await served.untilReady(true);
  for (const fields of [[], [['Range', 'bytes=0-1']], [['If-None-Match', '*']]] as RequestFields[]) {
    const { headers } = await ask(served.port, 'GET', served.target(SMALL), fields);
    expect(Date.parse(headers['last-modified'] ?? '')).toBeLessThanOrEqual(Date.parse(headers['date'] ?? ''));
  }
});

it.each(BYTE_PATHS)('R22: a 401 says how to authenticate (%s)', async (_name, fastPath) => {
  const served = await startWithToken(fastPath, { auth: { public: 'token' } });
  for (const fields of [[], [['Authorization', 'Bearer wrong']]] as RequestFields[]) {
    const refused = await ask(served.port, 'GET', served.target(SMALL), fields);
    expect([refused.status, refused.headers['www-authenticate']]).toEqual([401, 'Bearer realm="slipway"']);
    expect(refused.headers['cache-control']).toBe('no-store');
  }
  expectWhole(await ask(served.port, 'GET', served.target(SMALL), [['Authorization', TOKEN_FIELD]]), small);
});

it.each(BYTE_PATHS)('R24: the daemon sees this service, not the client (%s)', async (_name, fastPath) => {
  const served = await startWithToken(fastPath, {});
  await ask(served.port, 'GET', '/admin/tasks', [
    ['Authorization', TOKEN_FIELD],
    ['Connection', 'keep-alive, X-Hop'],
    ['X-Hop', 'canary'],
    ['Keep-Alive', 'timeout=canary'],
    ['Proxy-Connection', 'canary'],
    ['TE', 'trailers, canary'],
    ['Cookie', 'canary'],
    ['X-Forwarded-Host', 'canary'],
  ]);
  const forwarded = served.daemon.received.find(({ target }) => target.startsWith('/v1/reports/'));
  expect(forwarded?.headers['via']).toBe('1.1 slipway');
  expect(JSON.stringify(forwarded)).not.toContain('canary');
});

const TOKEN_FIELD = 'Bearer canary-of-the-byte-path';

async function startWithToken(
  fastPath: boolean,
  config: Readonly<Record<string, unknown>>,
): Promise<ServedProcess> {
  const file = join(await temporaryDirectory(), 'token');
  await writeFile(file, TOKEN_FIELD.slice('Bearer '.length));
  return await startServedProcess({
    fastPath,
    release: { releaseId: 'r1', files: { [SMALL]: small } },
    config: { ...config, admin: { tokenFiles: [file] } },
  });
}

function expectWhole(answer: RawAnswer, bytes: Buffer): void {
  expect(answer.status).toBe(200);
  expect(answer.headers['content-range']).toBeUndefined();
  expect(answer.headers['accept-ranges']).toBe('bytes');
  expect(answer.body.equals(bytes)).toBe(true);
}

function expectTrueParts(answer: RawAnswer, bytes: Buffer): void {
  const parts =
    answer.headers['content-range'] === undefined
      ? parseByteRanges(answer.headers['content-type'] ?? '', answer.body)
      : [answer];
  for (const { headers, body } of parts) {
    const { start, end, size } = parseContentRange(headers['content-range'] ?? '');
    expect(size).toBe(bytes.length);
    expect(body.equals(bytes.subarray(start, end))).toBe(true);
  }
}

/** The fields of an answer that two answers to the same request must share. */
function withoutMoment({ headers }: RawAnswer): Readonly<Record<string, string>> {
  const { date: _date, 'x-request-id': _id, ...rest } = headers;
  // A problem body names its request, by an id of always the same length.
  return rest;
}
