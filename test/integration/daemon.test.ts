import { request } from 'node:http';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { startSlipway, StartError, type SlipwayProcess } from '../support/process.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { writeTokenFile } from '../support/token-file.ts';
import { until } from '../support/until.ts';

const SOURCES = resolve(import.meta.dirname, '../../src');

async function daemonSystem(daemon: Record<string, object> = {}): Promise<TestSystem> {
  const upstream = await temporaryDirectory();
  await writeReleaseTree(upstream, { id: 'r90_one', files: sampleFiles() });
  return await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    daemon: { sync: { onStart: false }, ...daemon },
    startNothing: true,
  });
}

async function startWith(system: TestSystem, ...flags: string[]): Promise<SlipwayProcess> {
  const started = await startSlipway('daemon', ['--config', system.daemonConfiguration, ...flags]);
  onTestFinished(async () => await started.kill());
  return started;
}

function has(lines: readonly string[], text: string): boolean {
  return lines.some((line) => line.includes(text));
}

/** Checks that no other user can read the files of a daemon that runs. */
async function expectPrivate(data: string): Promise<void> {
  expect((await stat(data)).mode & 0o777).toBe(0o700);
  const names = await readdir(data);
  expect(names).toEqual(
    expect.arrayContaining(['api.token', 'daemon.lock', 'daemon.pid', 'main.db', 'main.db-wal']),
  );
  let seen = 0;
  for (const name of names) {
    // The daemon may have removed a temporary file meanwhile.
    const found = await stat(join(data, name)).catch(() => null);
    if (found === null) continue;
    seen += 1;
    expect([name, found.mode & 0o777]).toEqual([name, 0o600]);
  }
  expect(seen).toBeGreaterThanOrEqual(5);
}

/** Checks the answers of a daemon that runs, of which none repeats its token. @returns the token */
async function expectReports(system: TestSystem): Promise<string> {
  const token = (await readFile(system.daemonTokenFile, 'utf8')).trim();
  const answer = await system.askDaemon('/v1/control/sync', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-request-id': `i${token}` },
    body: JSON.stringify({ reason: `because ${token}`, reviewer: token }),
  });
  const { task_id } = (await answer.json()) as { task_id: string };
  const report = await until(async () => {
    const status = await system.askDaemon(`/v1/reports/task.status?task_id=${task_id}`);
    const { task } = (await status.json()) as { task: { status: string } };
    return task.status === 'succeeded' ? task : null;
  });
  expect(report).toMatchObject({ reason: 'because [redacted]', reviewer: '[redacted]' });
  // On a busy machine a check can take longer than it may.
  const doctor = await until(async () => {
    const found = (await (await system.askDaemon(`/v1/reports/daemon.doctor`)).json()) as {
      checks: Array<{ id: string; status: string }>;
    };
    return found.checks.every(({ status }) => status !== 'failing') && found;
  });
  expect(doctor.checks.map((check) => check.id)).toEqual(
    expect.arrayContaining([
      'database.main',
      'store.writable',
      'attestation',
      'upstream',
      'tasks.lanes',
      'clock',
    ]),
  );
  const log = (await (await system.askDaemon(`/v1/reports/daemon.logs?tail=1000`)).json()) as {
    lines: Array<{ msg: string }>;
  };
  expect(log.lines.map((line) => line.msg)).toEqual(
    expect.arrayContaining(['sync started', 'sync succeeded']),
  );
  return token;
}

describe('the daemon as a process', () => {
  it('ends with 0 on SIGTERM, also in the middle of a sync, and resumes the sync later', async () => {
    const system = await daemonSystem();
    const first = await system.startDaemon();
    const { task_id } = await system.control('sync');
    expect(await first.stop()).toBe(0);
    await system.startDaemon();
    const status = async (): Promise<unknown> => {
      const answer = await system.askDaemon(`/v1/reports/task.status?task_id=${task_id}`);
      return ((await answer.json()) as { task: { status: string } }).task.status;
    };
    await expect.poll(status).toBe('succeeded');
  });

  it('has no thread for work that nobody has asked for', async () => {
    const system = await daemonSystem();
    system.daemon = await startWith(system);
    // The checks of the doctor look at every database.
    await until(async () => {
      const { checks } = (await (await system.askDaemon('/v1/reports/daemon.doctor')).json()) as {
        readonly checks: ReadonlyArray<{ readonly id: string; readonly status: string }>;
      };
      const databases = checks.filter(({ id }) => id.startsWith('database.'));
      return databases.length === 4 && databases.every(({ status }) => status === 'ok');
    });
    const tasks = `/proc/${system.daemon.pid}/task`;
    const names = await Promise.all(
      (await readdir(tasks)).map(
        async (id) => await readFile(join(tasks, id, 'comm'), 'utf8').catch(() => ''),
      ),
    );
    // Linux cuts names off.
    const known = (await readdir(SOURCES, { recursive: true }))
      .filter((file) => file.endsWith('-worker.ts'))
      .map((file) => basename(file, '.ts').slice(0, 15));
    expect(known).toContain('structure-worke');
    const workers = names.map((name) => name.trim()).filter((name) => known.includes(name));
    expect(workers.toSorted()).toEqual(['index-worker', 'translation-wor']);
  });

  it('restarts on request, when a supervisor starts it again', async () => {
    const system = await daemonSystem();
    const daemon = await startWith(system, '--supervised=true');
    const answer = await system.askDaemon(`/v1/control/restart`, { method: 'POST' });
    expect([answer.status, await answer.json()]).toEqual([
      202,
      expect.objectContaining({ action: 'restart', status: 'succeeded', result: { drain: true } }),
    ]);
    expect(await daemon.exited).toBe(0);
    await startWith(system);
    const tasks = (await (await system.askDaemon(`/v1/reports/task.list`)).json()) as { items: unknown[] };
    expect(tasks.items).toMatchObject([{ kind: 'restart', status: 'succeeded' }]);
  });

  it('keeps its files and its token from all others, and requires the token, unless that is turned off', async () => {
    const system = await daemonSystem();
    const data = join(system.directory, 'data');
    await mkdir(data, { mode: 0o777 });
    await chmod(data, 0o777);
    const daemon = await system.startDaemon();
    await expectPrivate(data);
    const withoutToken = async (path: string, init?: RequestInit): Promise<number> =>
      (await fetch(`${daemon.url}${path}`, init)).status;
    expect((await stat(system.daemonTokenFile)).mode & 0o777).toBe(0o600);
    expect(await withoutToken('/v1/reports/task.list')).toBe(401);
    expect(await withoutToken('/v1/control/sync', { method: 'POST' })).toBe(401);
    expect(await withoutToken('/healthz')).toBe(200);
    expect((await system.askDaemon('/v1/reports/task.list')).status).toBe(200);
    const token = await expectReports(system);
    expect(await daemon.stop()).toBe(0);
    expect(has(daemon.lines, '"request_id":"i[redacted]"')).toBe(true);
    expect(has(daemon.lines, token)).toBe(false);
    expect((await readFile(join(data, 'main.db'))).includes(token)).toBe(false);
    await startWith(system, '--requireToken=false');
    expect(await withoutToken('/v1/reports/task.list')).toBe(200);
    expect((await readFile(system.daemonTokenFile, 'utf8')).trim()).toBe(token);
  });

  it('warns of weak secrets at its start and in the doctor, and refuses them when it is strict', async () => {
    const system = await daemonSystem();
    const tokenFile = await writeTokenFile('short');
    const key = join(system.directory, 'keys', 'signing.key');
    await chmod(key, 0o644);
    const flags = ['--sync.onStart=false', `--tokenFile=${tokenFile}`];
    const daemon = await startWith(system, ...flags);
    expect(has(daemon.lines, `${key}: every user of this machine can read the private key`)).toBe(true);
    expect(has(daemon.lines, `${tokenFile}: the token has 5 characters`)).toBe(true);
    const secrets = async (): Promise<unknown> => {
      const answer = await fetch(`${daemon.url}/v1/reports/daemon.doctor`, {
        headers: { authorization: 'Bearer short' },
      });
      const { checks } = (await answer.json()) as { checks: Array<{ id: string }> };
      return checks.find(({ id }) => id === 'secrets');
    };
    await expect
      .poll(secrets)
      .toMatchObject({ status: 'degraded', message: expect.stringMatching(/private key.*5 characters/) });
    await daemon.stop();
    const error = await startWith(system, ...flags, '--strict=true').catch((failure: unknown) => failure);
    const { failed } = error as StartError;
    expect([failed.code, failed.lines.filter((line) => line.includes('strict: '))]).toEqual([
      78,
      [expect.stringContaining(key), expect.stringContaining(tokenFile)],
    ]);
    await chmod(key, 0o600);
    await writeFile(tokenFile, 'a-token-of-more-than-16-characters');
    await startWith(system, ...flags, '--strict=true');
  });

  it('listens on a Unix socket that others cannot open, with a token', async () => {
    const system = await daemonSystem();
    const socketPath = join(await temporaryDirectory(), 'daemon.sock');
    const tokenFile = await writeTokenFile('shared-token');
    await startWith(system, `--listen.socketPath=${socketPath}`, `--tokenFile=${tokenFile}`);
    expect((await stat(socketPath)).mode & 0o007).toBe(0);
    const ask = async (path: string, token?: string): Promise<number | undefined> => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const [response] = (await once(
        request({ socketPath, path, headers, agent: false }).end(),
        'response',
      )) as [IncomingMessage];
      response.resume();
      return response.statusCode;
    };
    expect([
      await ask('/healthz'),
      await ask('/v1/reports/task.list'),
      await ask('/v1/reports/task.list', 'shared-token'),
    ]).toEqual([200, 401, 200]);
  });

  it('reports every unusable signing key with exit code 78', async () => {
    const system = await daemonSystem();
    await writeFile(join(system.directory, 'keys', 'signing.key'), 'no key');
    const error = await startWith(system).catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(StartError);
    const { failed } = error as StartError;
    expect(failed.code).toBe(78);
    expect(has(failed.lines, 'signing.key')).toBe(true);
  });

  it('rebuilds a damaged database from the volume, keeps the damaged file aside, and says so', async () => {
    const system = await daemonSystem();
    const first = await system.startDaemon();
    await system.succeed('sync');
    await first.stop();
    const data = join(system.directory, 'data');
    const path = join(data, 'main.db');
    const damaged = await readFile(path);
    damaged.fill(0xa5, 4096, 32_768);
    await writeFile(path, damaged);
    const daemon = await system.startDaemon();
    expect(has(daemon.lines, 'the database is damaged; the file is kept aside')).toBe(true);
    const kept = (await readdir(data)).filter((name) => name.startsWith('main.db.damaged-'));
    expect(kept).toHaveLength(1);
    expect((await readFile(join(data, kept[0] ?? ''))).equals(damaged)).toBe(true);
    const check = async (): Promise<unknown> => {
      const doctor = (await (await system.askDaemon('/v1/reports/daemon.doctor')).json()) as {
        checks: Array<{ id: string; status: string; message: string }>;
      };
      return doctor.checks.find(({ id }) => id === 'database.main');
    };
    await expect.poll(check).toMatchObject({
      status: 'degraded',
      message: expect.stringContaining(join(data, kept[0] ?? '')) as unknown,
    });
    // The release of the volume is adopted, verified again and attested.
    await expect.poll(async () => (await system.askDaemon('/v1/attestation')).status).toBe(200);
    expect(await system.succeed('sync')).toMatchObject({ result: { unchanged: true } });
    await daemon.stop();
    await system.startDaemon();
    await expect.poll(check).toMatchObject({ status: 'ok' });
  });
});
