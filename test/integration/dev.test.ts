import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

const ROOT = resolve(import.meta.dirname, '../..');

interface DevSummary {
  readonly server_url: string;
  readonly daemon_url: string;
  readonly metrics_url: string;
  readonly admin_token_file: string;
  readonly cdn_host: string;
  readonly release_id: string;
}

interface DevRun {
  readonly summary: DevSummary;
  readonly output: () => string;
  stop(signal: NodeJS.Signals): Promise<number | null>;
}

async function startDev(data: string, ...more: string[]): Promise<DevRun> {
  const child = spawn(
    process.execPath,
    [`${ROOT}/cmd/slipway.ts`, 'dev', '--port', '0', '--data', data, ...more],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  const stop = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (child.exitCode === null) child.kill(signal);
    return await exited;
  };
  onTestFinished(async () => {
    await stop('SIGTERM');
  });
  await until(() => output.includes('Ctrl-C ends it') || child.exitCode !== null, 90_000);
  const summary = JSON.parse(await readFile(join(data, 'dev.json'), 'utf8')) as DevSummary;
  return { summary, output: () => output, stop };
}

async function answers(url: string): Promise<boolean> {
  return await fetch(url).then(
    () => true,
    () => false,
  );
}

describe('slipway dev', () => {
  it('serves the demo release, a second start serves at once, and Ctrl-C ends both processes', async () => {
    const data = join(await temporaryDirectory(), 'data');
    const first = await startDev(data);
    expect(first.summary.release_id).toBe('1.67.412528-r90_demo');
    expect((await fetch(`${first.summary.server_url}/v1/bootstrap`)).status).toBe(200);
    expect((await fetch(first.summary.metrics_url)).status).toBe(200);
    expect((await readFile(first.summary.admin_token_file, 'utf8')).trim().length).toBeGreaterThanOrEqual(32);
    expect(first.output()).toContain('curl -s');
    expect(await first.stop('SIGINT')).toBe(0);
    expect(await answers(first.summary.server_url)).toBe(false);
    expect(await answers(first.summary.daemon_url)).toBe(false);

    const second = await startDev(data);
    expect(second.summary.release_id).toBe(first.summary.release_id);
    expect(await second.stop('SIGTERM')).toBe(0);
  });

  it('does not leave its processes behind when it is killed', async () => {
    const run = await startDev(join(await temporaryDirectory(), 'data'));
    await run.stop('SIGKILL');
    await until(
      async () => !(await answers(run.summary.server_url)) && !(await answers(run.summary.daemon_url)),
      30_000,
    );
  });
});
