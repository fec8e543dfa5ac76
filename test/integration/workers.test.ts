import { open, rename, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { describe, expect, it, onTestFinished } from 'vitest';
import { StartError } from '../support/process.ts';
import { startServedProcess, type ServedProcess } from '../support/served-process.ts';
import { until } from '../support/until.ts';

const SMALL = 'TableBundles/Excel.zip';
const ROTTEN = 'TableBundles/Rotten.bytes';
const LARGE = 'MediaResources/Movie/Opening.mp4';
const FILES = {
  [SMALL]: 'the bytes of a table',
  [ROTTEN]: 'bytes that will rot',
  [LARGE]: Buffer.alloc(24 * 1024 * 1024, 7),
};

async function startWorkers(
  config: Readonly<Record<string, unknown>> = {},
  fastPath = false,
): Promise<ServedProcess> {
  const served = await startServedProcess({
    fastPath,
    release: { releaseId: 'r90_one', files: FILES },
    config: { workers: 2, ...config },
  });
  await until(async () => (await readiness(served, 6)).every(({ distributable }) => distributable));
  return served;
}

/** Each request uses a new connection, because connections go to the workers in turn. */
async function get(served: ServedProcess, target: string): Promise<Response> {
  return await fetch(`${served.url}${target}`, { headers: { connection: 'close' } });
}

/** The answers of `/readyz` on some connections. */
async function readiness(
  served: ServedProcess,
  count: number,
): Promise<
  Array<{ readonly status: number; readonly distributable: boolean; readonly reason: string | null }>
> {
  return await Promise.all(
    Array.from({ length: count }, async () => {
      const response = await get(served, '/readyz');
      const body = (await response.json()) as { distributable: boolean; reason: string | null };
      return { status: response.status, ...body };
    }),
  );
}

async function statuses(served: ServedProcess, target: string, count: number): Promise<number[]> {
  const answers: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const response = await get(served, target);
    await response.arrayBuffer();
    answers.push(response.status);
  }
  return answers;
}

/** The process ids of all workers started so far. */
function workerPids(served: ServedProcess): number[] {
  return served.process.lines
    .filter((line) => line.includes('"worker started"'))
    .map((line) => (JSON.parse(line) as { worker_pid: number }).worker_pid);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function killWorker(served: ServedProcess, pid: number): Promise<void> {
  process.kill(pid, 'SIGKILL');
  await until(() =>
    served.process.lines.some((line) => line.includes('a worker died') && line.includes(`${pid}`)),
  );
}

describe('a server of two workers', () => {
  it.each([false, true])(
    'serves on one port in turn (fast path: %s), and shows the metrics of both together',
    async (fastPath) => {
      const served = await startWorkers({}, fastPath);
      expect(await statuses(served, served.target(SMALL, 'r90_one'), 10)).toEqual(Array(10).fill(200));
      // A worker counts a response after the client has it.
      await expect.poll(async () => await served.metric('slipway_cdn_responses_total')).toBe(10);
      expect(await served.metric('slipway_workers')).toBe(2);
      // Each worker read and verified the object twice, and then had it in memory, which proves that both served it.
      expect(await served.metric('slipway_cdn_verified_blocks_total')).toBe(4);
      expect(await served.metric('slipway_verdict{channel="official",reason="none"}')).toBe(1);
      expect(await served.metric('slipway_attestation_expires_in_seconds')).toBeLessThanOrEqual(3600);
      expect(await served.metric('slipway_manifest_entries')).toBe(3);
    },
  );

  it('keeps serving with one worker when the other is killed, and restarts it without a refused client', async () => {
    const served = await startWorkers();
    // The daemon is away too: the new worker receives the state of the other and verifies it.
    served.daemon.setFault('reset');
    const [first = 0] = workerPids(served);
    await killWorker(served, first);
    expect(await statuses(served, served.target(SMALL, 'r90_one'), 10)).toEqual(Array(10).fill(200));
    await until(async () => {
      const isBack = (await served.metric('slipway_workers')) === 2;
      expect((await readiness(served, 6)).map(({ reason }) => reason)).toEqual(Array(6).fill(null));
      return isBack;
    });
    expect(await served.metric('slipway_worker_restarts_total')).toBe(1);
    expect(workerPids(served)).toHaveLength(3);
    expect(await statuses(served, served.target(SMALL, 'r90_one'), 10)).toEqual(Array(10).fill(200));
  });

  it('withdraws a damaged release in all workers, also in one that starts later, until the repair', async () => {
    const served = await startWorkers();
    const path = served.store.pathOf(FILES[ROTTEN]);
    const file = await open(path, 'r+');
    await file.write('X', 3);
    await file.close();
    // One request: one worker finds the damage, and the other is notified.
    expect((await get(served, served.target(ROTTEN, 'r90_one'))).status).toBe(503);
    await until(async () =>
      (await readiness(served, 6)).every(({ status, reason }) => status === 503 && reason === 'EntryDamaged'),
    );
    expect(await statuses(served, served.target(SMALL, 'r90_one'), 6)).toEqual(Array(6).fill(503));
    await killWorker(served, workerPids(served)[1]!);
    await until(async () => {
      const answers = await readiness(served, 6);
      expect(answers.some(({ distributable }) => distributable)).toBe(false);
      return (
        (await served.metric('slipway_workers')) === 2 &&
        answers.every(({ reason }) => reason === 'EntryDamaged')
      );
    });
    await writeFile(`${path}.new`, FILES[ROTTEN]);
    await rename(`${path}.new`, path);
    await until(async () => (await readiness(served, 6)).every(({ distributable }) => distributable));
    expect(await statuses(served, served.target(ROTTEN, 'r90_one'), 6)).toEqual(Array(6).fill(200));
  });

  it('stops cleanly: unready on all of them first, downloads finished, then exit code 0', async () => {
    const served = await startWorkers({ shutdown: { propagationDelaySeconds: 10, drainSeconds: 60 } });
    const download = await get(served, served.target(LARGE, 'r90_one'));
    const reader = download.body!.getReader();
    const first = await reader.read();
    served.process.signal('SIGTERM');
    await until(async () => (await readiness(served, 6)).every(({ status }) => status === 503));
    expect((await get(served, served.target(SMALL, 'r90_one'))).status).toBe(200);
    let received = first.value!.length;
    for (let next = await reader.read(); !next.done; next = await reader.read())
      received += next.value.length;
    expect(received).toBe(FILES[LARGE].length);
    expect(await served.process.exited).toBe(0);
    expect(workerPids(served).filter(isAlive)).toEqual([]);
  });

  it('turns away the connections beyond the limit of all workers together, and leaves none behind when it is killed', async () => {
    const served = await startWorkers({ limits: { maxConnections: 6 } });
    let closed = 0;
    const sockets = Array.from({ length: 12 }, () => {
      const socket = connect(served.port, '127.0.0.1');
      socket.on('close', () => {
        closed += 1;
      });
      socket.on('error', () => undefined);
      return socket;
    });
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
    });
    await until(() => closed >= 6);
    expect(closed).toBeLessThan(12);
    for (const socket of sockets) socket.destroy();
    await until(async () => (await readiness(served, 2)).every(({ distributable }) => distributable));
    await served.process.kill();
    await until(() => !workerPids(served).some(isAlive));
  });

  it('does not start with a wrong key or on a taken port, and ends with the matching exit code', async () => {
    const keyless = startServedProcess({
      fastPath: false,
      release: { releaseId: 'r90_one', files: FILES },
      config: { workers: 2, attestation: { publicKeyFiles: [join('/nonexistent', 'signing.pub')] } },
    });
    const failed = await keyless.catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(StartError);
    expect((failed as StartError).failed.code).toBe(78);
    expect((failed as StartError).failed.lines.join('\n')).toContain('attestation.publicKeyFiles');
    const other = createServer();
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => {
      other.close();
    });
    const { port } = other.address() as AddressInfo;
    const taken = startServedProcess({
      fastPath: false,
      release: { releaseId: 'r90_one', files: FILES },
      config: { workers: 2, listen: { host: '127.0.0.1', port } },
    });
    expect(((await taken.catch((error: unknown) => error)) as StartError).failed.code).toBe(1);
  });
});
