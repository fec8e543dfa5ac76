import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createMirrorHttp } from '../../../src/cli/verify/mirror/mirror-http.ts';
import type { MirrorReport } from '../../../src/cli/verify/mirror/mirror-report.ts';
import { VERIFY_EXIT_MEANINGS } from '../../../src/cli/verify/verify-exits.ts';
import { runVerify } from '../../../src/cli/verify/verify.ts';
import { systemClock, type Clock } from '../../../src/platform/process/clock.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { startTestServer, type TestServer } from '../../support/start-test-server.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const BIG = Buffer.alloc(2 * 1024 * 1024 + 7, 'big');
const now = (): number => Math.floor(Date.now() / 1000);

interface Mirror extends TestServer {
  readonly keyFile: string;
}

async function startMirror(
  releaseId = 'r1',
  config: Readonly<Record<string, unknown>> = {},
): Promise<Mirror> {
  const server = await startTestServer({ config, refresh: false });
  const files = { 'a b/ü.bin': 'aaa', 'big.bin': BIG, 'c.bin': 'ccc', 'empty.bin': '' };
  const official = await server.store.addRelease({ releaseId, files, document: '{"ConnectionGroups":[]}' });
  server.daemon.setEnvelope(server.store.attest({ version: 7, issuedAt: now(), official }));
  server.parts.room.refresher.start();
  await until(() => server.parts.room.serving.verdict('official').distributable, 10_000);
  const keyFile = join(await temporaryDirectory(), 'mirror.pub');
  await writeFile(keyFile, server.store.publicKeyPem);
  return { ...server, keyFile };
}

const environment: Record<string, string> = {};

async function verify(...argv: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  let [out, err] = ['', ''];
  const code = await runVerify(argv, {
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (err += text) },
    env: environment,
  });
  return { code, out, err };
}

async function report(...argv: readonly string[]): Promise<{ code: number; report: MirrorReport }> {
  const { code, out } = await verify(...argv, '-o', 'json');
  return { code, report: JSON.parse(out) as MirrorReport };
}

/** Starts a server between the check and a mirror. @param change the body or the status to answer instead; `null` breaks off */
async function startProxy(
  target: string,
  change: (path: string, body: Buffer) => Buffer | number | null,
  headersOf: (path: string) => Readonly<Record<string, string>> = () => ({}),
): Promise<{ readonly url: string; readonly paths: string[] }> {
  const paths: string[] = [];
  const forward = async ({ url = '' }: IncomingMessage, response: ServerResponse): Promise<void> => {
    paths.push(url);
    const answer = await fetch(`${target}${url}`);
    const body = change(url, Buffer.from(await answer.arrayBuffer()));
    if (body === null) response.destroy();
    else if (typeof body === 'number') response.writeHead(body).end();
    else response.writeHead(answer.status, { 'content-length': body.length, ...headersOf(url) }).end(body);
  };
  const server = createServer((request, response) => void forward(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, paths };
}

describe('slipway verify --url', () => {
  it('reads every byte of a sound mirror by its public interface', async () => {
    const mirror = await startMirror();
    const { code, report: found } = await report('--url', `${mirror.url}/`, '--keys', mirror.keyFile);
    expect(code).toBe(0);
    expect(found).toMatchObject({ sound: true, complete: true, mode: 'full', attestation: { version: 7 } });
    expect(found.releases).toMatchObject([
      {
        channel: 'official',
        release_id: 'r1',
        entries: 4,
        checked: 4,
        checked_bytes: BIG.length + 6,
        damaged: 0,
      },
    ]);
    expect(found.without_release).toEqual([{ channel: 'localized', reason: 'the attestation names none' }]);
    const { out } = await verify('--url', mirror.url, '--keys', mirror.keyFile);
    expect(out).toMatch(
      /localized: no release \(the attestation names none\)\n(?:not shown: .*\n)+all releases intact\n$/,
    );
  });

  it('says what a sound result does not show, and what would', async () => {
    const [mirror, origin] = [await startMirror(), await startMirror()];
    const argv = ['--url', mirror.url, '--keys', mirror.keyFile, '--keys', origin.keyFile];
    const notShown = async (...more: readonly string[]): Promise<readonly string[]> =>
      (await report(...argv, ...more)).report.not_shown;
    const [disk, age] = [
      expect.stringContaining('slipway verify DIR'),
      expect.stringContaining('--against URL'),
    ];
    expect(await notShown()).toEqual([disk, age]);
    expect(await notShown('--against', origin.url)).toEqual([disk]);
    expect(await notShown('--sample', '1')).toEqual([
      expect.stringContaining('the 3 files outside'),
      disk,
      age,
    ]);
    expect((await verify(...argv)).out).toContain('not shown: whether the disk of the mirror is sound');
  });

  it('says of a mirror that withholds a damaged release what it could prove: no wrong byte came from it', async () => {
    const mirror = await startMirror();
    // As a server answers once it has found the damage, and while it finds it.
    const withheld = await startProxy(mirror.url, (path, body) =>
      path.startsWith('/v1/distribution') ? 409 : body,
    );
    const argv = ['--url', withheld.url, '--keys', mirror.keyFile];
    const { code, out } = await verify(...argv);
    expect([code, out]).toEqual([4, expect.stringContaining('WITHHELD')]);
    expect(out).toContain('COULD NOT BE CHECKED: the mirror withholds a release now');
    expect(out).toContain('its attestation is sound and no wrong byte came from it');
    expect((await report(...argv)).report).toMatchObject({ sound: true, complete: false, not_shown: [] });
    const unsent = await startProxy(mirror.url, (path, body) => (path.endsWith('/c.bin') ? 503 : body));
    const partly = await verify('--url', unsent.url, '--keys', mirror.keyFile);
    expect([partly.code, partly.out]).toEqual([
      1,
      expect.stringContaining('no wrong byte came from it, but it did not send all'),
    ]);
  });

  it('names an https address that is http', async () => {
    const mirror = await startMirror();
    const { code, out } = await verify(
      '--url',
      mirror.url.replace('http:', 'https:'),
      '--keys',
      mirror.keyFile,
    );
    expect([code, out]).toEqual([4, expect.stringContaining(`it may be ${mirror.url}`)]);
    expect(out).toContain('speaks no TLS');
  });

  it('finds a changed byte, other bytes in all, a missing file and an answer that breaks off', async () => {
    const mirror = await startMirror();
    const proxy = await startProxy(mirror.url, (path, body) => {
      if (path.endsWith('/big.bin')) body[1_500_000] = (body[1_500_000] ?? 0) ^ 1;
      if (path.endsWith('/c.bin')) return Buffer.from('cccc');
      if (path.endsWith('/empty.bin')) return null;
      if (path.endsWith('/%C3%BC.bin')) return 404;
      return body;
    });
    const { code, report: found } = await report('--url', proxy.url, '--keys', mirror.keyFile);
    expect(code).toBe(1);
    const [release] = found.releases;
    expect(release?.damaged).toBe(4);
    expect(
      Object.fromEntries(release?.examples.map(({ destination, status }) => [destination, status]) ?? []),
    ).toEqual({
      'a b/ü.bin': 'missing',
      'big.bin': 'digest_mismatch',
      'c.bin': 'size_mismatch',
      'empty.bin': 'unreachable',
    });
  });

  it('finds files that come with a content coding, which clients that asked for none cannot read', async () => {
    const mirror = await startMirror();
    const proxy = await startProxy(
      mirror.url,
      (_path, body) => body,
      // Object stores name what changes no byte.
      (path) => ({ 'content-encoding': path.endsWith('/c.bin') ? 'gzip' : 'aws-chunked' }),
    );
    const { code, out } = await verify('--url', proxy.url, '--keys', mirror.keyFile);
    expect(code).toBe(1);
    expect(out).toContain('/r1/c.bin is sent with the content coding gzip, which nobody asked for');
    expect(out).not.toContain('aws-chunked');
  });

  it('calls no mirror sound that serves no release', async () => {
    const mirror = await startMirror();
    mirror.daemon.setEnvelope(mirror.store.attest({ version: 8, issuedAt: now() }));
    await until(() => !mirror.parts.room.serving.verdict('official').distributable, 30_000);
    const { code, report: found } = await report('--url', mirror.url, '--keys', mirror.keyFile);
    expect([code, found.complete, found.releases]).toEqual([4, false, []]);
    const { out } = await verify('--url', mirror.url, '--keys', mirror.keyFile);
    expect(out).toContain('official: no release (');
    expect(out).toContain('COULD NOT BE CHECKED: the mirror serves no release now');
  });

  it('finds a manifest that is not the signed one', async () => {
    const mirror = await startMirror();
    const proxy = await startProxy(mirror.url, (path, body) =>
      path.startsWith('/v1/distribution')
        ? Buffer.from(body.toString().replace('"size":3,', '"size":4,'))
        : body,
    );
    const { code, report: found } = await report('--url', proxy.url, '--keys', mirror.keyFile);
    expect(code).toBe(1);
    expect(found.releases[0]?.problems[0]).toContain('origin_manifest_differs');
  });

  it('believes no mirror whose key is not trusted, and reads nothing more of it', async () => {
    const [mirror, other] = [await startMirror(), await startMirror()];
    const proxy = await startProxy(mirror.url, (_path, body) => body);
    const { code, report: found } = await report('--url', proxy.url, '--keys', other.keyFile);
    expect(code).toBe(1);
    expect(found.attestation).toMatchObject({ status: 'invalid' });
    expect(found.attestation.problems[0]).toContain('origin_untrusted');
    expect(proxy.paths).toEqual(['/v1/release']);
  });

  it('reads as many files as the sample has', async () => {
    const mirror = await startMirror();
    const proxy = await startProxy(mirror.url, (_path, body) => body);
    const { code, report: found } = await report(
      '--url',
      proxy.url,
      '--keys',
      mirror.keyFile,
      '--sample',
      '2',
    );
    expect(code).toBe(0);
    expect(found).toMatchObject({ mode: 'sample', releases: [{ checked: 2 }] });
    const read = proxy.paths.filter((path) => path.endsWith('.bin'));
    expect(new Set(read).size).toBe(2);
  });

  it('compares with another Slipway: the same, another release, or not to be compared', async () => {
    const [mirror, same, newer] = [await startMirror(), await startMirror(), await startMirror('r2')];
    const check = async (against: string, ...keys: readonly string[]): ReturnType<typeof report> =>
      await report(
        '--url',
        mirror.url,
        '--against',
        against,
        '--sample',
        '1',
        ...keys.flatMap((key) => ['--keys', key]),
      );
    expect(await check(same.url, mirror.keyFile, same.keyFile)).toMatchObject({
      code: 0,
      report: { against: { status: 'same' } },
    });
    const other = await check(newer.url, mirror.keyFile, newer.keyFile);
    expect(other).toMatchObject({ code: 1, report: { against: { status: 'differs' } } });
    expect(other.report.against?.problems[0]).toMatch(/^official: the mirror has r1 .* there it is r2 /);
    expect(await check(same.url, mirror.keyFile)).toMatchObject({
      code: 3,
      report: { sound: true, complete: false, against: { status: 'not_checked' } },
    });
  });

  it('sends its token to the mirror that wants one, from a file or the environment, and shows it nowhere', async () => {
    const folder = await temporaryDirectory();
    const [secret, other] = ['a-token-of-a-mirror', 'the-token-of-the-other'];
    const [file, otherFile] = [join(folder, 'mirror.token'), join(folder, 'other.token')];
    await Promise.all([writeFile(file, `${secret}\n`), writeFile(otherFile, `${other}\n`)]);
    const closed = (tokenFile: string): object => ({
      auth: { public: 'token' },
      admin: { tokenFiles: [tokenFile] },
    });
    const mirror = await startMirror('r1', { ...closed(file) });
    const against = await startMirror('r1', { ...closed(otherFile) });
    const argv = ['--url', mirror.url, '--keys', mirror.keyFile, '--keys', against.keyFile];
    const check = async (...more: readonly string[]): Promise<[number, string]> => {
      const { code, out, err } = await verify(...argv, ...more);
      expect(out + err).not.toContain(secret);
      expect(out + err).not.toContain(other);
      return [code, out + err];
    };
    const both = ['--against', against.url, '--against-token-file', otherFile];
    expect((await check('--token-file', file))[0]).toBe(0);
    expect((await check('--token-file', file, ...both))[0]).toBe(0);
    expect(await check()).toEqual([4, expect.stringContaining('it wants a token')]);
    expect(await check('--token-file', otherFile)).toEqual([
      4,
      expect.stringContaining('does not take this'),
    ]);
    // Each Slipway gets its own token alone.
    expect(await check('--token-file', file, '--against', against.url)).toEqual([
      3,
      expect.stringContaining('it wants a token'),
    ]);
    onTestFinished(() => {
      for (const name of Object.keys(environment)) delete environment[name];
    });
    environment['SLIPWAY_VERIFY_TOKEN'] = secret;
    expect((await check())[0]).toBe(0);
    environment['SLIPWAY_VERIFY_TOKEN_FILE'] = otherFile;
    expect((await check())[0]).toBe(4);
    environment['SLIPWAY_VERIFY_TOKEN_FILE'] = join(folder, 'none');
    expect(await check()).toEqual([2, expect.stringContaining('none')]);
    delete environment['SLIPWAY_VERIFY_TOKEN_FILE'];
    environment['SLIPWAY_VERIFY_TOKEN'] = `${secret} ${secret}`;
    expect(await check()).toEqual([2, expect.stringContaining('does not hold a usable token')]);
  });

  it('checks the localized release, too, and says how far it is', async () => {
    const mirror = await startMirror();
    const { store, daemon, parts } = mirror;
    const official = await store.addRelease({
      releaseId: 'r2',
      files: { 'a.txt': 'official', 'big.bin': BIG },
    });
    const localized = await store.addRelease({
      releaseId: 'r2-l1',
      baseReleaseId: 'r2',
      channel: 'localized',
      files: { 'a.txt': 'localized', 'big.bin': BIG },
    });
    daemon.setEnvelope(store.attest({ version: 8, issuedAt: now(), official, localized }));
    await until(() => parts.room.serving.verdict('localized').distributable, 30_000);
    const proxy = await startProxy(mirror.url, (path, body) =>
      path.includes('/r2-l1/') && path.endsWith('a.txt') ? Buffer.from('localizeD') : body,
    );
    let monotonic = 0;
    // The parts of a large file together take longer than the interval between two lines, and no file is too slow.
    const clock: Clock = { ...systemClock, now: () => Date.now(), monotonic: () => (monotonic += 250) };
    let [out, err] = ['', ''];
    const code = await runVerify(['--url', proxy.url, '--keys', mirror.keyFile, '-o', 'json'], {
      stdout: { write: (text) => (out += text) },
      stderr: { write: (text) => (err += text) },
      clock,
    });
    const { releases, without_release: without } = JSON.parse(out) as MirrorReport;
    expect([code, without]).toEqual([1, []]);
    expect(releases).toMatchObject([
      { channel: 'official', release_id: 'r2', checked: 2, damaged: 0 },
      {
        channel: 'localized',
        release_id: 'r2-l1',
        checked: 2,
        damaged: 1,
        examples: [{ destination: 'a.txt', status: 'digest_mismatch' }],
      },
    ]);
    const lines = err.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^official r2\b.*\b2\.0 MiB/);
    expect(lines.at(-1)).toMatch(/^localized r2-l1\b/);
    expect(lines.some((line) => line.includes('100 %'))).toBe(true);
  });

  it('ends soon when it is interrupted, and reports nothing', async () => {
    const mirror = await startMirror();
    const stop = new AbortController();
    const proxy = await startProxy(mirror.url, (path, body) => {
      if (path.endsWith('/big.bin')) stop.abort();
      return body;
    });
    let [out, err] = ['', ''];
    const code = await runVerify(['--url', proxy.url, '--keys', mirror.keyFile], {
      stdout: { write: (text) => (out += text) },
      stderr: { write: (text) => (err += text) },
      signal: stop.signal,
    });
    expect([code, out, err]).toEqual([1, '', 'slipway verify: interrupted\n']);
  });

  it.each([
    ['before the attestation', '/v1/release', null],
    ['in the manifest', '/v1/distribution', 0],
    ['in a file', '/big.bin', 3],
  ])('ends when the time is over %s, and says how far it got', async (_, silent, checked) => {
    const mirror = await startMirror();
    const isSilent = (path: string): boolean => path.includes(silent);
    const { code, out } = await verifyUntilCheckTimeout(mirror, { isSilent, checked: checked ?? 0 });
    const found = JSON.parse(out) as MirrorReport;
    expect(code).toBe(4);
    expect(found).toMatchObject({ complete: false, timed_out: true, sound: checked !== null });
    if (checked === null) {
      expect(found.attestation).toMatchObject({
        status: 'not_checked',
        problems: ['the check did not end within 60 s (--timeout)'],
      });
    } else expect(found.releases).toMatchObject([{ complete: false, damaged: 0, problems: [], checked }]);
  });

  it('says in words that the time is over, and ends with 1 for damage that was found before', async () => {
    const mirror = await startMirror();
    const run = { isSilent: (path: string) => path.includes('/big.bin'), checked: 3 };
    const { code, out } = await verifyUntilCheckTimeout(mirror, { ...run, more: ['-o', 'text'] });
    expect([code, out]).toEqual([4, expect.stringMatching(/^PARTLY +official +r1 +4 .* 3 +0$/m)]);
    expect(out).toContain('COULD NOT BE CHECKED: --timeout expired before the end');
    const damaged = await verifyUntilCheckTimeout(mirror, {
      ...run,
      isLost: (path) => path.endsWith('/c.bin'),
    });
    expect(damaged.code).toBe(1);
    expect(JSON.parse(damaged.out)).toMatchObject({ sound: false, timed_out: true, complete: false });
  });

  it('is whole when it ends in time, also with a sample', async () => {
    const mirror = await startMirror();
    const argv = ['--url', mirror.url, '--keys', mirror.keyFile, '--timeout', '600', '--sample', '2'];
    expect(await report(...argv)).toMatchObject({
      code: 0,
      report: { complete: true, timed_out: false, releases: [{ complete: true, checked: 2 }] },
    });
  });

  it('compares with another Slipway only within the time', async () => {
    const mirror = await startMirror();
    const against = await startSilent(
      (_path, response) => response.destroy(),
      () => true,
    );
    const { code, out } = await verifyUntilCheckTimeout(mirror, {
      isSilent: () => false,
      checked: 4,
      more: ['--against', against.url],
      waitedFor: against,
    });
    expect(code).toBe(4);
    expect(JSON.parse(out)).toMatchObject({
      sound: true,
      timed_out: true,
      releases: [{ complete: true }],
      against: { status: 'not_checked', problems: ['the check did not end within 60 s (--timeout)'] },
    });
  });

  it('says of a mirror that does not answer that it could not be checked, not that it is invalid', async () => {
    const mirror = await startMirror();
    const { code, out } = await verify('--url', 'http://127.0.0.1:1', '--keys', mirror.keyFile);
    expect(code).toBe(4);
    expect(out).toContain('attestation: not checked\n');
    expect(out).toContain('ECONNREFUSED');
    expect(out).toContain('COULD NOT BE CHECKED');
    expect(out).not.toMatch(/invalid|NOT SOUND/);
  });

  it.each([
    ['breaks the answer off', null, 4],
    ['has no attestation yet', Buffer.from('{"attestation":null,"cdn_host":"cdn"}'), 4],
    ['answers 503', 503, 4],
    ['is a page', Buffer.from('<!doctype html><title>Login</title>'), 4],
    ['is JSON of another service', Buffer.from('{"status":"ok"}'), 4],
    ['is a JSON array', Buffer.from('[1]'), 4],
    ['has no such path', 404, 4],
    ['has a malformed attestation', Buffer.from('{"attestation":{"payload":1},"cdn_host":"cdn"}'), 1],
  ])(
    'tells a mirror that gives nothing from one that is not to be believed: it %s',
    async (_, answer, code) => {
      const mirror = await startMirror();
      const proxy = await startProxy(mirror.url, () => answer);
      const found = await report('--url', proxy.url, '--keys', mirror.keyFile);
      expect(found.code).toBe(code);
      expect(found.report).toMatchObject({
        sound: false,
        attestation: { status: code === 4 ? 'not_checked' : 'invalid' },
      });
    },
  );

  it.each([
    ['text/html', '<!doctype html>', 'is not a Slipway of this version'],
    ['application/json', '{"status":"ok"}', 'is not a Slipway of this version'],
    [null, null, 'it is neither a Slipway nor a static mirror'],
  ])('says that a server which answers with %s is not a Slipway', async (type, body, message) => {
    const mirror = await startMirror();
    const url = await startLimited(mirror.url, (_path, response) => {
      response.writeHead(body === null ? 404 : 200, type === null ? {} : { 'content-type': type });
      response.end(body ?? '');
      return true;
    });
    const { code, out } = await verify('--url', url, '--keys', mirror.keyFile);
    expect([code, out]).toEqual([4, expect.stringContaining(message)]);
    expect(out).toContain(type ?? '404; is this its base URL?');
    expect(out).toContain('COULD NOT BE CHECKED');
  });

  it('documents its exit codes in one place, as its help does', async () => {
    const guide = await readFile(
      resolve(import.meta.dirname, '../../../docs/how-to/check-a-mirror.md'),
      'utf8',
    );
    const rows = [...guide.matchAll(/^\| (\d) +\| (.+?) +\|$/gm)].map(([, code, meaning]) => [code, meaning]);
    expect(rows).toEqual(
      VERIFY_EXIT_MEANINGS.map(([code, meaning]) => [code, meaning.replace(/--[a-z]+/g, '`$&`')]),
    );
    const { out } = await verify('--help');
    const words = out.replaceAll(/\s+/g, ' ');
    for (const [code, meaning] of VERIFY_EXIT_MEANINGS) expect(words).toContain(`${code} ${meaning}`);
  });

  it.each([
    [['--url', 'http://x'], '--keys is missing'],
    [['--url', 'ftp://x', '--keys', 'k'], 'is not a URL'],
    [['--url', 'http://user:pw@x', '--keys', 'k'], 'must not hold a name or a password'],
    [['--url', 'http://x', '--keys', 'k', 'dir'], 'not both'],
    [['--url', 'http://x', '--keys', 'k', '--sample', '0'], 'is not a number'],
    [['--url', 'http://x', '--keys', 'k', '--quick'], 'are for directories'],
    [['dir', '--against', 'http://x'], '--against compares mirrors'],
    [['dir', '--sample', '3'], '--sample is for mirrors'],
    [['dir', '--token-file', 'f'], 'are for mirrors'],
    [['dir', '--timeout', '3'], '--timeout is for mirrors'],
    [['--url', 'http://x', '--keys', 'k', '--timeout', '0'], 'is not a number of seconds from 1 to 604800'],
    [['--url', 'http://x', '--keys', 'k', '--timeout', '604801'], 'is not a number of seconds'],
    [['--url', 'http://x', '--keys', 'k', '--against-token-file', 'f'], 'needs --against'],
  ])('refuses %j', async (argv, message) => {
    const { code, err } = await verify(...argv);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });
});

/** Starts a server that answers some requests itself, and leads all others to a mirror. */
async function startLimited(
  target: string,
  refuse: (path: string, response: ServerResponse) => boolean,
): Promise<string> {
  const server = createServer(({ url = '' }, response) => {
    if (refuse(url, response)) return;
    void (async () => {
      const answer = await fetch(`${target}${url}`);
      response.writeHead(answer.status).end(Buffer.from(await answer.arrayBuffer()));
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Checks a mirror behind a server that refuses the first requests of one file. @returns how often it was asked for, too */
async function checkRefused(
  times: number,
  status: number,
  headers: OutgoingHttpHeaders,
): Promise<{ code: number; asked: number; release: MirrorReport['releases'][number] | undefined }> {
  const mirror = await startMirror();
  let asked = 0;
  const url = await startLimited(mirror.url, (path, response) => {
    if (!path.endsWith('/c.bin')) return false;
    asked += 1;
    if (asked > times) return false;
    response.writeHead(status, headers).end();
    return true;
  });
  const { code, report: found } = await report('--url', url, '--keys', mirror.keyFile);
  return { code, asked, release: found.releases[0] };
}

/** A server that leaves some requests without an answer, and counts them. */
interface Silent {
  readonly url: string;
  readonly waiting: () => number;
}

async function startSilent(
  answer: (path: string, response: ServerResponse) => unknown,
  isSilent: (path: string) => boolean,
): Promise<Silent> {
  let waiting = 0;
  const server = createServer(({ url = '' }, response) => {
    if (isSilent(url)) waiting += 1;
    else void answer(url, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, waiting: () => waiting };
}

/** A clock whose monotonic time moves with each look, so that each file is shown as progress. */
class LookedAtClock extends FakeClock {
  #looks = 0;

  override monotonic(): number {
    this.#looks += 1;
    return this.#looks * 250;
  }
}

/** Checks a mirror that leaves some requests without an answer, until its 60 seconds are over. */
async function verifyUntilCheckTimeout(
  mirror: Mirror,
  options: {
    readonly isSilent: (path: string) => boolean;
    /** The files that are checked before the time is over. */
    readonly checked: number;
    readonly more?: readonly string[];
    /** The files that the mirror does not have. */
    readonly isLost?: (path: string) => boolean;
    /** The server that does not answer, when it is not the mirror. */
    readonly waitedFor?: Silent;
  },
): Promise<{ readonly code: number; readonly out: string }> {
  const { isSilent, checked, more = [], isLost = () => false } = options;
  const proxy = await startSilent(async (path, response) => {
    const answer = await fetch(`${mirror.url}${path}`);
    const body = Buffer.from(await answer.arrayBuffer());
    response.writeHead(isLost(path) ? 404 : answer.status).end(body);
  }, isSilent);
  const clock = new LookedAtClock(Date.now());
  let [out, err] = ['', ''];
  const argv = ['--url', proxy.url, '--keys', mirror.keyFile, '--timeout', '60', '-o', 'json', ...more];
  const ended = runVerify(argv, {
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (err += text), isTTY: true },
    clock,
  });
  await until(() => (options.waitedFor ?? proxy).waiting() > 0);
  await until(() => err.split('official r1').length > checked);
  await clock.advance(60_000);
  return { code: await ended, out };
}

describe('slipway verify --url at a server in between', () => {
  it('waits for a mirror that asks for it, for pages and for files', async () => {
    const mirror = await startMirror();
    const refused = new Map<string, number>();
    const url = await startLimited(mirror.url, (path, response) => {
      const count = refused.get(path) ?? 0;
      refused.set(path, count + 1);
      if (count >= 4) return false;
      response.writeHead(count % 2 === 0 ? 429 : 503, { 'retry-after': '0' }).end();
      return true;
    });
    const { code, report: found } = await report('--url', url, '--keys', mirror.keyFile);
    expect([code, found.releases[0]?.damaged, found.releases[0]?.checked]).toEqual([0, 0, 4]);
  });

  it('does not wait forever', async () => {
    const mirror = await startMirror();
    let asked = 0;
    const url = await startLimited(mirror.url, (_path, response) => {
      asked += 1;
      response.writeHead(429, { 'retry-after': '0' }).end();
      return true;
    });
    const { code, out } = await verify('--url', url, '--keys', mirror.keyFile);
    expect([code, asked, out]).toEqual([4, 5, expect.stringContaining('answered 429')]);
  });

  it('gives a file up that stays limited', async () => {
    const { code, asked, release } = await checkRefused(Infinity, 429, { 'retry-after': '0' });
    expect([code, asked, release?.checked]).toEqual([1, 5, 4]);
    expect(release?.examples).toMatchObject([
      { destination: 'c.bin', status: 'unreachable', message: expect.stringContaining('answered 429') },
    ]);
  });

  it('tries a file again that a proxy refuses once without a time to wait', async () => {
    const { code, asked, release } = await checkRefused(1, 503, {});
    expect([code, asked, release?.damaged]).toEqual([0, 2, 0]);
  });

  it('follows no redirect, and says where it leads', async () => {
    const mirror = await startMirror();
    const url = await startLimited(mirror.url, (_path, response) => {
      response.writeHead(308, { location: mirror.url }).end();
      return true;
    });
    const { code, out } = await verify('--url', url, '--keys', mirror.keyFile);
    expect([code, out]).toEqual([
      4,
      expect.stringContaining(`leads to ${mirror.url}; no redirect is followed`),
    ]);
  });
});

/** Reads the first 100 bytes of an answer, and what comes after a time. @returns how many bytes came then */
async function readOn(elapsedMs: number, rest: Buffer): Promise<number> {
  let now = 5;
  const responses: ServerResponse[] = [];
  const server = createServer((_request, response) => {
    responses.push(response);
    response.write(Buffer.alloc(100));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const http = createMirrorHttp(1, null, { ...systemClock, monotonic: () => now });
  onTestFinished(async () => {
    await http.close();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/file`;
  const answer = await http.send({ method: 'GET', url, accept: [200] }, new AbortController().signal);
  const chunks = answer.chunks()[Symbol.asyncIterator]();
  expect((await chunks.next()).value).toHaveLength(100);
  const waiting = chunks.next();
  now += elapsedMs;
  responses[0]?.end(rest);
  const next = await waiting;
  return next.done === true ? 0 : next.value.length;
}

describe('the requests to a mirror', () => {
  it('gives an answer up that comes with fewer than 1,024 bytes a second after a minute', async () => {
    await expect(readOn(61_000, Buffer.alloc(1))).rejects.toMatchObject({
      message: expect.stringMatching(/\/file sends fewer than 1024 bytes a second$/),
      isFinal: true,
    });
  });

  it('says in words that a server did not answer', async () => {
    const server = createServer(() => undefined);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const http = createMirrorHttp(1, null, systemClock, 100);
    onTestFinished(async () => {
      await http.close();
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/file`;
    await expect(
      http.send({ method: 'GET', url, accept: [200] }, new AbortController().signal),
    ).rejects.toMatchObject({ message: `${url}: no answer within 0.1 s` });
  });

  it('takes an answer that is slow for less than a minute, or that has come whole', async () => {
    expect(await readOn(59_000, Buffer.alloc(1))).toBe(1);
    expect(await readOn(61_000, Buffer.alloc(0))).toBe(0);
  });

  it('names the address of an answer that breaks off', async () => {
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('half');
      setImmediate(() => response.destroy());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const http = createMirrorHttp(1, null, systemClock);
    onTestFinished(async () => {
      await http.close();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/file`;
    const answer = await http.send({ method: 'GET', url, accept: [200] }, new AbortController().signal);
    const read = async (): Promise<void> => {
      for await (const chunk of answer.chunks()) expect(chunk).toHaveLength(4);
    };
    await expect(read()).rejects.toThrow(`${url}: the answer broke off (`);
  });
});
