import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseRange, RANGE_MAX_SPECS, type RangeSelection } from '../../../src/domain/http/byte-ranges.ts';
import {
  planByteResponse,
  type ByteRequestHeaders,
  type ByteResponsePlan,
  type Representation,
} from '../../../src/domain/http/byte-response.ts';
import { renderHttpDate } from '../../../src/domain/http/http-date.ts';

const ignore: RangeSelection = { kind: 'ignore' };
const unsatisfiable: RangeSelection = { kind: 'unsatisfiable' };

function ranges(...pairs: readonly (readonly [number, number])[]): RangeSelection {
  return { kind: 'ranges', ranges: pairs.map(([start, end]) => ({ start, end })) };
}

/** The same result by marking bytes, for well-formed specs. */
function referenceBytes(specs: readonly Spec[], size: number): Set<number> {
  const wanted = new Set<number>();
  for (let i = 0; i < size; i += 1) {
    for (const [first, last] of specs) {
      if (first === null ? i >= size - (last ?? 0) : i >= first && (last === null || i <= last))
        wanted.add(i);
    }
  }
  return wanted;
}

type Spec = readonly [number | null, number | null];

const spec: fc.Arbitrary<Spec> = fc.oneof(
  fc.nat(60).chain((first) => fc.nat(4).map((more): Spec => [first, first + more])),
  fc.tuple(fc.nat(60), fc.nat(60)).map(([a, b]): Spec => [Math.min(a, b), Math.max(a, b)]),
  fc.nat(60).map((first): Spec => [first, null]),
  fc.nat(60).map((suffix): Spec => [null, suffix]),
);

describe('the ranges of a request', () => {
  describe('one range of 10 bytes', () => {
    test.each<[string, RangeSelection]>([
      ['bytes=0-0', ranges([0, 1])],
      ['bytes=0-9', ranges([0, 10])],
      ['bytes=0-', ranges([0, 10])],
      ['bytes=3-6', ranges([3, 7])],
      ['bytes=9-', ranges([9, 10])],
      ['bytes=5-99999', ranges([5, 10])],
      ['bytes=-1', ranges([9, 10])],
      ['bytes=-10', ranges([0, 10])],
      ['bytes=-11', ranges([0, 10])],
      ['BYTES=1-2', ranges([1, 3])],
      ['bytes=  1-2\t', ranges([1, 3])],
      ['bytes=,,1-2,', ranges([1, 3])],
      ['bytes=0001-0002', ranges([1, 3])],
      ['bytes=10-', unsatisfiable],
      ['bytes=10-12', unsatisfiable],
      ['bytes=-0', unsatisfiable],
      ['bytes=10-,-0', unsatisfiable],
      ['', ignore],
      ['bytes', ignore],
      ['bytes=', ignore],
      ['bytes=,', ignore],
      ['bytes=-', ignore],
      ['bytes=1', ignore],
      ['bytes=6-3', ignore],
      ['bytes=a-b', ignore],
      ['bytes=1-2x', ignore],
      ['bytes=1--2', ignore],
      ['bytes=--1', ignore],
      ['bytes=+1-2', ignore],
      ['bytes=1 - 2', ignore],
      ['bytes =1-2', ignore],
      [' bytes=1-2', ignore],
      ['bytes=1.0-2', ignore],
      ['bytes=0x1-2', ignore],
      ['bytes=١-٢', ignore],
      ['bytes=1-2;3-4', ignore],
      ['bytes=0-1, bytes=3-4', ignore],
      ['items=0-1', ignore],
      ['seconds=1-2', ignore],
    ])('%j', (value, expected) => {
      expect(parseRange(value, 10)).toEqual(expected);
    });
  });

  describe('several ranges of 10 bytes', () => {
    test.each<[string, RangeSelection]>([
      ['bytes=0-0,-1', ranges([0, 1], [9, 10])],
      ['bytes= 0-1 , 4-5,\t8-', ranges([0, 2], [4, 6], [8, 10])],
      ['bytes=8-9,0-1', ranges([8, 10], [0, 2])],
      ['bytes=0-1,2-3', ranges([0, 4])],
      ['bytes=2-3,0-1', ranges([0, 4])],
      ['bytes=4-5,2-3,8-9,0-1', ranges([0, 6], [8, 10])],
      ['bytes=0-4,5-9', ranges([0, 10])],
      ['bytes=0-1,0-1', ranges([0, 2])],
      ['bytes=0-2,2-4,6-8', ranges([0, 5], [6, 9])],
      // Together more than the whole, before they are merged.
      ['bytes=0-5,3-9', ignore],
      ['bytes=0-,-1', ignore],
      ['bytes=0-0,0-0,0-0,0-0,0-0,0-0,0-0,0-0,0-0,0-0,0-0', ignore],
      ['bytes=8-9,0-1,1-3', ranges([8, 10], [0, 4])],
      ['bytes=0-1,12-15', ranges([0, 2])],
      ['bytes=12-15,3-4,-0,6-7', ranges([3, 5], [6, 8])],
      ['bytes=0-1,5-4', ignore],
      ['bytes=0-1,x', ignore],
    ])('%j', (value, expected) => {
      expect(parseRange(value, 10)).toEqual(expected);
    });
  });

  test('ranges that touch become one at the place of the first of them', () => {
    expect(parseRange('bytes=10-20,1-9,99-99', 1000)).toEqual(ranges([1, 21], [99, 100]));
  });

  test('an empty representation has no ranges', () => {
    expect(parseRange('bytes=0-0', 0)).toEqual(ignore);
    expect(parseRange('bytes=-1', 0)).toEqual(ignore);
  });

  test('positions of any number of digits neither overflow nor lose precision', () => {
    const size = 2 ** 53 - 1;
    const huge = '9'.repeat(10_000);
    expect(parseRange(`bytes=0-${huge}`, 10)).toEqual(ranges([0, 10]));
    expect(parseRange(`bytes=-${huge}`, 10)).toEqual(ranges([0, 10]));
    expect(parseRange(`bytes=${huge}-`, 10)).toEqual(unsatisfiable);
    expect(parseRange(`bytes=${'0'.repeat(9000)}3-4`, 10)).toEqual(ranges([3, 5]));
    // 2^64 + 1 and 2^53 + 1: an overflow or rounding would read them as another position.
    expect(parseRange('bytes=18446744073709551617-', 10)).toEqual(unsatisfiable);
    expect(parseRange('bytes=9007199254740993-9007199254740992', 10)).toEqual(ignore);
    expect(parseRange('bytes=9007199254740990-9007199254740991', size)).toEqual(ranges([size - 1, size]));
  });

  test('more specs than the bound void the field, in any spelling', () => {
    const specs = (count: number): string =>
      `bytes=${Array.from({ length: count }, (_, i) => `${i * 2}-${i * 2}`).join(',')}`;
    expect(parseRange(specs(RANGE_MAX_SPECS), 1000)).toMatchObject({ kind: 'ranges' });
    expect(parseRange(specs(RANGE_MAX_SPECS + 1), 1000)).toEqual(ignore);
    expect(parseRange(`bytes=${','.repeat(16_000)}0-1`, 1000)).toEqual(ignore);
    expect(parseRange(`bytes=${'0-,'.repeat(5000)}0-1`, 1000)).toEqual(ignore);
  });

  test('property: exactly the wanted bytes, each once, every range inside, not empty and apart from the others', () => {
    fc.assert(
      fc.property(
        fc.array(spec, { minLength: 1, maxLength: 16 }),
        fc.integer({ min: 1, max: 50 }),
        (specs, size) => {
          const value = `bytes=${specs.map(([first, last]) => `${first ?? ''}-${last ?? ''}`).join(', ')}`;
          const selection = parseRange(value, size);
          const wanted = referenceBytes(specs, size);
          if (wanted.size === 0) {
            expect(selection).toEqual(unsatisfiable);
            return;
          }
          const lengths = specs.map((each) => referenceBytes([each], size).size);
          const asked = lengths.reduce((sum, length) => sum + length, 0);
          if (asked > size && lengths.filter((length) => length > 0).length > 1) {
            expect(selection).toEqual(ignore);
            return;
          }
          if (selection.kind !== 'ranges') throw new Error(`${value} of ${size} gave ${selection.kind}`);
          const sent: number[] = [];
          for (const { start, end } of selection.ranges) {
            expect(end).toBeGreaterThan(start);
            for (let i = start; i < end; i += 1) sent.push(i);
            expect(selection.ranges.some((other) => other.start === end)).toBe(false);
          }
          expect(new Set(sent).size).toBe(sent.length);
          expect(new Set(sent)).toEqual(wanted);
        },
      ),
      { numRuns: 1000 },
    );
  });

  test('property: ranges that do not overlap are returned in the requested order', () => {
    const apart = fc
      .uniqueArray(fc.nat(12), { minLength: 1, maxLength: 8 })
      .map((slots) => slots.map((slot): [number, number] => [slot * 4, slot * 4 + 3]));
    fc.assert(
      fc.property(apart, (pairs) => {
        const value = `bytes=${pairs.map(([start, end]) => `${start}-${end - 1}`).join(',')}`;
        expect(parseRange(value, 60)).toEqual(ranges(...pairs));
      }),
    );
  });

  test('property: any text gives a selection inside the representation', () => {
    const text = fc.oneof(
      fc.string(),
      fc
        .string({ unit: fc.constantFrom('0', '1', '9', '-', ',', ' ', '\t', '=', 'b') })
        .map((rest) => `bytes=${rest}`),
    );
    fc.assert(
      fc.property(text, fc.nat(100), (value, size) => {
        const selection = parseRange(value, size);
        if (selection.kind !== 'ranges') return;
        expect(selection.ranges.length).toBeGreaterThan(0);
        for (const { start, end } of selection.ranges) {
          expect(start).toBeGreaterThanOrEqual(0);
          expect(start).toBeLessThan(end);
          expect(end).toBeLessThanOrEqual(size);
        }
      }),
      { numRuns: 1000 },
    );
  });
});

const NOW = 1_800_000_000;
const MODIFIED = 1_700_000_000;
const BOUNDARY = 'the-boundary';
const bytes = Buffer.from('0123456789abcdefghijklmnopqrstuvwxyz');

const representation: Representation = {
  etag: '"abc"',
  lastModified: MODIFIED,
  size: bytes.length,
  mediaType: 'text/plain',
  cacheControl: 'no-cache',
};

function plan(
  headers: ByteRequestHeaders = {},
  method: 'GET' | 'HEAD' = 'GET',
  changes: Partial<Representation> = {},
): ByteResponsePlan {
  return planByteResponse(
    { method, headers, nowSeconds: NOW, boundary: () => BOUNDARY },
    { ...representation, ...changes },
  );
}

function fields(answer: ByteResponsePlan): Record<string, string> {
  const result: Record<string, string> = {};
  for (let i = 0; i < answer.headers.length; i += 2) {
    const name = answer.headers[i] ?? '';
    expect(result[name], `${name} appears once`).toBeUndefined();
    result[name] = answer.headers[i + 1] ?? '';
  }
  return result;
}

function body(answer: ByteResponsePlan): string {
  return (
    answer.parts.map((part) => part.head + bytes.toString('latin1', part.start, part.end)).join('') +
    answer.tail
  );
}

const validatorFields = {
  ETag: '"abc"',
  'Last-Modified': renderHttpDate(MODIFIED),
  'Cache-Control': 'no-cache',
};

/** Reads a multipart/byteranges body strictly, as in RFC 2046. */
function readMultipart(text: string, boundary: string): { range: string; content: string }[] {
  const opening = `\r\n--${boundary}\r\n`;
  const closing = `\r\n--${boundary}--\r\n`;
  expect(text.startsWith(opening)).toBe(true);
  expect(text.endsWith(closing)).toBe(true);
  return text
    .slice(opening.length, -closing.length)
    .split(`\r\n--${boundary}\r\n`)
    .map((part) => {
      const end = part.indexOf('\r\n\r\n');
      const range = /^Content-Range: bytes ([0-9]+-[0-9]+)\/36$/m.exec(
        part.slice(0, end).replaceAll('\r', ''),
      )?.[1];
      return { range: range ?? 'none', content: part.slice(end + 4) };
    });
}

describe('the answer to a request for bytes', () => {
  test('a plain GET returns everything', () => {
    const answer = plan();
    expect(answer.status).toBe(200);
    expect(fields(answer)).toEqual({
      'Content-Type': 'text/plain',
      'Content-Length': '36',
      'Accept-Ranges': 'bytes',
      ...validatorFields,
    });
    expect(body(answer)).toBe(bytes.toString());
  });

  test('one range returns exactly that range and is never multipart', () => {
    const answer = plan({ range: 'bytes=10-12' });
    expect(answer.status).toBe(206);
    expect(fields(answer)).toEqual({
      'Content-Type': 'text/plain',
      'Content-Length': '3',
      'Content-Range': 'bytes 10-12/36',
      'Accept-Ranges': 'bytes',
      ...validatorFields,
    });
    expect(body(answer)).toBe('abc');
  });

  test('several ranges of which one is satisfiable are a single part', () => {
    const answer = plan({ range: 'bytes=100-200,-2' });
    expect(fields(answer)).toMatchObject({ 'Content-Range': 'bytes 34-35/36', 'Content-Length': '2' });
    expect(body(answer)).toBe('yz');
  });

  test('several ranges are multipart/byteranges with no Content-Range at the top', () => {
    const answer = plan({ range: 'bytes=0-1,-2' });
    expect(answer.status).toBe(206);
    const text = body(answer);
    expect(text).toBe(
      [
        '',
        '--the-boundary',
        'Content-Type: text/plain',
        'Content-Range: bytes 0-1/36',
        '',
        '01',
        '--the-boundary',
        'Content-Type: text/plain',
        'Content-Range: bytes 34-35/36',
        '',
        'yz',
        '--the-boundary--',
        '',
      ].join('\r\n'),
    );
    expect(fields(answer)).toEqual({
      'Content-Type': 'multipart/byteranges; boundary=the-boundary',
      'Content-Length': String(text.length),
      'Accept-Ranges': 'bytes',
      ...validatorFields,
    });
  });

  test('nothing satisfiable is 416 with the size', () => {
    const answer = plan({ range: 'bytes=36-' });
    expect(answer).toEqual({ status: 416, headers: ['Content-Range', 'bytes */36'], parts: [], tail: '' });
  });

  test('an empty representation ignores Range', () => {
    const answer = plan({ range: 'bytes=0-0' }, 'GET', { size: 0 });
    expect(answer.status).toBe(200);
    expect(answer.parts).toEqual([]);
    expect(fields(answer)).toMatchObject({ 'Content-Length': '0' });
  });

  describe('a void Range returns the whole, not wrong bytes', () => {
    test.each<ByteRequestHeaders>([
      { range: 'bytes=5-1' },
      { range: 'lines=1-2' },
      { range: 'bytes=0-1', 'if-range': '"other"' },
      { range: 'bytes=0-1', 'if-range': 'W/"abc"' },
      { range: 'bytes=0-1', 'if-range': renderHttpDate(MODIFIED - 1) },
      { range: 'bytes=99-', 'if-range': '"other"' },
    ])('%j', (headers) => {
      expect(plan(headers)).toEqual(plan());
    });
  });

  test.each([{ 'if-range': '"abc"' }, { 'if-range': renderHttpDate(MODIFIED) }])(
    'a condition that holds allows the range: %j',
    (condition) => {
      expect(plan({ range: 'bytes=0-1', ...condition }).status).toBe(206);
    },
  );

  test('If-Range without Range changes nothing', () => {
    expect(plan({ 'if-range': '"other"' })).toEqual(plan());
  });

  test('HEAD has the fields of GET, ignores Range and has no content', () => {
    const answer = plan({ range: 'bytes=0-1' }, 'HEAD');
    expect(answer).toEqual({ ...plan(), parts: [] });
    expect(plan({ range: 'bytes=99-' }, 'HEAD').status).toBe(200);
  });

  test('304 carries the validators and no length, and beats a range', () => {
    const answer = plan({ 'if-none-match': '"abc"', range: 'bytes=0-1' });
    expect(answer.status).toBe(304);
    expect(fields(answer)).toEqual(validatorFields);
    expect(answer.parts).toEqual([]);
    expect(plan({ 'if-none-match': '"abc"', range: 'bytes=99-' }).status).toBe(304);
  });

  test('412 takes precedence over everything', () => {
    expect(plan({ 'if-match': '"x"', 'if-none-match': '"abc"', range: 'bytes=99-' })).toEqual({
      status: 412,
      headers: [],
      parts: [],
      tail: '',
    });
  });

  test('a modification date in the future is sent as now, and is weak', () => {
    const future = { lastModified: NOW + 100 };
    expect(fields(plan({}, 'GET', future))['Last-Modified']).toBe(renderHttpDate(NOW));
    expect(plan({ range: 'bytes=0-1', 'if-range': renderHttpDate(NOW) }, 'GET', future).status).toBe(200);
    expect(
      plan({ range: 'bytes=0-1', 'if-range': renderHttpDate(NOW) }, 'GET', { lastModified: NOW }).status,
    ).toBe(200);
  });

  test('property: every 206 holds the bytes that its Content-Range names, and Content-Length is never wrong', () => {
    const spec = fc.oneof(
      fc.tuple(fc.nat(50), fc.nat(50)).map(([a, b]) => `${a}-${b}`),
      fc.nat(50).map((first) => `${first}-`),
      fc.nat(50).map((suffix) => `-${suffix}`),
    );
    const conditions = fc.record(
      {
        'if-range': fc.constantFrom('"abc"', '"x"', 'W/"abc"', renderHttpDate(MODIFIED), renderHttpDate(0)),
        'if-none-match': fc.constantFrom('"abc"', '"x"', '*'),
        'if-match': fc.constantFrom('"abc"', '"x"', '*'),
        'if-modified-since': fc.constantFrom(renderHttpDate(MODIFIED), renderHttpDate(0), 'x'),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(spec, { maxLength: 6 }), conditions, (specs, conditional) => {
        const headers = {
          ...conditional,
          ...(specs.length > 0 ? { range: `bytes=${specs.join(',')}` } : {}),
        };
        const answer = plan(headers);
        const said = fields(answer);
        const text = body(answer);
        if (answer.status === 200) expect(text).toBe(bytes.toString());
        if (answer.status === 200 || answer.status === 206)
          expect(said['Content-Length']).toBe(String(text.length));
        else expect(said['Content-Length']).toBeUndefined();
        if (answer.status !== 206) return;
        const single = /^bytes ([0-9]+)-([0-9]+)\/36$/.exec(said['Content-Range'] ?? '');
        if (single !== null) {
          expect(text).toBe(bytes.toString('latin1', Number(single[1]), Number(single[2]) + 1));
          return;
        }
        const parts = readMultipart(text, BOUNDARY);
        expect(parts.length).toBeGreaterThan(1);
        for (const part of parts) {
          const [first = Number.NaN, last = Number.NaN] = part.range.split('-').map(Number);
          expect(part.content).toBe(bytes.toString('latin1', first, last + 1));
        }
      }),
      { numRuns: 1000 },
    );
  });
});
