import { describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../src/contract/operations/operations.ts';
import type { OperationDefinition } from '../../src/contract/operations/operation-definition.ts';
import type { Problem } from '../../src/contract/problems/problem-schema.ts';
import { AcceptedAnswer } from '../../src/contract/schemas/answers/admin.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { startSystem, type TaskBody, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { writeTokenFile } from '../support/token-file.ts';
import { until } from '../support/until.ts';

const ADMIN_TOKEN = 'canary-admin-9d2b';
const DAEMON_TOKEN = 'canary-daemon-51c7';

/** A system with an open admin surface, over a release that is not synced yet. */
async function adminSystem(): Promise<TestSystem> {
  const upstream = await temporaryDirectory();
  await writeReleaseTree(upstream, { id: 'r90_one', files: sampleFiles() });
  const [adminFile, daemonFile] = [await writeTokenFile(ADMIN_TOKEN), await writeTokenFile(DAEMON_TOKEN)];
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    daemon: { sync: { onStart: false }, tokenFile: daemonFile as unknown as object },
    server: {
      admin: { tokenFiles: [adminFile], exposeControl: true },
      daemon: { tokenFile: daemonFile },
      log: { level: 'debug' },
    },
    startNothing: true,
  });
  await Promise.all([system.startDaemon(), system.startServer()]);
  return system;
}

/** Requests an admin operation and checks a 200 against its contract. */
async function read(system: TestSystem, operation: keyof typeof OPERATIONS, query = ''): Promise<unknown> {
  const definition: OperationDefinition = OPERATIONS[operation];
  const response = await fetch(`${system.serverUrl}${definition.path}${query}`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  const body: unknown = await response.json();
  const answer = definition.answers[response.status];
  if (response.status !== 200 || answer?.kind !== 'json') {
    throw new Error(`${definition.path}: ${response.status} ${JSON.stringify(body)}`);
  }
  return answer.answer.schema.parse(body);
}

async function post(system: TestSystem, action: string, body: object = {}): Promise<Response> {
  return await fetch(`${system.serverUrl}/admin/control/${action}?svc_token=${ADMIN_TOKEN}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function refused(response: Response): Promise<[number, string]> {
  return [response.status, ((await response.json()) as Problem).code];
}

describe('the admin surface in front of a real daemon', () => {
  it('runs a sync, shows the task, its log and the release, and reports missing ones', async () => {
    const system = await adminSystem();
    const response = await post(system, 'sync', { reason: 'canary-reason' });
    expect(response.status).toBe(202);
    const { task_id } = AcceptedAnswer.schema.parse(await response.json());

    const task = await until(async () => {
      const report = (await read(system, 'getTaskStatus', `?task_id=${task_id}`)) as { task: TaskBody };
      return ['queued', 'running'].includes(report.task.status) ? null : report.task;
    });
    expect(task).toMatchObject({ task_id, status: 'succeeded' });
    expect(await read(system, 'listTasks')).toMatchObject({
      items: expect.arrayContaining([expect.objectContaining({ task_id, kind: 'sync' })]) as unknown,
    });
    await read(system, 'getTaskLogs', `?task_id=${task_id}`);
    const { distributable } = await system.untilReady(true);
    expect(distributable).toBe(true);
    await read(system, 'getReleaseStatus');
    expect(await read(system, 'listReleaseHistory')).toMatchObject({
      releases: [{ release_id: 'r90_one', channel: 'official' }],
    });
    await read(system, 'getDiagnostics');
    await read(system, 'getLogs', '?tail=50');
    await read(system, 'getAdminIndex');
    await read(system, 'getTranslationHandoff');
    await read(system, 'getLocalizedStatus');

    const ask = async (path: string): Promise<[number, string]> =>
      await refused(
        await fetch(`${system.serverUrl}${path}`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } }),
      );
    expect(await ask('/admin/tasks/status?task_id=01JUNKNOWN')).toEqual([400, 'unknown_task']);
    expect(await refused(await post(system, 'localized-rollback'))).toEqual([502, 'daemon_rejected']);
    expect(await refused(await post(system, 'task-cancel', { task_id }))).toEqual([502, 'daemon_rejected']);

    await system.daemon.kill();
    expect(await ask('/admin/tasks')).toEqual([503, 'backend_unavailable']);
    expect(await refused(await post(system, 'sync'))).toEqual([502, 'daemon_unreachable']);
    await system.startDaemon();
    expect(await read(system, 'listTasks')).toMatchObject({
      items: expect.arrayContaining([expect.objectContaining({ task_id, kind: 'sync' })]) as unknown,
    });

    const metrics = await (await fetch(system.metricsUrl)).text();
    const written = [...system.server.lines, ...system.daemon.lines, metrics].join('\n');
    expect(written).toContain('"audit":"control"');
    expect(written).not.toContain(ADMIN_TOKEN);
    expect(written).not.toContain(DAEMON_TOKEN);
    expect(system.server.lines.join('\n')).not.toContain('canary-reason');
  });
});
