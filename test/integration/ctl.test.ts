import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { AcceptedAnswer } from '../../src/contract/schemas/answers/admin.ts';
import { REPORTS } from '../../src/contract/reports/reports.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { writeTokenFile } from '../support/token-file.ts';
import { until } from '../support/until.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const ADMIN_TOKEN = 'canary-ctl-77aa';

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A system with an admin token, over a release that is not synced yet. */
async function operatedSystem(): Promise<
  TestSystem & { readonly tokenFile: string; readonly upstream: string }
> {
  const upstream = await temporaryDirectory();
  await writeReleaseTree(upstream, { id: 'r90_one', files: sampleFiles() });
  const tokenFile = await writeTokenFile(ADMIN_TOKEN);
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    daemon: { sync: { onStart: false } },
    server: { admin: { tokenFiles: [tokenFile], exposeControl: true } },
  });
  return { ...system, tokenFile, upstream };
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

/** Puts a kubectl in front of PATH that forwards to the server. */
async function fakeKubectl(forwardTo: string | null): Promise<{
  readonly env: Record<string, string>;
  readonly pid: () => Promise<number>;
  readonly calls: () => Promise<string>;
}> {
  const directory = await temporaryDirectory();
  const script = join(directory, 'kubectl');
  const child = join(ROOT, 'test/support/kubectl-child.ts');
  await writeFile(script, `#!/bin/sh\nexec "${process.execPath}" "${child}" "$@"\n`);
  await chmod(script, 0o755);
  const [pidFile, argsFile] = [join(directory, 'pid'), join(directory, 'args')];
  const secret = { data: { token: Buffer.from(`${ADMIN_TOKEN}\n`).toString('base64') } };
  return {
    env: {
      PATH: `${directory}:${process.env['PATH'] ?? ''}`,
      PID_FILE: pidFile,
      ARGS_FILE: argsFile,
      SECRET: JSON.stringify(secret),
      ...(forwardTo === null ? {} : { FORWARD_TO: new URL(forwardTo).port }),
    },
    pid: async () => Number(await readFile(pidFile, 'utf8')),
    calls: async () => await readFile(argsFile, 'utf8'),
  };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('slipway ctl in front of a real service', () => {
  it('syncs a release, follows its log and shows what is served', async () => {
    const system = await operatedSystem();
    const env = { SLIPWAY_CTL_URL: system.serverUrl, SLIPWAY_CTL_TOKEN_FILE: system.tokenFile };
    const ctl = async (...argv: string[]): Promise<Ended> => await run('slipway', ['ctl', ...argv], env);

    expect(await ctl('status')).toMatchObject({
      code: 1,
      out: expect.stringContaining('distributable:') as string,
    });
    const synced = await ctl('run', 'sync', '--wait', '-o', 'json');
    expect([synced.code, synced.err.includes(ADMIN_TOKEN)]).toEqual([0, false]);
    const { task } = REPORTS['task.status'].answer.schema.parse(JSON.parse(synced.out));
    expect(task).toMatchObject({ kind: 'sync', status: 'succeeded' });
    await system.untilReady(true);
    expect(await ctl('status')).toMatchObject({ code: 0, out: expect.stringContaining('r90_one') as string });
    expect((await ctl('releases')).out).toMatch(/official +r90_one +current/);
    expect((await ctl('tasks')).out).toContain(task.task_id);
    expect((await ctl('task', 'show', task.task_id)).out).toMatch(/status: +succeeded/);
    // It ends with the task, which has ended.
    expect(await ctl('logs', '-f', '--task', task.task_id)).toMatchObject({ code: 0 });
    expect((await ctl('doctor')).code).toBe(0);

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
    await writeFile(system.upstream, 'no folder any more');
    expect(await ctl('run', 'sync', 'force=true', '--wait')).toMatchObject({ code: 1 });
    expect((await ctl('task', 'cancel', task.task_id)).code).toBe(1);
    await system.daemon.kill();
    expect((await ctl('tasks')).code).toBe(5);
    await system.server.kill();
    expect((await ctl('tasks')).code).toBe(3);
  });

  it('goes through kubectl as its plugin, takes the token from a Secret, and leaves nothing behind', async () => {
    const system = await operatedSystem();
    const kubectl = await fakeKubectl(system.serverUrl);
    const plugin = async (...argv: string[]): Promise<Ended> =>
      await run(
        'kubectl-slipway',
        ['-n', 'games', '--token-secret', 'slipway-admin/token', ...argv],
        kubectl.env,
      );
    expect(await plugin('tasks')).toMatchObject({
      code: 0,
      err: '',
      out: expect.stringContaining('TASK') as string,
    });
    expect(isAlive(await kubectl.pid())).toBe(false);
    expect(await kubectl.calls()).toBe(
      'get secret slipway-admin --namespace games -o json\n' +
        'port-forward --namespace games --address 127.0.0.1 service/slipway :8080\n',
    );
    const missing = await plugin('tasks', '--context', 'elsewhere', '--token-secret', 'slipway-admin/other');
    expect(missing).toMatchObject({ code: 2, err: expect.stringContaining('no key "other"') as string });
  });

  it('ends kubectl on Ctrl-C, and says what kubectl said when it cannot forward', async () => {
    const system = await operatedSystem();
    const kubectl = await fakeKubectl(system.serverUrl);
    const env = { ...process.env, ...kubectl.env, SLIPWAY_CTL_TOKEN_FILE: system.tokenFile };
    const child = spawn(process.execPath, [join(ROOT, 'cmd/slipway.ts'), 'ctl', '--kubectl', 'logs', '-f'], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    const pid = await kubectl.pid();
    expect(isAlive(pid)).toBe(true);
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([130, null]);
    await until(() => !isAlive(pid));

    const none = await fakeKubectl(null);
    expect(await run('slipway', ['ctl', '--target', 'pod/gone', 'tasks'], none.env)).toMatchObject({
      code: 3,
      err: expect.stringContaining('services "slipway" not found') as string,
    });
    expect(await run('slipway', ['ctl', '--kubectl', 'tasks'], { PATH: '/nowhere' })).toMatchObject({
      code: 3,
      err: expect.stringContaining('kubectl is not installed') as string,
    });
  });
});
