import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { makeCheckout, type Checkout } from '../support/checkout.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);

interface DevSummary {
  readonly server_url: string;
  readonly daemon_url: string;
  readonly metrics_url: string;
  readonly admin_token_file: string;
  readonly daemon_token_file: string;
  readonly cdn_host: string;
  readonly release_id: string;
}

interface DevRun {
  readonly summary: DevSummary;
  readonly output: () => string;
  stop(signal: NodeJS.Signals): Promise<number | null>;
}

async function startDev({ directory, env }: Checkout, data: string): Promise<DevRun> {
  const child = spawn(join(directory, 'bin/slipway'), ['dev', '--port', '0', '--data', data], {
    cwd: directory,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
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
  await until(() => output.includes('Press Ctrl-C to stop') || child.exitCode !== null, 90_000);
  const summary = JSON.parse(await readFile(join(data, 'dev.json'), 'utf8')) as DevSummary;
  return { summary, output: () => output, stop };
}

/** Runs every command line of the output, as a user pastes it. Each must succeed and print something. */
async function pasteLines({ directory, env }: Checkout, output: string): Promise<string[]> {
  const [, after = ''] = output.split('\nTry:\n');
  const lines = [...after.matchAll(/^ {2}(\S.*)$/gm)].map(([, line = '']) => line);
  for (const line of lines) {
    const { stdout } = await run('sh', ['-c', line], { cwd: directory, env });
    expect(stdout, line).not.toBe('');
  }
  return lines;
}

async function answers(url: string): Promise<boolean> {
  return await fetch(url).then(
    () => true,
    () => false,
  );
}

describe('slipway dev', () => {
  it('serves the demo release, serves immediately at a second start, and ends both processes on Ctrl-C', async () => {
    const checkout = await makeCheckout({ prepared: true, sources: 'copied' });
    const data = join(await temporaryDirectory(), "the user's data");
    const first = await startDev(checkout, data);
    expect(first.summary.release_id).toBe('1.67.412528-r90_demo');
    expect((await fetch(`${first.summary.server_url}/v1/bootstrap`)).status).toBe(200);
    expect((await fetch(first.summary.metrics_url)).status).toBe(200);
    expect((await readFile(first.summary.admin_token_file, 'utf8')).trim().length).toBeGreaterThanOrEqual(32);
    expect((await fetch(`${first.summary.daemon_url}/v1/reports/task.list`)).status).toBe(401);
    expect((await stat(first.summary.daemon_token_file)).mode & 0o777).toBe(0o600);
    expect((await stat(data)).mode & 0o777).toBe(0o700);
    expect(await pasteLines(checkout, first.output())).toEqual([
      expect.stringMatching(/^curl .*readyz/),
      expect.stringMatching(/^curl .*distribution/),
      expect.stringMatching(/^curl .* -r 0-99/),
      expect.stringMatching(/^bin\/slipway ctl .* status$/),
      expect.stringMatching(/^bin\/slipway ctl .* tasks$/),
      expect.stringMatching(/^bin\/slipway ctl .* run sync --wait$/),
      expect.stringMatching(/^bin\/slipway verify /),
    ]);
    expect(await first.stop('SIGINT')).toBe(0);
    expect(await answers(first.summary.server_url)).toBe(false);
    expect(await answers(first.summary.daemon_url)).toBe(false);

    const second = await startDev(checkout, data);
    expect(second.summary.release_id).toBe(first.summary.release_id);
    expect(await second.stop('SIGTERM')).toBe(0);
  });

  it('does not leave its processes behind when it is killed', async () => {
    const dev = await startDev(
      await makeCheckout({ prepared: true, sources: 'linked' }),
      join(await temporaryDirectory(), 'data'),
    );
    await dev.stop('SIGKILL');
    await until(
      async () => !(await answers(dev.summary.server_url)) && !(await answers(dev.summary.daemon_url)),
      30_000,
    );
  });
});
