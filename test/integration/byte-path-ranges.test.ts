import { expect, it } from 'vitest';
import { createRandom } from '../../demo/game/seeded-random.ts';
import { renderHttpDate } from '../../src/domain/http/http-date.ts';
import {
  BYTE_FILES,
  describeBytePaths,
  EMPTY,
  etagOf,
  expectWhole,
  LARGE,
  SMALL,
} from '../support/byte-path.ts';
import { ask, type RequestFields } from '../support/http-connection.ts';
import { parseByteRanges, parseContentRange } from '../support/multipart.ts';
import type { RawAnswer } from '../support/raw-http.ts';

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

  it('R2: HEAD ignores Range', async () => {
    for (const range of ['bytes=0-0', 'bytes=0-0,2-3', 'bytes=99999999-', 'nonsense']) {
      const head = await get(SMALL, [['Range', range]], 'HEAD');
      expect([head.status, head.headers['content-length']]).toEqual([200, '5000']);
      expect(head.headers['content-range']).toBeUndefined();
    }
  });

  it('R3: an unknown range unit is ignored', async () => {
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
    // Two ranges, one of them outside: one is left.
    ['bytes=10-19,99999999-', 10, 20],
  ])('R4: one range is one part: %s', async (range, start, end) => {
    const answer = await get(LARGE, [['Range', range]]);
    expect(answer.status).toBe(206);
    expect(answer.headers['content-range']).toBe(`bytes ${start}-${end - 1}/${large.length}`);
    expect(answer.headers['content-length']).toBe(String(end - start));
    expect(answer.headers['content-type']).toBe('video/mp4');
    expect(answer.body.equals(large.subarray(start, end))).toBe(true);
  });

  it('R5: several ranges are multipart/byteranges, in the requested order', async () => {
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

  it('R6: a 206 carries the fields of a 200', async () => {
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

  it('R9: malformed and wasteful ranges get the whole file', async () => {
    const many = Array.from({ length: 201 }, (_, i) => `${i * 10}-${i * 10}`).join(',');
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
      // Together more than the file.
      'bytes=0-,0-0',
      'bytes=0-2999,1000-3999',
    ]) {
      expectWhole(await get(SMALL, [['Range', range]]), small);
    }
    // When repeated, the field is a list with a malformed element.
    expectWhole(
      await get(SMALL, [
        ['Range', 'bytes=0-1'],
        ['Range', 'bytes=2-3'],
      ]),
      small,
    );
  });

  it('R9: up to 200 ranges are answered', async () => {
    const wanted = Array.from({ length: 200 }, (_, i) => i * 10);
    const range = wanted.map((at) => `${at}-${at}`).join(',');
    const answer = await get(SMALL, [['Range', `bytes=${range}`]]);
    expect(answer.status).toBe(206);
    const parts = parseByteRanges(answer.headers['content-type'] ?? '', answer.body);
    expect(parts.map(({ headers }) => headers['content-range'])).toEqual(
      wanted.map((at) => `bytes ${at}-${at}/5000`),
    );
    expectTrueParts(answer, small);
  });

  it('R9: overlapping and adjacent ranges are merged', async () => {
    const touching = await get(SMALL, [['Range', 'bytes=10-20,1-9,99-99']]);
    const joined = parseByteRanges(touching.headers['content-type'] ?? '', touching.body);
    expect(joined.map(({ headers }) => headers['content-range'])).toEqual([
      'bytes 1-20/5000',
      'bytes 99-99/5000',
    ]);
    const merged = await get(SMALL, [['Range', 'bytes=0-99,50-149,100-199']]);
    expect([merged.status, merged.headers['content-range']]).toEqual([206, 'bytes 0-199/5000']);
    const two = await get(SMALL, [['Range', 'bytes=0-99,1000-1099,50-149']]);
    const parts = parseByteRanges(two.headers['content-type'] ?? '', two.body);
    expect(parts.map(({ headers }) => headers['content-range'])).toEqual([
      'bytes 0-149/5000',
      'bytes 1000-1099/5000',
    ]);
  });

  it('R9: no Range field leads to wrong bytes', async () => {
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

  it('R11: If-Range allows a range only for exactly these bytes', async () => {
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
});

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
