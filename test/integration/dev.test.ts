import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { makeCheckout, type Checkout } from '../support/checkout.ts';
import { generateGameRoot } from '../support/game-catalogs.ts';
import { serverInfoDocument } from '../support/generate-release.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { startUpstreamServer } from '../support/upstream-server.ts';
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

interface DevProcess extends Omit<DevRun, 'summary'> {
  readonly exitCode: () => number | null;
}

function spawnDev({ directory, env }: Checkout, data: string, args: readonly string[] = []): DevProcess {
  const child = spawn(join(directory, 'bin/slipway'), ['dev', '--port', '0', '--data', data, ...args], {
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
  return { output: () => output, stop, exitCode: () => child.exitCode };
}

async function startDev(checkout: Checkout, data: string): Promise<DevRun> {
  return await untilServed(spawnDev(checkout, data), data);
}

async function untilServed(dev: DevProcess, data: string): Promise<DevRun> {
  await until(() => dev.output().includes('Press Ctrl-C to stop') || dev.exitCode() !== null, 90_000);
  const summary = JSON.parse(await readFile(join(data, 'dev.json'), 'utf8')) as DevSummary;
  return { ...dev, summary };
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

  it('stays up, unready, while upstream is closed, says why, and serves once a sync succeeds', async () => {
    const root = generateGameRoot('dev', ['Android', 'iOS']);
    const upstream = await startUpstreamServer({
      files: new Map([...root.files].map(([path, bytes]) => [`r90_dev/${path}`, bytes] as const)),
    });
    onTestFinished(async () => await upstream.close());
    upstream.files.set('info.json', Buffer.from(serverInfoDocument(`${upstream.url}/r90_dev`)));
    upstream.closed.add('r90_dev/');
    const checkout = await makeCheckout({ prepared: true, sources: 'linked' });
    const data = join(await temporaryDirectory(), 'data');
    const dev = spawnDev(checkout, data, ['--upstream', `${upstream.url}/info.json`]);
    await until(() => dev.output().includes('To sync now:') || dev.exitCode() !== null, 90_000);
    expect(dev.output()).toContain('The sync failed: upstream_closed: the catalog root');
    expect(dev.exitCode()).toBeNull();
    const [, url = ''] = /stays up at (\S+)\. /.exec(dev.output()) ?? [];
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
    upstream.closed.clear();
    const [, line = ''] = /To sync now:\n {2}(.*)\n/.exec(dev.output()) ?? [];
    await run('sh', ['-c', line], { cwd: checkout.directory, env: checkout.env });
    const { summary } = await untilServed(dev, data);
    expect(summary.release_id).toBe('r90_dev');
    expect(await dev.stop('SIGTERM')).toBe(0);
  });

  it('ends with SIGTERM while upstream cannot be reached', async () => {
    const checkout = await makeCheckout({ prepared: true, sources: 'linked' });
    const data = join(await temporaryDirectory(), 'data');
    const dev = spawnDev(checkout, data, ['--upstream', 'http://127.0.0.1:1/info.json']);
    await until(() => dev.output().includes('upstream_unreachable') || dev.exitCode() !== null, 90_000);
    expect(dev.exitCode()).toBeNull();
    expect(await dev.stop('SIGTERM')).toBe(0);
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
