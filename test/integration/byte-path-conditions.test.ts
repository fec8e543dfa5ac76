import { expect, it } from 'vitest';
import { renderHttpDate } from '../../src/domain/http/http-date.ts';
import { BYTE_FILES, describeBytePaths, etagOf, SMALL } from '../support/byte-path.ts';
import { ask, type RequestFields } from '../support/http-connection.ts';
import type { RawAnswer } from '../support/raw-http.ts';

const CREATED = 1_760_000_000;
const MODIFIED = renderHttpDate(CREATED);
const EARLIER = renderHttpDate(CREATED - 1);
const LATER = renderHttpDate(CREATED + 1);
const small = BYTE_FILES[SMALL]!;
const ETAG = etagOf(small);

describeBytePaths((served) => {
  const get = async (destination: string, fields: RequestFields = [], method = 'GET'): Promise<RawAnswer> =>
    await ask(served().port, method, served().target(destination), fields);
  const statusOf = async (...fields: RequestFields): Promise<number> => (await get(SMALL, fields)).status;

  it('R12: If-None-Match compares weakly, accepts lists and *, and wins over If-Modified-Since', async () => {
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

  it('R14: an invalid date, or a list of dates, is ignored', async () => {
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

  it('R15: preconditions have no effect where the plain answer is an error', async () => {
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

  it('R29: If-Modified-Since gives 304 for exactly the date that was sent', async () => {
    for (const target of [served().target(SMALL), served().target(SMALL, 'r1')]) {
      for (const method of ['GET', 'HEAD']) {
        const asked = async (date: string): Promise<number> =>
          (await ask(served().port, method, target, [['If-Modified-Since', date]])).status;
        expect(await asked(MODIFIED)).toBe(304);
        for (const date of [EARLIER, LATER, renderHttpDate(Math.floor(Date.now() / 1000))]) {
          expect([date, await asked(date)]).toEqual([date, 200]);
        }
      }
    }
  });

  it('R26: OPTIONS ignores preconditions', async () => {
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
