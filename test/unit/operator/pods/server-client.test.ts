import { describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../../../src/contract/operations/operations.ts';
import { ScheduleListReport } from '../../../../src/contract/reports/report-schedules.ts';
import { HttpFailure } from '../../../../src/platform/http/http-client.ts';
import { AdminRefused, meaningOf } from '../../../../src/operator/pods/admin-refused.ts';
import {
  createServerClient,
  SERVER_PATHS,
  type ReportedSchedule,
} from '../../../../src/operator/pods/server-client.ts';
import { syncRow } from '../../../../src/operator/reconcile/sync-status.ts';
import { FAKE_TOKEN, startFakeSlipway } from '../../../support/fake-slipway.ts';

const client = createServerClient({ timeoutMs: 500, userAgent: 'test' });

describe('a call of the operator to a server', () => {
  it('matches the table of operations', () => {
    const table = Object.entries(SERVER_PATHS).map(([id, path]) => [
      OPERATIONS[id as keyof typeof SERVER_PATHS].path,
      path,
    ]);
    for (const [expected, path] of table) expect(path).toBe(expected);
  });

  it('understands a daemon of the previous version', async () => {
    const fake = await startFakeSlipway();
    const origin = `http://127.0.0.1:${fake.port}`;
    fake.sync = undefined;
    const [now] = ScheduleListReport.example.items;
    const previous = { ...now, origin: undefined, replaced_by: undefined };
    fake.schedules.set('nightly-verify', previous as unknown as ReportedSchedule);
    const status = await client.releaseStatus(origin, FAKE_TOKEN);
    expect(status.official?.release_id).toBe('r1');
    expect(status.sync).toBeUndefined();
    expect(syncRow([status])).toBeUndefined();
    expect(await client.schedules(origin, FAKE_TOKEN)).toMatchObject([
      { id: 'nightly-verify', origin: 'manual', replaced_by: null },
    ]);
  });

  it('understands a server of the previous version', async () => {
    const fake = await startFakeSlipway();
    fake.daemonState = undefined;
    const health = await client.health(`http://127.0.0.1:${fake.port}`);
    expect(health.verdicts.official.distributable).toBe(true);
    expect(health.daemon).toBeUndefined();
  });

  it('is done once, however often it is sent under one key, which may be any text', async () => {
    const fake = await startFakeSlipway();
    const origin = `http://127.0.0.1:${fake.port}`;
    const call = { key: 'Mon 23 Nov, 翻訳 '.repeat(50), signal: new AbortController().signal };
    const first = await client.control(origin, FAKE_TOKEN, 'sync', {}, call);
    const second = await client.control(origin, FAKE_TOKEN, 'sync', {}, call);
    expect([first.deduplicated, second.deduplicated]).toEqual([false, true]);
    expect(fake.actions).toHaveLength(1);
    expect(fake.actions[0]?.key).toMatch(/^[0-9a-f]{64}$/);
  });

  it('fails with its cause: refused, silent, or answered by another program', async () => {
    const fake = await startFakeSlipway();
    const origin = `http://127.0.0.1:${fake.port}`;
    await expect(client.releaseStatus(origin, 'wrong')).rejects.toMatchObject({
      status: 401,
      code: 'not_authenticated',
    });
    await expect(client.health(`${origin}/elsewhere`)).rejects.toThrow(HttpFailure);
    fake.setSilent(true);
    await expect(client.health(origin)).rejects.toThrow('no complete answer within 500 ms');
    await fake.close();
    await expect(client.health(origin)).rejects.toThrow(/ECONNREFUSED/);
  });
});

describe('a failed call of the admin surface', () => {
  it.each([
    [new AdminRefused(401, 'not_authenticated', ''), 'TokenRejected'],
    [new AdminRefused(403, 'control_forbidden', ''), 'ControlNotExposed'],
    [new AdminRefused(400, 'invalid_request', ''), 'ActionRejected'],
    [new AdminRefused(501, 'not_implemented', ''), 'ActionRejected'],
    [new AdminRefused(502, 'qa_blocked', ''), 'ActionRejected'],
    [new AdminRefused(502, 'daemon_unreachable', ''), 'AdminUnavailable'],
    [new AdminRefused(502, 'store_locked', ''), 'AdminUnavailable'],
    [new AdminRefused(503, 'backend_unavailable', ''), 'AdminUnavailable'],
    // An ingress in between, during a deployment.
    [new AdminRefused(502, null, ''), 'AdminUnavailable'],
    [new AdminRefused(404, null, ''), 'AdminUnavailable'],
    [new HttpFailure('unreachable', 'ECONNREFUSED'), 'AdminUnavailable'],
  ] as const)('%s means %s', (error, reason) => {
    expect(meaningOf(error)).toBe(reason);
  });
});
