import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { AcceptedAnswer } from '../../src/contract/schemas/answers/admin.ts';
import { REPORTS } from '../../src/contract/reports/reports.ts';
import { HealthAnswer } from '../../src/contract/schemas/answers/health.ts';
import { ctl as runCtl, type CtlRun } from '../support/ctl.ts';
import { startFakeCluster } from '../support/fake-cluster.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { reusedFixture, type AtEnd } from '../support/shared-fixture.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { writeTokenFile } from '../support/token-file.ts';
import { until } from '../support/until.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const ADMIN_TOKEN = 'canary-ctl-77aa';

const PLUGIN = { name: 'kubectl slipway', plugin: true, version: '1.2.3' };

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A system with an admin token, over a release that is not synced yet. */
async function operatedSystem(
  atEnd: AtEnd = onTestFinished,
): Promise<TestSystem & { readonly tokenFile: string; readonly upstream: string }> {
  const upstream = await temporaryDirectory(atEnd);
  await writeReleaseTree(upstream, { id: 'r90_one', files: sampleFiles() });
  const tokenFile = await writeTokenFile(ADMIN_TOKEN, atEnd);
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    daemon: { sync: { onStart: false } },
    server: { admin: { tokenFiles: [tokenFile], exposeControl: true } },
    atEnd,
  });
  return { ...system, tokenFile, upstream };
}

/** The state of the service as the server tells it. */
async function stateOf({ serverUrl }: Pick<TestSystem, 'serverUrl'>): Promise<string | undefined> {
  const health = HealthAnswer.schema.parse(await (await fetch(`${serverUrl}/healthz`)).json());
  return health.service?.state;
}

/** Runs one of the programs as a user does. */
async function run(
  program: 'slipway' | 'kubectl-slipway',
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [join(ROOT, 'cmd', `${program}.ts`), ...argv], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { code: code as number | null, out, err };
}

/** The port of a system's server. */
function portOf(system: TestSystem): number {
  return Number(new URL(system.serverUrl).port);
}

describe('the output of slipway ctl', () => {
  it.each([
    ['slipway', ['ctl', '--help']],
    ['slipway', ['completion', 'bash']],
    ['kubectl-slipway', ['actions']],
  ])('of %s %j fails with a message when it cannot be written', async (program, argv) => {
    const full = await open('/dev/full', 'w');
    const child = spawn(process.execPath, [join(ROOT, 'cmd', `${program}.ts`), ...argv], {
      stdio: ['ignore', full.fd, 'pipe'],
    });
    const [err, [code]] = await Promise.all([text(child.stderr!), once(child, 'close')]);
    await full.close();
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/^slipway: the output cannot be written: ENOSPC[^\n]*\n$/),
    ]);
  });

  it('is whole in a pipe, also when it is larger than the pipe', async () => {
    const body = JSON.stringify({ report: 'task.list', filler: 'x'.repeat(4 * 1024 * 1024) });
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const tokenFile = await writeTokenFile(ADMIN_TOKEN);
    const { code, out } = await run('slipway', [
      'ctl',
      '--url',
      `http://127.0.0.1:${port}`,
      '--token-file',
      tokenFile,
      'report',
      'task.list',
      '--output',
      'json',
    ]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual(JSON.parse(body));
  });
});

describe('slipway ctl in front of a real service', () => {
  it('syncs a release, follows its log and shows the served release', async () => {
    const system = await operatedSystem();
    const env = { SLIPWAY_CTL_URL: system.serverUrl, SLIPWAY_CTL_TOKEN_FILE: system.tokenFile };
    const program = async (...argv: string[]): Promise<Ended> => await run('slipway', ['ctl', ...argv], env);
    /** In this process: that each code and text leaves a process is seen on the other commands. */
    const ctl = async (...argv: string[]): Promise<CtlRun> => await runCtl(argv, { env });

    expect(await program('status')).toMatchObject({
      code: 1,
      out: expect.stringContaining('distributable:') as string,
    });
    const synced = await program('run', 'sync', '--wait', '-o', 'json');
    expect([synced.code, synced.err.includes(ADMIN_TOKEN)]).toEqual([0, false]);
    const { task } = REPORTS['task.status'].answer.schema.parse(JSON.parse(synced.out));
    expect(task).toMatchObject({ kind: 'sync', status: 'succeeded' });
    await system.untilReady(true);
    expect(await ctl('status')).toMatchObject({ code: 0, out: expect.stringContaining('r90_one') as string });
    expect((await ctl('releases')).out).toMatch(/official +r90_one +current/);
    expect((await ctl('tasks')).out).toContain(task.task_id);
    expect((await ctl('task', 'show', task.task_id)).out).toMatch(/status: +succeeded/);
    // It ends because the task has ended.
    expect(await program('logs', '-f', '--task', task.task_id)).toMatchObject({ code: 0 });
    await expect.poll(async () => (await ctl('doctor')).code).toBe(0);

    const added = await ctl(
      'run',
      'schedule-add',
      'group=res',
      'action=verify',
      'id=nightly',
      'every_seconds=3600',
      '-o',
      'json',
    );
    expect([added.code, AcceptedAnswer.schema.parse(JSON.parse(added.out)).status]).toEqual([0, 'succeeded']);
    expect((await ctl('schedules')).out).toContain('3600s');
    expect((await ctl('report', 'schedule.list', 'id=nightly', '-o', 'json')).out).toContain(
      '"every_seconds":3600',
    );

    await rm(system.upstream, { recursive: true });
    await writeFile(system.upstream, 'a file, not a folder');
    expect(await ctl('run', 'sync', 'force=true', '--wait')).toMatchObject({ code: 1 });
    expect((await ctl('task', 'cancel', task.task_id, '--yes')).code).toBe(1);
    await system.daemon.kill();
    expect((await ctl('tasks')).code).toBe(5);
    await system.server.kill();
    expect((await program('tasks')).code).toBe(3);
  });

  /** What these tests ask for changes nothing in the service. */
  const unchanged = reusedFixture(operatedSystem);

  it('as a plugin of kubectl connects through the API server, and takes the token from a Secret', async () => {
    const system = await unchanged();
    const cluster = await startFakeCluster({ secret: ADMIN_TOKEN, forwardTo: portOf(system) });
    const options = ['-n', 'games', '--token-secret', 'slipway-admin/token'];
    const plugin = async (...argv: string[]): Promise<CtlRun> =>
      await runCtl([...options, ...argv], { env: cluster.env, program: PLUGIN });
    expect(await run('kubectl-slipway', [...options, 'tasks'], cluster.env)).toMatchObject({
      code: 0,
      err: '',
      out: expect.stringContaining('TASK') as string,
    });
    await until(() => cluster.forwarded === 0);
    const services = `services?labelSelector=${encodeURIComponent('app.kubernetes.io/part-of=slipway,app.kubernetes.io/component=admin')}&limit=10`;
    expect(cluster.calls).toEqual([
      `GET /api/v1/namespaces/games/${services}`,
      'GET /api/v1/namespaces/games/secrets/slipway-admin',
      'GET /api/v1/namespaces/games/services/slipway-admin',
      'GET /api/v1/namespaces/games/pods?labelSelector=app%3Dslipway&limit=100',
      'UPGRADE /api/v1/namespaces/games/pods/slipway-1/portforward?ports=8081',
    ]);
    const missing = await plugin('tasks', '--context', 'here', '--token-secret', 'slipway-admin/other');
    expect(missing).toMatchObject({ code: 2, err: expect.stringContaining('no key "other"') as string });
    const elsewhere = await plugin('tasks', '--context', 'elsewhere');
    expect(elsewhere).toMatchObject({
      code: 3,
      err: expect.stringContaining('no context "elsewhere"') as string,
    });
    // Without a token, the annotation of the Service names the Secret.
    for (const words of [['tasks'], ['tasks', '--target', 'service/slipway-admin']]) {
      expect(await runCtl(['-n', 'games', ...words], { env: cluster.env, program: PLUGIN })).toMatchObject({
        code: 0,
      });
    }
    // Who writes a Service does not choose which Secret is sent.
    const named = ['-n', 'games', 'tasks', '--target', 'service/impostor'];
    expect(await runCtl(named, { env: cluster.env, program: PLUGIN })).toMatchObject({
      code: 2,
      err: expect.stringMatching(
        /Secret mail\/token, which is not labelled .* --token-secret mail/,
      ) as string,
    });
    expect(cluster.calls.at(-1)).toContain('/secrets/mail');
    const several = await startFakeCluster({
      secret: ADMIN_TOKEN,
      forwardTo: portOf(system),
      installations: ['a-admin', 'b-admin'],
    });
    expect(await runCtl(['tasks'], { env: several.env, program: PLUGIN })).toMatchObject({
      code: 2,
      err: expect.stringContaining('choose one with --target: service/a-admin, service/b-admin') as string,
    });
    const empty = await startFakeCluster({ secret: ADMIN_TOKEN, forwardTo: null, installations: [] });
    expect(await runCtl(['-n', 'games', 'tasks'], { env: empty.env, program: PLUGIN })).toMatchObject({
      code: 3,
      err: expect.stringContaining(
        'namespace "games" has no installation of Slipway; name its namespace',
      ) as string,
    });
    for (const target of ['deployment/slipway', 'pod/slipway-1']) {
      expect(await plugin('tasks', '--target', target, '--target-port', 'web')).toMatchObject({ code: 0 });
    }
  });

  it('ends the forwarding on Ctrl-C, and says why it cannot forward', async () => {
    const system = await unchanged();
    const cluster = await startFakeCluster({ secret: ADMIN_TOKEN, forwardTo: portOf(system) });
    const token = { SLIPWAY_CTL_TOKEN_FILE: system.tokenFile };
    const child = spawn(process.execPath, [join(ROOT, 'cmd/slipway.ts'), 'ctl', '--kubectl', 'logs', '-f'], {
      env: { ...process.env, ...cluster.env, ...token },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    expect(cluster.forwarded).toBe(1);
    expect(cluster.calls[1]).toBe('GET /api/v1/namespaces/team/services/slipway-admin');
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([130, null]);
    await until(() => cluster.forwarded === 0);

    const forbidden = await startFakeCluster({ secret: ADMIN_TOKEN, forwardTo: null });
    const env = { ...forbidden.env, ...token };
    expect(await runCtl(['--kubectl', 'tasks'], { env })).toMatchObject({
      code: 3,
      err: expect.stringContaining('cannot forward the port: Unexpected server response: 403') as string,
    });
    expect(await runCtl(['--target', 'service/other', 'tasks'], { env })).toMatchObject({
      code: 3,
      err: expect.stringContaining('service/other in namespace "team"') as string,
    });
  });

  it('reaches a pod that is not ready, so that it can say why', async () => {
    const system = await unchanged();
    // A server that starts before the daemon has made the volume misses it for a moment, and the doctor fails with it.
    await until(async () => (await stateOf(system)) === 'unpublished');
    const cluster = await startFakeCluster({
      secret: ADMIN_TOKEN,
      forwardTo: portOf(system),
      ready: false,
    });
    const env = { ...cluster.env, SLIPWAY_CTL_TOKEN_FILE: system.tokenFile };
    await expect
      .poll(async () => await runCtl(['--kubectl', 'doctor'], { env }))
      .toMatchObject({ code: 0, err: '', out: expect.stringContaining('CHECK') as string });
    expect(cluster.calls.at(-1)).toBe(
      'UPGRADE /api/v1/namespaces/team/pods/slipway-1/portforward?ports=8081',
    );
  });

  it('loads the Kubernetes library only for a cluster', async () => {
    const system = await unchanged();
    const cluster = await startFakeCluster({ secret: ADMIN_TOKEN, forwardTo: portOf(system) });
    const recorder = join(ROOT, 'test/support/record-modules-child.ts');
    const loads = async (...argv: string[]): Promise<boolean> => {
      const { code, err } = await run('slipway', ['ctl', ...argv], {
        ...cluster.env,
        SLIPWAY_CTL_TOKEN_FILE: system.tokenFile,
        NODE_OPTIONS: `--import=${recorder}`,
      });
      expect([argv, code, err.includes('loaded zod')]).toEqual([argv, 0, true]);
      return err.includes('loaded @kubernetes/client-node');
    };
    expect(await loads('--url', system.serverUrl, 'tasks')).toBe(false);
    expect(await loads('--help')).toBe(false);
    expect(await loads('--kubectl', 'tasks')).toBe(true);
  });
});

it('slipway verify waits in a process of its own for a mirror that asks for it', async () => {
  let asked = 0;
  const server = createServer((_request, response) => {
    asked += 1;
    response.writeHead(429, { 'retry-after': asked === 1 ? '1' : '0' }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
  const folder = await temporaryDirectory();
  expect(await run('slipway', ['keygen', '--out', folder])).toMatchObject({ code: 0 });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { code, out } = await run('slipway', ['verify', '--url', url, '--keys', join(folder, 'signing.pub')]);
  expect([code, asked, out]).toEqual([4, 5, expect.stringContaining('answered 429')]);
});
