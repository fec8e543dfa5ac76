import { expect, it } from 'vitest';
import { BYTE_FILES, describeBytePaths, LARGE, SMALL } from '../support/byte-path.ts';
import { ask, HttpConnection, renderRequest } from '../support/http-connection.ts';
import type { RawAnswer } from '../support/raw-http.ts';
import { CDN_HOST } from '../support/system.ts';

const small = BYTE_FILES[SMALL]!;
const large = BYTE_FILES[LARGE]!;
const PATH = `/${CDN_HOST}/${SMALL}`;
const CLOSE = [['Connection', 'close']] as const;
/** The request that an attacker wants answered. */
const SMUGGLED = renderRequest('GET', `/${CDN_HOST}/${encodeURIComponent('empty.bytes')}`);

/** A head followed by a body. */
function message(fields: string, body = ''): string {
  return `GET ${PATH} HTTP/1.1\r\nHost: x\r\n${fields}\r\n\r\n${body}`;
}

/** Messages that two servers may frame differently. */
const AMBIGUOUS: ReadonlyArray<readonly [string, string]> = [
  [
    'Content-Length and Transfer-Encoding',
    message('Content-Length: 6\r\nTransfer-Encoding: chunked', '0\r\n\r\n'),
  ],
  [
    'Transfer-Encoding and Content-Length',
    message('Transfer-Encoding: chunked\r\nContent-Length: 6', '0\r\n\r\n'),
  ],
  ['two lengths', message('Content-Length: 0\r\nContent-Length: 5')],
  ['one length twice', message('Content-Length: 0\r\nContent-Length: 0')],
  ['a list of lengths', message('Content-Length: 0, 0')],
  ['a signed length', message('Content-Length: +0')],
  ['a negative length', message('Content-Length: -1')],
  ['a length with a space', message('Content-Length: 0 0')],
  ['a hexadecimal length', message('Content-Length: 0x0')],
  ['a length beyond 64 bits', message('Content-Length: 99999999999999999999')],
  ['an unknown transfer coding', message('Transfer-Encoding: xchunked')],
  ['identity', message('Transfer-Encoding: identity')],
  ['chunked that is not last', message('Transfer-Encoding: chunked, identity', '0\r\n\r\n')],
  [
    'a second transfer coding',
    message('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity', '0\r\n\r\n'),
  ],
  ['a vertical tab in front of chunked', message('Transfer-Encoding: \x0bchunked', '0\r\n\r\n')],
  ['a space in front of the colon', message('Transfer-Encoding : chunked', '0\r\n\r\n')],
  ['a folded field', message('X-A: b\r\n c')],
  ['a folded Transfer-Encoding', message('Transfer-Encoding:\r\n chunked', '0\r\n\r\n')],
  ['a space in front of the first field', `GET ${PATH} HTTP/1.1\r\n Host: x\r\n\r\n`],
  ['bare line feeds', `GET ${PATH} HTTP/1.1\nHost: x\n\n`],
  ['one bare line feed', `GET ${PATH} HTTP/1.1\r\nHost: x\nX-A: b\r\n\r\n`],
  ['a bare carriage return', `GET ${PATH} HTTP/1.1\r\nHost: x\rX-A: b\r\n\r\n`],
  ['a NUL in a field', message('X-A: b\0c')],
  ['a control character in a field', message('X-A: b\x07c')],
  ['a field without a colon', message('X-A')],
  ['a field without a name', message(': b')],
  ['a control character in the target', renderRequest('GET', `${PATH}\x01`)],
  ['raw octets in the target', renderRequest('GET', `${PATH}\xff`)],
  ['a tab in the request line', `GET\t${PATH} HTTP/1.1\r\nHost: x\r\n\r\n`],
  ['a method in lower case', renderRequest('get', PATH)],
  ['a method that is none', renderRequest('FETCH', PATH)],
  ['no Host', `GET ${PATH} HTTP/1.1\r\n\r\n`],
  ['two Hosts', message('Host: y')],
  ['a Host that is none', `GET ${PATH} HTTP/1.1\r\nHost: a b\r\n\r\n`],
  ['HTTP/0.9', `GET ${PATH}\r\n\r\n`],
  ['HTTP/1.2', `GET ${PATH} HTTP/1.2\r\nHost: x\r\n\r\n`],
  ['HTTP/2.0', `GET ${PATH} HTTP/2.0\r\nHost: x\r\n\r\n`],
  ['a chunked body in HTTP/1.0', `GET ${PATH} HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['a TLS greeting', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
];

/** Malformed chunked bodies. The head is valid, so the answer may already have begun. */
const BROKEN_BODIES: ReadonlyArray<readonly [string, string]> = [
  ['a line feed in a chunk extension', '5;a\nb\r\nhello\r\n0\r\n\r\n'],
  ['bare line feeds', '5\nhello\n0\n\n'],
  ['a negative chunk', '-5\r\nhello\r\n0\r\n\r\n'],
  ['a hexadecimal prefix', '0x5\r\nhello\r\n0\r\n\r\n'],
  ['a chunk that is too long', '5\r\nhelloXX0\r\n\r\n'],
  ['a chunk size beyond 64 bits', 'fffffffffffffffff\r\nhello\r\n0\r\n\r\n'],
  ['a space before the size', ' 5\r\nhello\r\n0\r\n\r\n'],
];

/** An ASCII character as an escape. */
function encodeOctet(character: string): string {
  return `%${(character.codePointAt(0) ?? 0).toString(16)}`;
}

/** Paths that lead out of the release, or would after another decoding or when joined to a folder. */
const OUTSIDE = [
  '..',
  '../attest/current.json',
  '../../../../../../etc/passwd',
  '%2e%2e/attest/current.json',
  '%2e%2e%2fattest%2fcurrent.json',
  '..%5cattest%5ccurrent.json',
  '..\\attest\\current.json',
  '%252e%252e/attest/current.json',
  'attest/current.json',
  'format.json',
  './TableBundles/Excel.zip',
  'TableBundles/../TableBundles/Excel.zip',
  'TableBundles//Excel.zip',
  'TableBundles/Excel.zip/',
  'TableBundles%252fExcel.zip',
  'TableBundles%2f%2fExcel.zip',
  'r1%2f..%2fTableBundles%2fExcel.zip',
  'TableBundles/Excel.zip%00',
  'TableBundles/Excel.zip%00.txt',
  'tablebundles/excel.zip',
  'TableBundles',
  'TableBundles/',
  '',
  'r1',
  'r1/',
  'r1/r1/TableBundles/Excel.zip',
  'r1/../TableBundles/Excel.zip',
  'r2/TableBundles/Excel.zip',
  '%c0%ae%c0%ae/attest/current.json',
  '%ff',
  '%zz',
  '__proto__',
  'constructor',
];

describeBytePaths((served) => {
  const open = async (): Promise<HttpConnection> => await HttpConnection.open(served().port);

  /** Everything that arrives until the connection ends. */
  const answersTo = async (bytes: string): Promise<readonly RawAnswer[]> => {
    const connection = await open();
    connection.send(bytes);
    const answers: RawAnswer[] = [];
    for (;;) {
      const answer = await connection.answer();
      if (answer.status === 0) return answers;
      answers.push(answer);
    }
  };

  it.each(AMBIGUOUS)('%s is refused and ends the connection', async (_name, bytes) => {
    const answers = await answersTo(bytes + SMUGGLED);
    expect(answers.map(({ status }) => status)).toEqual([400]);
    expect(answers[0]?.headers['connection']).toBe('close');
    expect(answers[0]?.headers['date']).toBeDefined();
  });

  it.each(BROKEN_BODIES)('a body with %s ends the connection', async (_name, body) => {
    const answers = await answersTo(message('Transfer-Encoding: chunked', body) + SMUGGLED);
    expect([[400], [200]]).toContainEqual(answers.map(({ status }) => status));
    for (const answer of answers.filter(({ status }) => status === 200)) {
      expect(answer.body.equals(small.subarray(0, answer.body.length))).toBe(true);
    }
  });

  it('a transfer coding other than chunked gets one 400 and the end, whatever else was asked', async () => {
    const modified = (await ask(served().port, 'GET', PATH)).headers['last-modified'] ?? '';
    for (const coding of [
      'identity',
      'gzip',
      'gzip, chunked',
      'chunked, identity',
      'chunked, chunked',
      'x',
      '',
    ]) {
      for (const [method, path, fields] of [
        ['GET', PATH, ''],
        ['GET', `/${CDN_HOST}/${encodeURI(LARGE)}`, ''],
        ['GET', PATH, 'Range: bytes=1-2\r\n'],
        ['GET', PATH, `If-Modified-Since: ${modified}\r\n`],
        ['GET', PATH, `If-None-Match: *\r\n`],
        ['HEAD', PATH, ''],
        ['OPTIONS', PATH, ''],
        ['OPTIONS', '*', ''],
        ['GET', '/admin/dashboard/', ''],
        ['GET', '/healthz', ''],
        ['GET', '/v1/resources', ''],
        ['POST', '/admin/control/sync', ''],
      ] as const) {
        const connection = await open();
        connection.send(
          `${method} ${path} HTTP/1.1\r\nHost: x\r\n${fields}Transfer-Encoding: ${coding}\r\n\r\n0\r\n\r\n`,
        );
        const { status, headers } = await connection.answer(method);
        const { rest } = await connection.closed();
        const seen = [
          coding,
          method,
          path,
          fields,
          status,
          headers['connection'],
          rest.includes('HTTP/1.1 '),
        ];
        expect(seen).toEqual([coding, method, path, fields, 400, 'close', false]);
      }
    }
  });

  it('a well-framed body is skipped, on GET too', async () => {
    for (const [fields, body] of [
      ['Content-Length: 5', 'hello'],
      ['Content-Length: 0', ''],
      ['Transfer-Encoding: chunked', '5;extension="x"\r\nhello\r\n0\r\nTrailer: x\r\n\r\n'],
      ['Content-Length: 70000', 'x'.repeat(70_000)],
    ] as const) {
      const answers = await answersTo(message(fields, body) + renderRequest('GET', PATH, CLOSE));
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      for (const answer of answers) expect(answer.body.equals(small)).toBe(true);
    }
  });

  it('a body that looks like a request is not treated as one', async () => {
    const answers = await answersTo(
      message(`Content-Length: ${SMUGGLED.length}`, SMUGGLED) + renderRequest('HEAD', '/healthz', CLOSE),
    );
    expect(answers.map(({ status, headers }) => [status, headers['content-type']])).toEqual([
      [200, 'application/zip'],
      [200, 'application/json; charset=utf-8'],
    ]);
  });

  it.each(OUTSIDE)('the path "%s" returns nothing from outside the manifest', async (path) => {
    for (const prefix of [`/${CDN_HOST}/`, `/${CDN_HOST}/r1/`]) {
      if (prefix + path === `/${CDN_HOST}/r1/r1/`) continue;
      const answer = await ask(served().port, 'GET', prefix + path);
      expect([400, 404]).toContain(answer.status);
      expect(answer.headers['content-type']).toBe('application/problem+json');
      expect(answer.body.includes('slipway-manifest')).toBe(false);
    }
  });

  it('neither Host nor an absolute target changes a byte of an answer', async () => {
    const expected = await ask(served().port, 'GET', PATH);
    for (const target of [PATH, `http://evil.invalid${PATH}`, `https://user@evil.invalid:1${PATH}`]) {
      const connection = await open();
      connection.send(
        `GET ${target} HTTP/1.1\r\nHost: evil.invalid\r\nX-Forwarded-Host: evil.invalid\r\nX-Forwarded-Proto: gopher\r\nX-Original-URL: /healthz\r\n\r\n`,
      );
      const { statusLine, headers, body } = await connection.answer();
      connection.destroy();
      expect({ statusLine, headers: { ...headers, date: '' }, body }).toEqual({
        statusLine: expected.statusLine,
        headers: { ...expected.headers, date: '' },
        body: expected.body,
      });
    }
  });

  it('a CDN host with escapes names the same resource', async () => {
    const expected = await ask(served().port, 'GET', PATH);
    const escaped = CDN_HOST.replaceAll('.', '%2E').replace(/^./, (first) => encodeOctet(first));
    for (const host of [escaped, CDN_HOST.replace('.', '%2e')]) {
      const { statusLine, headers, body } = await ask(
        served().port,
        'GET',
        PATH.replace(CDN_HOST, () => host),
      );
      expect({ statusLine, headers: { ...headers, date: '' }, body }).toEqual({
        statusLine: expected.statusLine,
        headers: { ...expected.headers, date: '' },
        body: expected.body,
      });
    }
    for (const host of [CDN_HOST.replace('.', '%252e'), `${CDN_HOST}%2e`, '%2e%2e', '%2e'])
      expect(
        (
          await ask(
            served().port,
            'GET',
            PATH.replace(CDN_HOST, () => host),
          )
        ).status,
      ).toBe(404);
    expect((await ask(served().port, 'GET', PATH.replace('.', '%2'))).status).toBe(400);
  });

  it('requests in one segment are answered in order', async () => {
    const connection = await open();
    const ranges = [
      [0, 1],
      [10, 4999],
      [7, 7],
    ] as const;
    connection.send(
      ranges
        .map(([first, last]) => renderRequest('GET', PATH, [['Range', `bytes=${first}-${last}`]]))
        .join('') +
        renderRequest('HEAD', PATH) +
        renderRequest('GET', `/${CDN_HOST}/${LARGE}`) +
        renderRequest('GET', `/${CDN_HOST}/none`) +
        renderRequest('GET', PATH, CLOSE),
    );
    for (const [first, last] of ranges) {
      expect((await connection.answer()).body.equals(small.subarray(first, last + 1))).toBe(true);
    }
    expect((await connection.answer('HEAD')).headers['content-length']).toBe('5000');
    expect((await connection.answer()).body.equals(large)).toBe(true);
    expect((await connection.answer()).status).toBe(404);
    expect((await connection.answer()).body.equals(small)).toBe(true);
    expect((await connection.closed()).rest.length).toBe(0);
  });

  it('a hundred requests in a row share a connection', async () => {
    const connection = await open();
    for (let turn = 0; turn < 100; turn += 1) {
      connection.send(renderRequest('GET', PATH, turn % 3 === 0 ? [['Range', `bytes=${turn}-`]] : []));
      const { body } = await connection.answer();
      expect(body.equals(small.subarray(turn % 3 === 0 ? turn : 0))).toBe(true);
    }
    connection.destroy();
  });

  it('a request that arrives byte by byte is one request', async () => {
    const connection = await open();
    for (const byte of renderRequest('GET', PATH, [['Range', 'bytes=1-3']])) {
      connection.send(byte);
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    expect((await connection.answer()).body.equals(small.subarray(1, 4))).toBe(true);
    connection.destroy();
  });

  it('garbage after a request whose answer has begun cuts the connection and adds nothing to the answer', async () => {
    const connection = await open();
    connection.send(renderRequest('GET', `/${CDN_HOST}/${LARGE}`));
    await new Promise((resolve) => connection.socket.once('data', resolve));
    connection.send('GARBAGE\r\n\r\n');
    const answer = await connection.answer();
    const { rest } = await connection.closed();
    // The bytes received are a prefix of the truth. A refusal may follow only a complete answer.
    expect(answer.body.equals(large.subarray(0, answer.body.length))).toBe(true);
    if (answer.wasCut) expect(rest.length).toBe(0);
  });

  it('bytes after a last request do not change its answer', async () => {
    for (const name of [SMALL, LARGE]) {
      const connection = await open();
      // In one packet: bytes that arrive while a large response waits for the client stay unread, and closing a socket
      // with unread bytes resets the connection.
      connection.send(`${renderRequest('GET', `/${CDN_HOST}/${name}`, CLOSE)}GARBAGE\r\n\r\n${SMUGGLED}`);
      expect((await connection.answer()).body.equals(BYTE_FILES[name]!)).toBe(true);
      expect((await connection.closed()).rest.length).toBe(0);
    }
  });

  it('a client that half-closes gets only true bytes', async () => {
    // Node ends a connection whose client will send no more; bytes that are ready by then are sent first.
    for (const name of Object.keys(BYTE_FILES)) {
      const connection = await open();
      connection.socket.allowHalfOpen = true;
      connection.socket.end(renderRequest('GET', served().target(name)));
      const { status, headers, body } = await connection.answer();
      if (status !== 0) expect(headers['content-length']).toBe(String(BYTE_FILES[name]!.length));
      expect(body.equals(BYTE_FILES[name]!.subarray(0, body.length))).toBe(true);
      await connection.closed();
    }
  });

  it('a connection closed without a request, or within one, does no harm', async () => {
    for (const bytes of ['', 'G', 'GET / HTTP', renderRequest('GET', PATH).slice(0, -2)]) {
      const connection = await open();
      if (bytes !== '') connection.send(bytes);
      connection.socket.end();
      const { rest } = await connection.closed();
      expect(rest.includes('HTTP/1.1 2')).toBe(false);
    }
    expect((await ask(served().port, 'GET', PATH)).status).toBe(200);
  });

  it('Expect: 100-continue is answered before the body arrives; another expectation fails', async () => {
    const connection = await open();
    connection.send(message('Expect: 100-continue\r\nContent-Length: 3'));
    expect((await connection.answer()).status).toBe(100);
    connection.send('abc');
    expect((await connection.answer()).body.equals(small)).toBe(true);
    connection.send(message('Expect: the-unexpected\r\nConnection: close'));
    expect((await connection.answer()).status).toBe(417);
    connection.destroy();
  });

  it('a request to change the protocol gets a normal answer, and ends the connection', async () => {
    for (const fields of [
      'Connection: Upgrade\r\nUpgrade: websocket',
      'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk',
    ]) {
      const answers = await answersTo(message(fields) + SMUGGLED);
      expect(answers.map(({ status, headers }) => [status, headers['connection']])).toEqual([[200, 'close']]);
      expect(answers[0]?.body.equals(small)).toBe(true);
    }
  });

  it('a tunnel is refused', async () => {
    const answers = await answersTo(renderRequest('CONNECT', 'evil.invalid:443') + SMUGGLED);
    // The target of the tunnel has no methods here.
    expect(answers.map(({ status, headers }) => [status, headers['allow']])).toEqual([[405, '']]);
  });

  it('HTTP/1.0 is answered and closed, or kept alive on request', async () => {
    const closed = await answersTo(`GET ${PATH} HTTP/1.0\r\n\r\n`);
    expect(closed.map(({ status }) => status)).toEqual([200]);
    expect(closed[0]?.body.equals(small)).toBe(true);
    const connection = await open();
    for (let turn = 0; turn < 2; turn += 1) {
      connection.send(`GET ${PATH} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n`);
      expect((await connection.answer()).body.equals(small)).toBe(true);
    }
    connection.destroy();
  });
});
