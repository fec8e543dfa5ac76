import { once } from 'node:events';
import { createServer, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { flipBit } from '../support/flip-bit.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

const DAMAGED = 'TableBundles/Excel.zip';

/** A proxy between server and daemon that holds back the answers to polls for an attestation. */
interface PollGate {
  readonly url: string;
  /** Where the daemon listens. */
  target: string;
  /** Number of polls that may still be answered with an attestation; later ones stay open. */
  answersLeft: number;
  /** Entity tag of the newest poll that the daemon has not answered; `null` while there is none. */
  readonly openPoll: string | null;
}

async function startPollGate(): Promise<PollGate> {
  let openPoll: string | null = null;
  const server = createServer((request, response) => {
    const isPoll = request.url?.startsWith('/v1/attestation') === true;
    if (isPoll) openPoll = request.headers['if-none-match'] ?? null;
    const { host: _host, ...headers } = request.headers;
    const passed = sendRequest(
      `${gate.target}${request.url ?? ''}`,
      { method: request.method ?? 'GET', headers, agent: false },
      (answer) => {
        if (isPoll) {
          openPoll = null;
          if (gate.answersLeft === 0) {
            answer.resume();
            return;
          }
          // Without an attestation it reports a change of the conditions of the daemon only.
          if (answer.statusCode !== 304) gate.answersLeft -= 1;
        }
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
    request.pipe(passed);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const gate = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    target: '',
    answersLeft: Number.POSITIVE_INFINITY,
    get openPoll() {
      return openPoll;
    },
  };
  return gate;
}

/** A system that serves a release, and whose server waits for the attestation after the newest one. */
async function servedSystem(
  server: Readonly<Record<string, object>> = {},
): Promise<{ readonly system: TestSystem; readonly gate: PollGate }> {
  const upstream = await temporaryDirectory();
  await writeReleaseTree(upstream, { id: 'r90_one', files: sampleFiles() });
  const gate = await startPollGate();
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    server: { daemon: { url: gate.url, waitSeconds: 60 }, ...server },
    startNothing: true,
  });
  gate.target = system.daemonUrl;
  await Promise.all([system.startDaemon(), system.startServer()]);
  await system.untilReady(true);
  // The blocks of the file are in the memory of the server.
  expect((await fetch(system.cdn(DAMAGED))).status).toBe(200);
  await until(async () => {
    const newest = (await system.askDaemon('/v1/attestation')).headers.get('etag');
    return gate.openPoll === newest;
  });
  return { system, gate };
}

async function damageObject(system: TestSystem): Promise<void> {
  const url = `${system.serverUrl}/v1/resources?limit=1000`;
  const { items } = (await (await fetch(url)).json()) as {
    items: ReadonlyArray<{ readonly destination: string; readonly blake3: string }>;
  };
  const digest = items.find(({ destination }) => destination === DAMAGED)?.blake3 ?? '';
  const path = join(system.snapshotRoot, 'objects', digest.slice(0, 2), digest.slice(2));
  await flipBit(path, 5);
}

describe('damage in a file that nobody requests', () => {
  it('that the daemon finds reaches the verdict with one answer to a poll', async () => {
    const { system, gate } = await servedSystem();
    await damageObject(system);
    gate.answersLeft = 1;
    expect(await system.run('verify', { force: true })).toMatchObject({ failure_code: 'damage_found' });
    const verdict = await system.untilReady(false);
    expect(verdict).toMatchObject({ reason: 'EntryDamaged' });
    expect(verdict.message).toContain(DAMAGED);
    expect(gate.answersLeft).toBe(0);
    expect((await fetch(system.cdn(DAMAGED))).status).toBe(503);
  });

  it('that the scrub finds reaches the verdict without a poll', async () => {
    const { system, gate } = await servedSystem({
      scrub: { enabled: true, bytesPerSecond: 1_000_000_000, share: 1, restSeconds: 1 },
    });
    gate.answersLeft = 0;
    await damageObject(system);
    const verdict = await system.untilReady(false);
    expect(verdict).toMatchObject({ reason: 'EntryDamaged' });
    expect(verdict.message).toContain(DAMAGED);
    expect((await fetch(system.cdn(DAMAGED))).status).toBe(503);
  });
});
