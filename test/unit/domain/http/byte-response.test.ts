import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  planByteResponse,
  type ByteRequestHeaders,
  type ByteResponsePlan,
  type Representation,
} from '../../../../src/domain/http/byte-response.ts';
import { renderHttpDate } from '../../../../src/domain/http/http-date.ts';

const NOW = 1_800_000_000;
const MODIFIED = 1_700_000_000;
const BOUNDARY = 'the-boundary';
const bytes = Buffer.from('0123456789abcdefghijklmnopqrstuvwxyz');

const representation: Representation = {
  etag: '"abc"',
  lastModified: MODIFIED,
  lastModifiedIsStrong: true,
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

/** Reads a multipart/byteranges body strictly, as in RFC 2046. */
function readMultipart(text: string, boundary: string): { range: string; content: string }[] {
  const opening = `--${boundary}\r\n`;
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
      const headers = { ...conditional, ...(specs.length > 0 ? { range: `bytes=${specs.join(',')}` } : {}) };
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
