import { mkdir, readFile, stat, writeFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import type { Clock } from '../../platform/process/clock.ts';
import { runKeygen } from '../keygen/keygen.ts';
import { startChild, type Child } from './child.ts';
import { waitForFirstRelease } from './daemon-progress.ts';
import { writeDemoRelease } from './demo-release.ts';
import {
  devLayout,
  prepareDevFiles,
  writeDaemonConfiguration,
  writeServerConfiguration,
} from './dev-files.ts';
import type { DevLayout } from './dev-files.ts';
import { DEV_USAGE, parseDevOptions, type DevOptions } from './dev-options.ts';
import { findFreePorts } from './free-port.ts';
import { renderFailedSync, renderWelcome } from './welcome.ts';
import { renderProgress } from '../output/progress-line.ts';
import { renderReadableLine } from '../output/readable-log.ts';
import { messageOf } from '../../platform/errors.ts';

const CDN_HOST = 'prod-clientpatch.bluearchiveyostar.com';
const STOP_GRACE_MS = 40_000;

/** The environment of `slipway dev`. */
export interface DevIo {
  readonly stdout: Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable;
  readonly clock: Clock;
  /** The folder that holds `cmd/` and `bin/`. */
  readonly programDirectory: string;
  /** Aborted by Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal;
}

/**
 * Runs the whole system on one machine: creates missing files (demo upstream, keys, tokens, configuration), starts the
 * daemon and the server as separate processes, and prints their addresses when the first release is served. A sync that
 * fails does not end it: it prints the reason and waits for the next one.
 *
 * @param args the command line after `dev`
 * @returns the exit code: 0 after Ctrl-C, 1 when a part ended by itself, 2 for wrong arguments
 */
export async function runDev(args: readonly string[], io: DevIo): Promise<number> {
  if (args.includes('--help')) {
    io.stdout.write(DEV_USAGE);
    return 0;
  }
  const options = parseDevOptions(args);
  if (!options.ok) {
    for (const problem of options.error) io.stderr.write(`slipway dev: ${problem}\n`);
    io.stderr.write(DEV_USAGE);
    return 2;
  }
  const children: Child[] = [];
  try {
    await serve(options.value, io, children);
    return 0;
  } catch (error) {
    if (io.signal.aborted) return 0;
    io.stderr.write(`slipway dev: ${messageOf(error)}\n`);
    return 1;
  } finally {
    if (children.length > 0) io.stdout.write('stopping\n');
    // The server first: it drains its downloads while the daemon still answers.
    for (const child of children.toReversed()) await child.stop(STOP_GRACE_MS);
  }
}

async function serve(options: DevOptions, io: DevIo, children: Child[]): Promise<void> {
  const data = resolve(options.data);
  await mkdir(data, { recursive: true, mode: 0o700 });
  const layout = devLayout(data);
  await prepareDevFiles(layout);
  await prepareKeys(layout, io);
  await rm(layout.summary, { force: true });
  if (options.upstream.kind === 'demo') {
    io.stdout.write('preparing the demo upstream\n');
    await writeDemoRelease(layout.upstream);
  }
  const upstream =
    options.upstream.kind === 'directory'
      ? { ...options.upstream, path: resolve(options.upstream.path) }
      : options.upstream;
  const [freePort = 0, metricsPort = 0] = await findFreePorts(2);
  const port = options.port === 0 ? freePort : options.port;
  const start = (name: string, configuration: string): Child => {
    const child = startChild(name, join(io.programDirectory, 'cmd', `${name}.ts`), configuration, (line) =>
      io.stdout.write(`${renderReadableLine(name, line)}\n`),
    );
    children.push(child);
    return child;
  };

  await writeDaemonConfiguration(layout, upstream);
  const daemon = start('daemon', layout.daemonConfiguration);
  const daemonUrl = await daemon.listening;
  await writeServerConfiguration(layout, { port, metricsPort, daemonUrl });
  const server = start('server', layout.serverConfiguration);
  const serverUrl = await server.listening;

  const ended = Promise.race(children.map(async (child) => ({ child, ...(await child.exited) }))).then(
    (end) => {
      throw new Error(`the ${end.child.name} exited unexpectedly (${end.signal ?? `exit code ${end.code}`})`);
    },
  );
  const addresses = {
    serverUrl,
    tokenFile: layout.adminToken,
    programDirectory: io.programDirectory,
  };
  const adminToken = (await readFile(layout.adminToken, 'utf8')).trim();
  const { releaseId } = await Promise.race([
    waitForFirstRelease({ url: serverUrl, adminToken }, io, {
      onProgress: progressWriter(io),
      onFailure: (failure) => io.stdout.write(renderFailedSync(failure, addresses)),
    }),
    ended,
  ]);
  await writeFile(
    layout.summary,
    `${JSON.stringify(
      {
        server_url: serverUrl,
        daemon_url: daemonUrl,
        metrics_url: `http://127.0.0.1:${metricsPort}/metrics`,
        admin_token_file: layout.adminToken,
        daemon_token_file: layout.daemonToken,
        cdn_host: CDN_HOST,
        release_id: releaseId,
      },
      null,
      2,
    )}\n`,
  );
  io.stdout.write(
    await renderWelcome({
      ...addresses,
      releaseId,
      cdnHost: CDN_HOST,
      snapshotRoot: layout.snapshot,
      publicKeyFile: join(layout.keys, 'signing.pub'),
    }),
  );
  await Promise.race([ended, aborted(io.signal)]);
}

async function prepareKeys(layout: DevLayout, io: DevIo): Promise<void> {
  const present = await stat(join(layout.keys, 'signing.key')).then(
    () => true,
    () => false,
  );
  if (present) return;
  const code = await runKeygen(['--out', layout.keys], { stdout: io.stdout, stderr: io.stderr });
  if (code !== 0) throw new Error(`no signing key could be created in ${layout.keys}`);
}

function progressWriter(io: DevIo): (progress: Parameters<typeof renderProgress>[0]) => void {
  let last = '';
  return (progress) => {
    const line = renderProgress(progress);
    if (line === last) return;
    last = line;
    io.stdout.write(
      io.stdout.isTTY === true
        ? `\r\u001b[2K${line}${progress.done === progress.total ? '\n' : ''}`
        : `${line}\n`,
    );
  };
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
