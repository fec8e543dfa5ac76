import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ReleaseStatusReport } from '../../src/contract/reports/report-releases.ts';
import { acquireDataLock } from '../../src/engine/database/data-lock.ts';
import { SUPERVISION_VARIABLE, type Supervision } from '../../src/daemon/supervisor/supervision.ts';
import { startSlipway, type StartError } from '../support/process.ts';
import { sampleFiles, writeReleaseTree } from '../support/release-tree.ts';
import { startSystem, type TestSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

async function supervisedSystem(): Promise<TestSystem> {
  const upstream = await temporaryDirectory();
  await writeReleaseTree(upstream, { id: 'r1', files: sampleFiles() });
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    daemon: { metrics: { host: '127.0.0.1', port: 0 } },
    supervised: true,
  });
  await system.untilReady(true);
  return system;
}

/** The boot of a daemon that is ready; `null` while none is. */
async function bootOf(system: TestSystem): Promise<string | null> {
  try {
    if (!(await fetch(`${system.daemonUrl}/readyz`)).ok) return null;
    const answer = await fetch(`${system.daemonUrl}/healthz`);
    return ((await answer.json()) as { boot_id: string }).boot_id;
  } catch {
    return null;
  }
}

/** The process id of the daemon after this number of restarts. */
async function daemonPid({ daemon }: TestSystem, restarts: number): Promise<number> {
  const line = await until(() =>
    Promise.resolve(
      daemon.lines.find((text) => text.includes(`"restarts":${restarts},"msg":"the daemon runs"`)) ?? null,
    ),
  );
  return (JSON.parse(line) as { daemon_pid: number }).daemon_pid;
}

async function doctorOf(system: TestSystem): Promise<unknown> {
  return await (await system.askDaemon('/v1/reports/daemon.doctor')).json();
}

async function untilOtherBoot(system: TestSystem, before: string | null): Promise<string> {
  return await until(async () => {
    const boot = await bootOf(system);
    return boot === null || boot === before ? null : boot;
  });
}

describe('a supervised daemon', () => {
  it('comes back when it is killed and after the restart action, while the server serves, and ends with its supervisor', async () => {
    const system = await supervisedSystem();
    const asked = new AbortController();
    const refused: number[] = [];
    const asking = (async () => {
      while (!asked.signal.aborted) {
        const { status } = await fetch(`${system.serverUrl}/readyz`);
        if (status !== 200) refused.push(status);
        await delay(20);
      }
    })();
    for (let round = 0; round < 2; round += 1) {
      const before = await bootOf(system);
      const pid = await daemonPid(system, round);
      expect(pid).not.toBe(system.daemon.pid);
      const lines = system.daemon.lines.length;
      process.kill(pid, 'SIGKILL');
      await untilOtherBoot(system, before);
      const line = system.daemon.lines.slice(lines).find((text) => text.includes('the daemon died'));
      expect(JSON.parse(line ?? '{}')).toMatchObject({ daemon_pid: pid, signal: 'SIGKILL' });
      expect((JSON.parse(line ?? '{}') as { wait_ms: number }).wait_ms).toBeLessThan(1000);
    }
    asked.abort();
    await asking;
    expect(refused).toEqual([]);
    await system.succeed('sync');
    await expect
      .poll(async () => await doctorOf(system))
      .toMatchObject({
        process: { supervised: true, restarts: 2, last_exit: { signal: 'SIGKILL' } },
        checks: expect.arrayContaining([
          expect.objectContaining({ id: 'process', status: 'degraded' }),
        ]) as unknown,
      });
    const listening = system.daemon.lines.findLast((text) => text.includes('"daemon listening"')) ?? '{}';
    const { metrics_url: metricsUrl } = JSON.parse(listening) as { metrics_url: string };
    const metrics = await (await fetch(`${metricsUrl}/metrics`)).text();
    expect(metrics).toMatch(/^slipway_daemon_restarts 2$/m);
    expect(metrics).toMatch(/^slipway_daemon_sync_consecutive_failures 0$/m);
    expect(metrics).toMatch(/^slipway_daemon_sync_last_success_timestamp_seconds \d{10}$/m);
    expect(metrics).toMatch(/^slipway_daemon_sync_next_timestamp_seconds \d{10}$/m);
    expect(metrics).toMatch(/^slipway_daemon_check_status\{check="process"\} 1$/m);

    const before = await bootOf(system);
    await system.control('restart');
    await untilOtherBoot(system, before);
    expect(system.daemon.lines.some((line) => line.includes('the daemon ended to be started again'))).toBe(
      true,
    );
    expect(await system.daemon.stop()).toBe(0);
    expect(await bootOf(system)).toBeNull();
    await system.startDaemon();
    await system.daemon.kill();
    await until(async () => (await bootOf(system)) === null);
  });

  it('answers its supervisor while it waits as a standby', async () => {
    const system = await startSystem({ upstream: { kind: 'none' }, startNothing: true });
    const lock = acquireDataLock(join(system.directory, 'data'), new Date());
    onTestFinished(() => lock.release());
    const standby = fork(
      join(import.meta.dirname, '../../cmd/daemon.ts'),
      ['--config', system.daemonConfiguration],
      { silent: true },
    );
    onTestFinished(() => void standby.kill('SIGKILL'));
    await until(async () => {
      const health = await fetch(`${system.daemonUrl}/healthz`).catch(() => null);
      const body = (await health?.json()) as { waiting_for?: string } | undefined;
      return body?.waiting_for ?? null;
    });
    const answered = once(standby, 'message');
    standby.send('slipway:ping');
    expect(await answered).toEqual(['slipway:pong', undefined]);
  });

  it('that keeps ending reports the crash loop in release.status, as a failing check and as a metric', async () => {
    const system = await startSystem({
      upstream: { kind: 'none' },
      daemon: { metrics: { host: '127.0.0.1', port: 0 } },
      startNothing: true,
    });
    const at = Math.floor(Date.now() / 1000);
    const end = { code: null, signal: 'SIGSEGV', at, lived_seconds: 2, listened: true };
    const supervision: Supervision = { restarts: 5, ends: [end, end, end, end, end] };
    const daemon = await startSlipway('daemon', [`--config=${system.daemonConfiguration}`], {
      env: { [SUPERVISION_VARIABLE]: JSON.stringify(supervision) },
    });
    onTestFinished(async () => await daemon.kill());
    const report = await until(async () => {
      const answer = await system.askDaemon('/v1/reports/release.status').catch(() => null);
      return answer?.ok === true ? ReleaseStatusReport.schema.parse(await answer.json()) : null;
    });
    expect(report.crash_loop).toMatch(/^crash loop: the daemon ended unexpectedly 5 times .* SIGSEGV /);
    await expect
      .poll(async () => await doctorOf(system))
      .toMatchObject({
        checks: expect.arrayContaining([
          expect.objectContaining({ id: 'process', status: 'failing', message: report.crash_loop }),
        ]) as unknown,
      });
    const listening = daemon.lines.find((text) => text.includes('"daemon listening"')) ?? '{}';
    const { metrics_url: metricsUrl } = JSON.parse(listening) as { metrics_url: string };
    const metrics = await (await fetch(`${metricsUrl}/metrics`)).text();
    expect(metrics).toMatch(/^slipway_daemon_check_status\{check="process"\} 2$/m);
  });

  it('whose configuration is refused ends the first process with the message', async () => {
    const configuration = `${await temporaryDirectory()}/daemon.yaml`;
    await writeFile(configuration, 'nonsense: 1\n');
    const failed = await startSlipway('daemon-supervisor', ['--config', configuration]).then(
      () => null,
      (error: unknown) => (error as StartError).failed,
    );
    expect(failed?.code).toBe(78);
    expect(failed?.lines.some((line) => line.includes('nonsense'))).toBe(true);
  });
});
