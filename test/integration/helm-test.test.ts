import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { freePorts } from '../support/free-ports.ts';
import { CHART } from '../support/helm.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { sharedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { CDN_HOST, startSystem, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const PROGRAM = readFileSync(join(CHART, 'files/helm-test.mjs'), 'utf8');
const TOKEN = 'helm-test-admin-token-0123456789';

async function serve(atEnd: AtEnd): Promise<TestSystem> {
  const [upstream, secrets] = [await temporaryDirectory(atEnd), await temporaryDirectory(atEnd)];
  await writeReleaseTree(upstream, { id: 'r90_one', files: sampleFiles() });
  const tokenFile = join(secrets, 'admin.token');
  await writeFile(tokenFile, TOKEN, { mode: 0o600 });
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    server: { admin: { tokenFiles: [tokenFile] } },
    atEnd,
  });
  await system.untilReady(true);
  return system;
}

/** Runs the program as the pod of `helm test` does. */
async function runTest(
  url: string,
  settings: Readonly<Record<string, string>> = {},
  onComplaint: () => void = () => undefined,
) {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      SERVICE_URL: url,
      ADMIN_URL: url,
      CDN_HOST,
      ADMIN_TOKEN: TOKEN,
      PUBLIC_NEEDS_TOKEN: 'false',
      PATIENCE_SECONDS: '0',
      ...settings,
    },
  });
  child.stderr.once('data', onComplaint);
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((settle) => child.once('exit', settle)),
  ]);
  return { code, stdout, stderr };
}

/** A proxy in front of the service that changes answers. */
async function startProxy(
  target: string,
  change: (path: string, bytes: Buffer) => Buffer,
  port = 0,
): Promise<{ readonly url: string; readonly close: () => void }> {
  const server = createServer((request, response) => {
    const { range, authorization } = request.headers;
    const headers = { ...(range && { range }), ...(authorization && { authorization }) };
    void fetch(target + request.url, { headers }).then(async (answer) => {
      const bytes = change(request.url ?? '', Buffer.from(await answer.arrayBuffer()));
      response.writeHead(answer.status).end(bytes);
    });
  });
  await new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening));
  const { port: taken } = server.address() as { port: number };
  return { url: `http://127.0.0.1:${taken}`, close: () => server.close() };
}

describe('helm test', () => {
  const system = sharedFixture(serve);

  it('passes when a release is served and the token works', async () => {
    expect(await runTest(system().serverUrl)).toEqual({
      code: 0,
      stdout: `release r90_one is served: ${sampleFiles().size} entries\n`,
      stderr: '',
    });
  });

  it('fails when the bytes of a range are not those of the manifest', async () => {
    const proxy = await startProxy(system().serverUrl, (path, bytes) => {
      if (!path.startsWith(`/${CDN_HOST}/`)) return bytes;
      bytes[0] = (bytes[0] ?? 0) ^ 1;
      return bytes;
    });
    const { code, stderr } = await runTest(proxy.url);
    proxy.close();
    expect(code).toBe(1);
    expect(stderr).toMatch(/its bytes have digest [0-9a-f]{64}, the manifest says [0-9a-f]{64}/);
  });

  it('fails when a range is too short', async () => {
    const proxy = await startProxy(system().serverUrl, (path, bytes) =>
      path.startsWith(`/${CDN_HOST}/`) ? bytes.subarray(1) : bytes,
    );
    const { code, stderr } = await runTest(proxy.url);
    proxy.close();
    expect(code).toBe(1);
    expect(stderr).toMatch(/a range of \d+ bytes gave \d+/);
  });

  it('fails when the token is not that of the administration', async () => {
    const { code, stderr } = await runTest(system().serverUrl, {
      ADMIN_TOKEN: 'another-token-0123456789abcdef',
    });
    expect(code).toBe(1);
    expect(stderr).toContain('/admin/releases/status answered 401, expected 200');
  });

  it('waits for a daemon that is a standby', async () => {
    let isStandby = true;
    const admin = createServer((request, response) => {
      const status = request.headers.authorization === undefined ? 401 : isStandby ? 503 : 200;
      if (status === 503) isStandby = false;
      response
        .writeHead(status)
        .end('this daemon is a standby: the daemon 7 has the lease of the snapshot volume');
    });
    await new Promise<void>((listening) => admin.listen(0, '127.0.0.1', listening));
    const { port } = admin.address() as { port: number };
    const settings = { ADMIN_URL: `http://127.0.0.1:${port}`, PATIENCE_SECONDS: '60' };
    const { code, stderr } = await runTest(system().serverUrl, settings);
    admin.close();
    expect(stderr).toContain('the daemon 7 has the lease');
    expect(code).toBe(0);
  });

  it('passes when the edges serve the same release, too', async () => {
    const edge = { EDGE_URL: system().serverUrl, EDGE_TOKEN: 'unused' };
    const { code, stdout } = await runTest(system().serverUrl, edge);
    expect(stdout).toMatch(/\nedges serve release r90_one\n$/);
    expect(code).toBe(0);
  });

  it.each([
    ['another release', '/readyz', /serves release r90_two/],
    ['other bytes', `/${CDN_HOST}/`, /its bytes have digest/],
  ])('fails when an edge serves %s', async (_, changed, complaint) => {
    const proxy = await startProxy(system().serverUrl, (path, bytes) => {
      if (!path.startsWith(changed)) return bytes;
      if (changed === '/readyz') return Buffer.from(bytes.toString().replaceAll('r90_one', 'r90_two'));
      bytes[0] = (bytes[0] ?? 0) ^ 1;
      return bytes;
    });
    const { code, stdout, stderr } = await runTest(system().serverUrl, { EDGE_URL: proxy.url });
    proxy.close();
    expect(code).toBe(1);
    expect(stdout).toContain('release r90_one is served');
    expect(stderr).toMatch(complaint);
  });

  it('says why no pod is ready, which the Service of the admin surface knows', async () => {
    const { serverUrl } = await startSystem({ upstream: { kind: 'none' } });
    await until(async () => {
      const { service } = (await (await fetch(`${serverUrl}/healthz`)).json()) as {
        readonly service: { readonly state: string } | null;
      };
      return service?.state === 'unpublished';
    });
    const [port = 0] = await freePorts(1);
    const { code, stderr } = await runTest(`http://127.0.0.1:${port}`, { ADMIN_URL: serverUrl });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^unpublished: .*upstream.* Next: .+ \(.*ECONNREFUSED.*\)\n$/);
    // Another answer is not about a release, and is not hidden.
    const wrong = createServer((_, response) => response.writeHead(404).end('no such host'));
    await new Promise<void>((listening) => wrong.listen(0, '127.0.0.1', listening));
    const { port: taken } = wrong.address() as { port: number };
    const other = await runTest(`http://127.0.0.1:${taken}`, { ADMIN_URL: serverUrl });
    wrong.close();
    expect(other.stderr).toMatch(/\/readyz answered 404, expected 200: no such host\n$/);
  });

  it('waits for a Service that is not reachable yet', async () => {
    const [port = 0] = await freePorts(1);
    const { promise: refused, resolve: onRefused } = Promise.withResolvers<void>();
    const running = runTest(`http://127.0.0.1:${port}`, { PATIENCE_SECONDS: '60' }, onRefused);
    await refused;
    const proxy = await startProxy(system().serverUrl, (_, bytes) => bytes, port);
    const { code, stderr } = await running;
    proxy.close();
    expect(code).toBe(0);
    expect(stderr).toContain('not ready yet');
  });
});
