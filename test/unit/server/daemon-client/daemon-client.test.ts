import { describe, expect, it, onTestFinished } from 'vitest';
import { createDaemonClient, type DaemonClient } from '../../../../src/server/daemon-client/daemon-client.ts';
import { DaemonUnavailable } from '../../../../src/server/daemon-client/daemon-unavailable.ts';
import { systemClock } from '../../../../src/platform/process/clock.ts';
import { startFakeDaemon, type DaemonFault, type FakeDaemon } from '../../../support/fake-daemon.ts';

function connect(url: string): DaemonClient {
  const client = createDaemonClient({
    url,
    socketPath: undefined,
    timeoutMs: 200,
    readToken: async () => null,
    clock: systemClock,
  });
  onTestFinished(async () => client.close());
  return client;
}

async function start(): Promise<{ daemon: FakeDaemon; client: DaemonClient }> {
  const daemon = await startFakeDaemon();
  return { daemon, client: connect(daemon.url) };
}

const { signal } = new AbortController();
const ask = async (client: DaemonClient): Promise<unknown> =>
  client.fetchAttestation({ etag: null, waitSeconds: 0, signal });
const failure = async (asked: Promise<unknown>): Promise<DaemonUnavailable> => {
  const error: unknown = await asked.then(
    () => null,
    (error: unknown) => error,
  );
  if (!(error instanceof DaemonUnavailable))
    throw new Error('no DaemonUnavailable was thrown', { cause: error });
  return error;
};

describe('fetchAttestation', () => {
  it('handles none, a new one, and an unchanged one', async () => {
    const { daemon, client } = await start();
    expect(await ask(client)).toEqual({ kind: 'none' });
    daemon.setEnvelope(Buffer.from('{"v":1}'));
    expect(await ask(client)).toEqual({ kind: 'envelope', etag: '"1"', envelope: Buffer.from('{"v":1}') });
  });

  it('waits for the next one when it holds an etag', async () => {
    const { daemon, client } = await start();
    daemon.setEnvelope(Buffer.from('{"v":1}'));
    const waiting = client.fetchAttestation({ etag: '"1"', waitSeconds: 5, signal });
    await client.fetchReport('release.list', {}, signal).catch(() => null);
    daemon.setEnvelope(Buffer.from('{"v":2}'));
    expect(await waiting).toMatchObject({ etag: '"2"' });
    expect(daemon.requests).toContain('GET /v1/attestation?wait=5');
  });

  it.each<[DaemonFault, string]>([
    ['hang', 'timeout'],
    ['drip', 'timeout'],
    ['huge', 'answer_too_large'],
    ['html', 'answer_type'],
    ['coded', 'answer_type'],
    ['refuse', 'answer_refused'],
    ['truncated', 'unreachable'],
    ['upgrade', 'answer_invalid'],
    ['endless head', 'timeout'],
    ['endless interim', 'timeout'],
  ])('turns the fault %s into %s, and works again afterwards', async (fault, code) => {
    const { daemon, client } = await start();
    daemon.setFault(fault);
    expect((await failure(ask(client))).code).toBe(code);
    daemon.setFault(null);
    expect(await ask(client)).toEqual({ kind: 'none' });
  });

  it('reports that there is no listener', async () => {
    const client = connect('http://127.0.0.1:1');
    expect((await failure(ask(client))).code).toBe('unreachable');
  });

  it('ends with the reason of the signal', async () => {
    const { daemon, client } = await start();
    daemon.setFault('hang');
    const abort = new AbortController();
    const asked = client.fetchAttestation({ etag: null, waitSeconds: 0, signal: abort.signal });
    abort.abort(new Error('stopping'));
    await expect(asked).rejects.toThrow('stopping');
  });
});

describe('fetchReport', () => {
  it('keeps integers beyond 2^53 and sends the query', async () => {
    const { daemon, client } = await start();
    daemon.setReport('release.list', { releases: [], big: 1 });
    expect(await client.fetchReport('release.list', { channel: 'official' }, signal)).toMatchObject({
      releases: [],
    });
    expect(daemon.requests).toContain('GET /v1/reports/release.list?channel=official');
  });

  it('refuses garbage and values other than objects, and carries the code of a problem', async () => {
    const { daemon, client } = await start();
    daemon.setReport('release.list', [1]);
    expect((await failure(client.fetchReport('release.list', {}, signal))).code).toBe('answer_invalid');
    const refused = await failure(client.fetchReport('task.list', {}, signal));
    expect([refused.code, refused.status, refused.daemonCode]).toEqual([
      'answer_refused',
      503,
      'backend_unavailable',
    ]);
    daemon.setFault('garbage');
    expect((await failure(client.fetchReport('release.list', {}, signal))).code).toBe('answer_invalid');
  });
});
