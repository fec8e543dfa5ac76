import type { RequestListener, ServerResponse } from 'node:http';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startImpostorDaemon } from '../support/impostor-daemon.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { reusedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { writeTokenFile } from '../support/token-file.ts';
import { until } from '../support/until.ts';

async function servedSystem(
  ttlSeconds: number,
  { atEnd, server = {} }: { atEnd: AtEnd; server?: Record<string, object> },
): Promise<TestSystem> {
  const upstream = await temporaryDirectory(atEnd);
  await writeReleaseTree(upstream, { id: 'r90_one', files: sampleFiles() });
  const system = await startSystem({
    measuresMemory: true,
    upstream: { kind: 'directory', directory: { path: upstream } },
    daemon: { attestation: { ttlSeconds } },
    server: { daemon: { timeoutMs: 1500 }, ...server },
    atEnd,
  });
  await system.untilReady(true);
  return system;
}

/** How many consecutive times the server has failed to read the attestation. */
async function refreshFailures({ serverUrl }: TestSystem): Promise<number> {
  const health = (await (await fetch(`${serverUrl}/healthz`)).json()) as {
    refresh: { consecutive_failures: number };
  };
  return health.refresh.consecutive_failures;
}

async function rss(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

/** Answers with 101, which nobody asked for, and keeps the connection open. */
const upgrade: RequestListener = (_request, response) => {
  response.socket?.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n');
};

/** Sends bytes until the connection ends. */
function repeat(response: ServerResponse, text: string): void {
  const timer = setInterval(() => response.socket?.write(text), 20);
  response.on('close', () => clearInterval(timer));
}

const endlessHead: RequestListener = (_request, response) => {
  response.socket?.write('HTTP/1.1 200 OK\r\n');
  repeat(response, 'x: y\r\n');
};

const endlessInterim: RequestListener = (_request, response) => {
  repeat(response, 'HTTP/1.1 102 Processing\r\n\r\n');
};

const NONSENSE: ReadonlyArray<readonly [string, RequestListener]> = [
  ['garbage', (_request, response) => response.end('<html>not an envelope</html>')],
  [
    'an envelope that is not one',
    (_request, response) => response.setHeader('content-type', 'application/json').end('{"payload":5}'),
  ],
  ['500', (_request, response) => response.writeHead(500).end('boom')],
  [
    'a gigabyte',
    (_request, response) => {
      response.setHeader('content-type', 'application/vnd.dsse.envelope.v1+json');
      const chunk = Buffer.alloc(1024 * 1024, 0x20);
      let left = 1024;
      const pump = (): void => {
        while (left > 0 && !response.destroyed) {
          left -= 1;
          if (!response.write(chunk)) {
            response.once('drain', pump);
            return;
          }
        }
        response.end();
      };
      pump();
    },
  ],
  [
    'a drip',
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/vnd.dsse.envelope.v1+json' });
      const timer = setInterval(() => response.write(' '), 200);
      response.on('close', () => clearInterval(timer));
    },
  ],
  ['nothing at all', () => undefined],
  ['an upgrade', upgrade],
];

// Each of the two waits for many seconds, so they wait at the same time.
describe.concurrent('a daemon that fails', () => {
  it('killed: bytes are served until the attestation expires, and again when the daemon is back', async ({
    onTestFinished: atEnd,
  }) => {
    const system = await servedSystem(20, { atEnd });
    await system.daemon.kill();
    const url = system.cdn('TableBundles/Excel.zip');
    expect((await fetch(url)).status).toBe(200);
    expect((await fetch(`${system.serverUrl}/v1/releases`)).status).toBe(503);
    const verdict = await system.untilReady(false);
    expect(verdict.reason).toBe('AttestationExpired');
    expect((await fetch(url)).status).toBe(503);
    const health = await fetch(`${system.serverUrl}/healthz`);
    expect([health.status, ((await health.json()) as { status: string }).status]).toEqual([200, 'degraded']);
    await system.startDaemon();
    await system.untilReady(true);
  });

  it('hung: readiness answers from known state, and reports fail at their time limit', async ({
    onTestFinished: atEnd,
  }) => {
    const system = await servedSystem(600, { atEnd, server: { daemon: { timeoutMs: 10_000 } } });
    system.daemon.signal('SIGSTOP');
    let isReported = false;
    const reported = fetch(`${system.serverUrl}/v1/releases`).finally(() => {
      isReported = true;
    });
    expect((await fetch(`${system.serverUrl}/readyz`)).status).toBe(200);
    expect((await fetch(system.cdn('empty.bytes'))).status).toBe(200);
    // Only the report waited for the daemon.
    expect(isReported).toBe(false);
    const report = await reported;
    expect(report.status).toBe(503);
    expect(await report.json()).toMatchObject({ code: 'backend_unavailable' });
    system.daemon.signal('SIGCONT');
    await until(async () => (await fetch(`${system.serverUrl}/v1/releases`)).status === 200);
  });
});

const ADMIN_TOKEN = 'an-admin-token-of-the-test';

/** A served system whose daemon was killed. An impostor answers on its port. */
interface Impersonated {
  readonly system: TestSystem;
  /** Lets the impostor answer like this. */
  readonly impersonate: (listener: RequestListener) => void;
  /** Lets it serve the attestation of the daemon again, and waits until the server uses it. */
  readonly restore: () => Promise<void>;
}

async function impersonated(atEnd: AtEnd): Promise<Impersonated> {
  const admin = { tokenFiles: [await writeTokenFile(ADMIN_TOKEN, atEnd)], exposeControl: true };
  const daemon = { timeoutMs: 1500, waitSeconds: 1 };
  const system = await servedSystem(3600, { atEnd, server: { admin, daemon } });
  await system.daemon.kill();
  const envelope = await readFile(join(system.snapshotRoot, 'attest/current.json'));
  const attest: RequestListener = ({ url }, response) => {
    const isAsked = url?.startsWith('/v1/attestation') === true;
    response.writeHead(isAsked ? 200 : 503, { 'content-type': 'application/vnd.dsse.envelope.v1+json' });
    response.end(isAsked ? envelope : '');
  };
  let listener = attest;
  await startImpostorDaemon(system, (request, response) => listener(request, response), atEnd);
  return {
    system,
    impersonate: (next) => {
      listener = next;
    },
    restore: async () => {
      listener = attest;
      await system.untilReady(true);
      await until(async () => (await refreshFailures(system)) === 0);
    },
  };
}

describe("an impostor on the daemon's port", () => {
  const reused = reusedFixture(impersonated);

  it.each(NONSENSE)(
    'answering %s does not affect serving and costs little memory',
    async (_name, listener) => {
      const { system, impersonate, restore } = await reused();
      const before = await rss(system.server.pid);
      impersonate(listener);
      const report = await fetch(`${system.serverUrl}/v1/releases`);
      expect(report.status).toBe(503);
      expect(report.headers.get('content-type')).toContain('application/problem+json');
      expect((await fetch(`${system.serverUrl}/readyz`)).status).toBe(200);
      expect((await fetch(system.cdn('empty.bytes'))).status).toBe(200);
      await until(async () => (await refreshFailures(system)) > 0);
      expect((await rss(system.server.pid)) - before).toBeLessThan(64 * 1024 * 1024);
      await restore();
    },
  );

  it.each([
    ['upgrades every connection', upgrade],
    ['sends an endless head', endlessHead],
    ['sends endless interim answers', endlessInterim],
  ])(
    'that %s delays neither a control call nor the end of the server after SIGTERM',
    async (_what, listener) => {
      const { system, impersonate, restore } = await reused();
      impersonate(listener);
      await until(async () => (await refreshFailures(system)) > 1);
      const control = await fetch(`${system.serverUrl}/admin/control/sync`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${ADMIN_TOKEN}` },
        body: '{}',
      });
      expect(control.status).toBe(502);
      expect(await system.server.stop()).toBe(0);
      await system.startServer();
      await restore();
    },
  );
});
