import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { renderHttpDate } from '../../../src/domain/http/http-date.ts';
import { parseDestination } from '../../../src/domain/release/destination.ts';
import { parseBytePathTarget } from '../../../src/server/bytes/byte-path-target.ts';
import { fakeRelease } from '../../fakes/fake-serving.ts';
import {
  patternBytes,
  serveFiles,
  startCdn,
  storeObject,
  type CdnFixture,
} from '../../support/cdn-fixture.ts';
import { campaignSize } from '../../support/long.ts';
import { exchange, rawRequest } from '../../support/raw-http.ts';

const MIB = 1024 * 1024;
const CREATED = 1_760_000_000;
const small = patternBytes(5000);
const large = patternBytes(3 * MIB + 77, 2);

async function startWithFiles(): Promise<CdnFixture & { etag: string; largeEtag: string }> {
  const cdn = await startCdn();
  const entries = await serveFiles(cdn, {
    'a/small.bin': small,
    'large.bin': large,
    'empty.bin': Buffer.alloc(0),
    'dir/sp ace/日本 100%+&?#.txt': Buffer.from('odd'),
  });
  return {
    ...cdn,
    etag: `"${entries.get('a/small.bin')?.blake3 ?? ''}"`,
    largeEtag: `"${entries.get('large.bin')?.blake3 ?? ''}"`,
  };
}

describe('the byte path', () => {
  test('GET returns the whole entry with every field of the byte path', async () => {
    const cdn = await startWithFiles();
    const answer = await cdn.request('GET', 'a/small.bin');
    expect(answer.status).toBe(200);
    expect(answer.body.equals(small)).toBe(true);
    const { date, ...headers } = answer.headers;
    expect(Date.parse(date ?? '')).not.toBeNaN();
    expect(headers).toEqual({
      'content-type': 'application/octet-stream',
      'content-length': '5000',
      'accept-ranges': 'bytes',
      etag: cdn.etag,
      'last-modified': renderHttpDate(CREATED),
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      connection: 'close',
    });
  });

  test('an entry of several blocks and an empty one', async () => {
    const cdn = await startWithFiles();
    const answer = await cdn.request('GET', 'large.bin');
    expect(answer.headers['content-length']).toBe(String(large.length));
    expect(answer.body.equals(large)).toBe(true);
    const empty = await cdn.request('GET', 'empty.bin', { range: 'bytes=0-0' });
    expect(empty).toMatchObject({ status: 200, headers: { 'content-length': '0' } });
    expect(empty.body.length).toBe(0);
  });

  test('under the release the bytes are immutable; the query is ignored', async () => {
    const cdn = await startWithFiles();
    const answer = await cdn.request('GET', 'r1/a/small.bin?nocache=123&../x');
    expect(answer.status).toBe(200);
    expect(answer.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect(answer.body.equals(small)).toBe(true);
  });

  test('paths are decoded once', async () => {
    const cdn = await startWithFiles();
    const encoded = 'dir/sp ace/日本 100%+&?#.txt'.split('/').map(encodeURIComponent).join('/');
    expect((await cdn.request('GET', encoded)).body.toString()).toBe('odd');
    expect((await cdn.request('GET', `r1/${encoded}`)).body.toString()).toBe('odd');
    expect((await cdn.request('GET', encoded.replaceAll('%', '%25'))).status).toBe(404);
    expect((await cdn.request('GET', '%61/small.bin')).status).toBe(200);
  });

  describe('a path without an entry is not found', () => {
    test.each([
      '',
      'a',
      'a/',
      '/a/small.bin',
      'a//small.bin',
      'a/small.bin/',
      'A/small.bin',
      'a%252Fsmall.bin',
      'a%2F%2Fsmall.bin',
      'a%2F..%2Fa%2Fsmall.bin',
      '%2Fa%2Fsmall.bin',
      'a%5Csmall.bin',
      'a\\small.bin',
      'a/small.bin%00',
      './a/small.bin',
      'a/./small.bin',
      'a/../a/small.bin',
      '%2e%2e/a/small.bin',
      'a/%2e/small.bin',
      '..%2f..%2fetc%2fpasswd',
      '../../../../etc/passwd',
      'r1',
      'r1/',
      'r2/a/small.bin',
      'r1/r1/a/small.bin',
      'R1/a/small.bin',
      '__proto__',
      'constructor/x',
      'FORMAT',
      'objects/00/00',
      'a/small.bin;x',
      'a/small.bin.blocks',
    ])('%j', async (path) => {
      const cdn = await startWithFiles();
      const answer = await cdn.request('GET', path);
      expect(answer.status).toBe(404);
      expect(answer.headers['content-type']).toBe('application/problem+json');
      expect(answer.headers['cache-control']).toBe('no-store');
      expect(JSON.parse(answer.body.toString())).toMatchObject({
        code: 'unknown_destination',
        instance: 'request-id-of-the-test',
      });
      // A failed precondition on a missing entry does not give 412.
      expect((await cdn.request('GET', path, { 'if-match': '"x"' })).status).toBe(404);
    });
  });

  test.each(['%zz', 'a%', '%c0%ae%c0%ae/x', '%ff', '%ed%a0%80'])('%s is malformed', async (path) => {
    const cdn = await startWithFiles();
    const answer = await cdn.request('GET', path);
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body.toString())).toMatchObject({ code: 'invalid_request' });
  });

  test.each(['POST', 'PUT', 'DELETE', 'PATCH', 'TRACE', 'PROPFIND'])('%s is not allowed', async (method) => {
    const cdn = await startWithFiles();
    const answer = await cdn.request(method, 'a/small.bin');
    expect(answer.status).toBe(405);
    expect(answer.headers['allow']).toBe('GET, HEAD, OPTIONS');
    expect(JSON.parse(answer.body.toString())).toMatchObject({ code: 'method_not_allowed' });
  });

  test('OPTIONS names the methods and ignores preconditions', async () => {
    const cdn = await startWithFiles();
    const answer = await cdn.request('OPTIONS', 'a/small.bin', {
      'if-match': '"x"',
      range: 'bytes=9999999-',
    });
    expect(answer.status).toBe(204);
    expect(answer.headers['allow']).toBe('GET, HEAD, OPTIONS');
    expect(answer.headers['content-length']).toBeUndefined();
    expect(answer.body.length).toBe(0);
  });

  test('HEAD has the fields of GET and ignores Range', async () => {
    const cdn = await startWithFiles();
    for (const path of ['a/small.bin', 'large.bin', 'empty.bin', 'r1/large.bin', 'nothing', '%zz']) {
      const get = await cdn.request('GET', path);
      for (const fields of [{}, { range: 'bytes=0-1' }, { range: 'bytes=99999999-' }]) {
        const head = await cdn.request('HEAD', path, fields);
        expect(head.status).toBe(get.status);
        expect({ ...head.headers, date: '' }).toEqual({ ...get.headers, date: '' });
        expect(head.body.length).toBe(0);
      }
    }
  });

  test.each([
    ['bytes=0-0', 0, 1],
    ['bytes=0-', 0, large.length],
    ['bytes=-1', large.length - 1, large.length],
    [`bytes=${MIB - 1}-${MIB}`, MIB - 1, MIB + 1],
    [`bytes=${MIB}-${2 * MIB - 1}`, MIB, 2 * MIB],
    [`bytes=100-${3 * MIB + 5}`, 100, 3 * MIB + 6],
    [`bytes=${3 * MIB}-99999999999999999999`, 3 * MIB, large.length],
  ])('%s returns exactly those bytes', async (range, start, end) => {
    const cdn = await startWithFiles();
    const answer = await cdn.request('GET', 'large.bin', { range });
    expect(answer.status).toBe(206);
    expect(answer.headers['content-range']).toBe(`bytes ${start}-${end - 1}/${large.length}`);
    expect(answer.headers['content-length']).toBe(String(end - start));
    expect(answer.headers['etag']).toBe(cdn.largeEtag);
    expect(answer.headers['cache-control']).toBe('no-cache');
    expect(answer.body.equals(large.subarray(start, end))).toBe(true);
  });

  test('several ranges return multipart/byteranges across blocks', async () => {
    const cdn = await startWithFiles();
    const wanted: [number, number][] = [
      [2 * MIB - 10, 2 * MIB + 10],
      [0, 1],
      [large.length - 3, large.length],
    ];
    const answer = await cdn.request('GET', 'large.bin', {
      range: `bytes=${2 * MIB - 10}-${2 * MIB + 9}, 0-0, -3`,
    });
    expect(answer.status).toBe(206);
    expect(answer.headers['content-range']).toBeUndefined();
    expect(answer.headers['content-length']).toBe(String(answer.body.length));
    const boundary =
      /^multipart\/byteranges; boundary=([0-9a-f]{32})$/.exec(answer.headers['content-type'] ?? '')?.[1] ??
      '';
    const parts = wanted.map(([start, end]) =>
      Buffer.concat([
        Buffer.from(
          `\r\n--${boundary}\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes ${start}-${end - 1}/${large.length}\r\n\r\n`,
        ),
        large.subarray(start, end),
      ]),
    );
    expect(answer.body.equals(Buffer.concat([...parts, Buffer.from(`\r\n--${boundary}--\r\n`)]))).toBe(true);
    expect(await cdn.metric('slipway_cdn_ranges_total')).toBe(1);
  });

  test('nothing satisfiable is 416 with the size', async () => {
    const cdn = await startWithFiles();
    const answer = await cdn.request('GET', 'a/small.bin', { range: 'bytes=5000-' });
    expect(answer.status).toBe(416);
    expect(answer.headers['content-range']).toBe('bytes */5000');
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(JSON.parse(answer.body.toString())).toMatchObject({ code: 'range_not_satisfiable', status: 416 });
  });

  test('conditional requests', async () => {
    const cdn = await startWithFiles();
    const fresh = await cdn.request('GET', 'a/small.bin', {
      'if-none-match': `W/${cdn.etag}`,
      range: 'bytes=0-1',
    });
    expect(fresh.status).toBe(304);
    expect(fresh.body.length).toBe(0);
    expect(fresh.headers).toMatchObject({ etag: cdn.etag, 'cache-control': 'no-cache' });
    expect(fresh.headers['content-length']).toBeUndefined();
    expect(fresh.headers['content-type']).toBeUndefined();
    const since = renderHttpDate(CREATED);
    expect((await cdn.request('GET', 'a/small.bin', { 'if-modified-since': since })).status).toBe(304);
    expect((await cdn.request('HEAD', 'a/small.bin', { 'if-modified-since': since })).status).toBe(304);
    expect(
      (await cdn.request('GET', 'a/small.bin', { 'if-none-match': '"x"', 'if-modified-since': since }))
        .status,
    ).toBe(200);
    const failed = await cdn.request('GET', 'a/small.bin', { 'if-match': '"x"' });
    expect(failed.status).toBe(412);
    expect(JSON.parse(failed.body.toString())).toMatchObject({ code: 'precondition_failed' });
    expect((await cdn.request('HEAD', 'a/small.bin', { 'if-match': `W/${cdn.etag}` })).body.length).toBe(0);
    expect(
      (await cdn.request('GET', 'a/small.bin', { 'if-unmodified-since': renderHttpDate(0) })).status,
    ).toBe(412);
  });

  test('a repeated date field is a list and is ignored', async () => {
    const cdn = await startWithFiles();
    const since = renderHttpDate(CREATED);
    const answer = await exchange(
      cdn.port,
      `GET /cdn.example/a/small.bin HTTP/1.1\r\nHost: x\r\nConnection: close\r\nIf-Modified-Since: ${since}\r\nIf-Modified-Since: ${since}\r\n\r\n`,
    );
    expect(answer.status).toBe(200);
  });

  test('If-Range allows a range only for the same bytes', async () => {
    const cdn = await startWithFiles();
    const status = async (path: string, ifRange: string): Promise<number> =>
      (await cdn.request('GET', path, { range: 'bytes=1-2', 'if-range': ifRange })).status;
    const date = renderHttpDate(CREATED);
    expect(await status('a/small.bin', cdn.etag)).toBe(206);
    expect(await status('a/small.bin', `W/${cdn.etag}`)).toBe(200);
    expect(await status('a/small.bin', cdn.largeEtag)).toBe(200);
    expect(await status('a/small.bin', date)).toBe(206);
    expect(await status('a/small.bin', renderHttpDate(CREATED + 1))).toBe(200);
  });

  test('Last-Modified is the instant of the switch under the current path, and that of the release under its own', async () => {
    const cdn = await startWithFiles();
    const entry = await storeObject(cdn.root, 'a/small.bin', patternBytes(5000, 9));
    cdn.serving.serve([fakeRelease({ releaseId: 'r2', currentSince: CREATED + 50, entries: [entry] })]);
    const dateOf = async (path: string): Promise<string | undefined> =>
      (await cdn.request('HEAD', path)).headers['last-modified'];
    expect(await dateOf('a/small.bin')).toBe(renderHttpDate(CREATED + 50));
    expect(await dateOf('r2/a/small.bin')).toBe(renderHttpDate(CREATED));
    for (const [seconds, status] of [
      [-1, 200],
      [0, 304],
      [1, 200],
    ] as const) {
      const headers = { 'if-modified-since': renderHttpDate(CREATED + 50 + seconds) };
      expect((await cdn.request('GET', 'a/small.bin', headers)).status).toBe(status);
    }
  });

  test('Last-Modified is never later than Date', async () => {
    const cdn = await startCdn();
    const entry = await storeObject(cdn.root, 'x', small);
    cdn.serving.serve([fakeRelease({ releaseId: 'r1', createdAt: 4_000_000_000, entries: [entry] })]);
    const { headers } = await cdn.request('GET', 'x');
    expect(Date.parse(headers['last-modified'] ?? '')).toBeLessThanOrEqual(Date.parse(headers['date'] ?? ''));
  });

  test('current, retained and localized releases have their own bytes', async () => {
    const cdn = await startCdn();
    const file = async (
      seed: number,
    ): Promise<{ bytes: Buffer; entry: Awaited<ReturnType<typeof storeObject>> }> => {
      const bytes = patternBytes(2000, seed);
      return { bytes, entry: await storeObject(cdn.root, 'x', bytes) };
    };
    const [old, now, localized] = [await file(11), await file(12), await file(13)];
    cdn.serving.serve([
      fakeRelease({ releaseId: 'new', entries: [now.entry] }),
      fakeRelease({ releaseId: 'old', role: 'retained', entries: [old.entry] }),
      fakeRelease({ releaseId: 'cn', channel: 'localized', entries: [localized.entry] }),
    ]);
    expect((await cdn.request('GET', 'x')).body.equals(now.bytes)).toBe(true);
    expect((await cdn.request('GET', 'new/x')).body.equals(now.bytes)).toBe(true);
    expect((await cdn.request('GET', 'old/x')).body.equals(old.bytes)).toBe(true);
    expect((await cdn.request('GET', 'cn/x')).body.equals(localized.bytes)).toBe(true);
    cdn.serving.refused.set('old', 'AttestationExpired');
    expect((await cdn.request('GET', 'old/x')).status).toBe(503);
    expect((await cdn.request('GET', 'x')).status).toBe(200);
  });

  test('a refused release is 503 with reason and Retry-After, also for entries that it does not hold', async () => {
    const cdn = await startWithFiles();
    cdn.serving.refused.set('r1', 'AttestationExpired');
    for (const path of ['a/small.bin', 'r1/a/small.bin', 'nothing']) {
      const answer = await cdn.request('GET', path, { 'if-match': '"x"' });
      expect(answer.status).toBe(503);
      expect(answer.headers['retry-after']).toBe('10');
      expect(answer.headers['cache-control']).toBe('no-store');
      expect(JSON.parse(answer.body.toString())).toMatchObject({
        code: 'not_distributable',
        reason: 'AttestationExpired',
      });
    }
    expect((await cdn.request('HEAD', 'a/small.bin')).body.length).toBe(0);
  });

  test('a release that is authorized but still being read is 503 with Retry-After, never 404', async () => {
    const cdn = await startWithFiles();
    const releases = [...cdn.serving.state().byReleaseId.values()];
    cdn.serving.serve(releases, ['r99_next']);
    const answer = await cdn.request('GET', 'r99_next/a/small.bin');
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': expect.any(String) } });
    expect(JSON.parse(answer.body.toString())).toMatchObject({ reason: 'SnapshotLoading' });
    expect((await cdn.request('GET', 'r98_unknown/a/small.bin')).status).toBe(404);
  });

  test('a release that is authorized but cannot be read is 503 with the reason of its verdict', async () => {
    const cdn = await startWithFiles();
    cdn.serving.serve([...cdn.serving.state().byReleaseId.values()], ['r99_next']);
    cdn.serving.refused.set('r99_next', 'ManifestDamaged');
    const answer = await cdn.request('GET', 'r99_next/a/small.bin');
    expect(answer.status).toBe(503);
    expect(JSON.parse(answer.body.toString())).toMatchObject({
      reason: 'ManifestDamaged',
      detail: 'Release r99_next is not distributable: the test says ManifestDamaged.',
    });
  });

  test('no current release is 503', async () => {
    const cdn = await startCdn();
    const answer = await cdn.request('GET', 'x');
    expect(answer.status).toBe(503);
    expect(JSON.parse(answer.body.toString())).toMatchObject({ reason: 'AttestationUnavailable' });
  });

  test('a verdict that is lost while the first bytes are read holds them back', async () => {
    const cdn = await startWithFiles();
    let asked = 0;
    const servable = cdn.serving.servable.bind(cdn.serving);
    cdn.serving.servable = (release) => {
      asked += 1;
      return asked === 1
        ? servable(release)
        : { ok: false, reason: 'AttestationExpired', message: 'just now' };
    };
    expect((await cdn.request('GET', 'a/small.bin')).status).toBe(503);
    expect(asked).toBe(2);
    expect(cdn.handler.parts.budget.used).toBe(0);
  });

  test('requests on one connection are answered in order', async () => {
    const cdn = await startWithFiles();
    const one = 'GET /cdn.example/a/small.bin HTTP/1.1\r\nHost: x\r\nRange: bytes=0-2\r\n';
    const answer = await exchange(cdn.port, `${one}\r\n${one}Connection: close\r\n\r\n`);
    const text = answer.body.toString('latin1');
    expect(answer.status).toBe(206);
    const expected = small.toString('latin1', 0, 3);
    expect(text.startsWith(`${expected}HTTP/1.1 206 `)).toBe(true);
    expect(text.endsWith(`\r\n\r\n${expected}`)).toBe(true);
  });

  test('hostile fields change no byte', async () => {
    const cdn = await startWithFiles();
    const plain = await cdn.request('GET', 'a/small.bin');
    for (const fields of [
      { host: 'evil.example' },
      { 'x-forwarded-host': 'evil.example' },
      { 'accept-encoding': 'gzip, br' },
      { accept: 'text/html' },
      { authorization: '{"head":{},"sign":"x"}' },
      { 'if-range': '"x"' },
      { range: `bytes=${'0-0,'.repeat(3000)}1-1` },
      { expect: '100-continue' },
    ]) {
      const answer = await rawRequest(cdn.port, 'GET', '/cdn.example/a/small.bin', fields);
      expect(answer.headers['content-encoding']).toBeUndefined();
      if ('expect' in fields) continue;
      expect(answer.body.equals(plain.body)).toBe(true);
      expect({ ...answer.headers, date: '' }).toEqual({ ...plain.headers, date: '' });
    }
  });

  test('the metrics count the bytes sent', async () => {
    const cdn = await startWithFiles();
    await cdn.request('GET', 'a/small.bin');
    await cdn.request('GET', 'large.bin', { range: 'bytes=0-99' });
    await cdn.request('GET', 'nothing');
    expect(await cdn.metric('slipway_cdn_sent_bytes_total')).toBe(5100);
    expect(await cdn.metric('slipway_cdn_responses_total')).toBe(3);
    expect(await cdn.metric('slipway_cdn_verified_blocks_total')).toBe(2);
    expect(await cdn.metric('slipway_cdn_verified_bytes_total')).toBe(5000 + 64 * 1024);
    expect(await cdn.metric('slipway_cdn_open_descriptors')).toBe(2);
    expect(await cdn.metric('slipway_cdn_in_flight_bytes')).toBe(0);
  });
});

const PREFIX = '/cdn.example/';

describe('the path of a request', () => {
  test('property: every destination is reached by its encoded path, with any query', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 4 }),
        fc.string(),
        (segments, query) => {
          const destination = segments
            .map((segment) => segment.normalize('NFC').replaceAll('/', '_'))
            .join('/');
          fc.pre(parseDestination(destination).ok);
          const bySegment = destination.split('/').map(encodeURIComponent).join('/');
          const asOneSegment = encodeURIComponent(destination);
          for (const encoded of [bySegment, asOneSegment, asOneSegment.replaceAll('%2F', '%2f')]) {
            expect(parseBytePathTarget(`${PREFIX}${encoded}?${query}`, PREFIX)).toEqual({
              kind: 'path',
              path: destination,
            });
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  test('property: no resulting path has a segment that could leave a directory', () => {
    const piece = fc.constantFrom(
      'a',
      '.',
      '..',
      '/',
      '\\',
      '%2e',
      '%2E',
      '%2f',
      '%5c',
      '%00',
      '%25',
      '%',
      '2e',
      '?',
      '%c0%ae',
      '%e3%81%82',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const parsed = parseBytePathTarget(PREFIX + pieces.join(''), PREFIX);
        if (parsed.kind !== 'path') return;
        expect(parsed.path).not.toMatch(/[\\\0]/);
        for (const segment of parsed.path.split('/')) expect(['', '.', '..']).not.toContain(segment);
      }),
      { numRuns: campaignSize(500, 10_000) },
    );
  });
});
