import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { hasTool } from './tools.ts';
import { until } from './until.ts';

/** A Docker daemon that tests may use. */
export interface Docker {
  /** Runs the client. @throws Error with what it printed when it fails */
  readonly run: (...args: readonly string[]) => string;
  /** Runs the client and returns its exit code and output, also when it failed. */
  readonly tryRun: (...args: readonly string[]) => { readonly code: number | null; readonly output: string };
  /** Environment for a client that is started in another way. */
  readonly env: NodeJS.ProcessEnv;
  /**
   * Whether containers can have their own addresses and mapped ports; otherwise they share the network of this machine.
   */
  readonly hasBridge: boolean;
  readonly stop: () => Promise<void>;
}

/**
 * The Docker daemon of this machine. If none answers and this user is root, starts one that ends with the tests. It has
 * no bridge, because nothing is pulled.
 *
 * @returns `null` when there is none and none can be started; in CI that is an error
 */
export async function startDocker(): Promise<Docker | null> {
  if (!hasTool('docker')) return null;
  const own = client(process.env);
  if (own.tryRun('version').code === 0) {
    const hasBridge = own.tryRun('network', 'inspect', 'bridge').code === 0;
    return { ...own, hasBridge, stop: async () => {} };
  }
  if (process.getuid?.() !== 0 || !hasTool('dockerd')) {
    if (process.env['CI'] === 'true') throw new Error('no Docker daemon answers, and none can be started');
    console.warn('SKIPPED: tests of the image: no Docker daemon answers, and only root can start one');
    return null;
  }
  const directory = await mkdtemp(join(tmpdir(), 'slipway-docker-'));
  const socket = `unix://${join(directory, 'docker.sock')}`;
  let log = '';
  const daemon = spawn(
    'sh',
    [
      '-c',
      // The daemon ends when its input is closed, also when the test is killed.
      '"$@" & cat >/dev/null; kill $!; wait',
      'sh',
      'dockerd',
      `--host=${socket}`,
      `--data-root=${join(directory, 'data')}`,
      `--exec-root=${join(directory, 'exec')}`,
      `--pidfile=${join(directory, 'docker.pid')}`,
      '--iptables=false',
      '--ip6tables=false',
      '--bridge=none',
    ],
    { stdio: ['pipe', 'pipe', 'pipe'] },
  );
  for (const stream of [daemon.stdout, daemon.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      log = (log + chunk.toString('utf8')).slice(-8_192);
    });
  }
  const exited = once(daemon, 'exit');
  const started = client({ ...process.env, DOCKER_HOST: socket });
  const stop = async (): Promise<void> => {
    daemon.stdin.end();
    await exited;
    // Containers on the host's network leave this mount behind.
    spawnSync('umount', ['--lazy', join(directory, 'exec/netns/default')], { stdio: 'ignore' });
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await until(() => started.tryRun('version').code === 0);
  } catch (error) {
    await stop();
    throw new Error(`dockerd did not start:\n${log}`, { cause: error });
  }
  return { ...started, hasBridge: false, stop };
}

function client(env: NodeJS.ProcessEnv): Omit<Docker, 'hasBridge' | 'stop'> {
  // Every Docker daemon has this builder. The other one is a plug-in that may be missing.
  const environment = { ...env, DOCKER_BUILDKIT: '0' };
  const tryRun: Docker['tryRun'] = (...args) => {
    const run = spawnSync('docker', args, {
      encoding: 'utf8',
      env: environment,
      maxBuffer: 64 * 1024 * 1024,
    });
    return { code: run.status, output: `${run.stdout}${run.stderr}` };
  };
  return {
    env: environment,
    tryRun,
    run: (...args) => {
      const run = spawnSync('docker', args, {
        encoding: 'utf8',
        env: environment,
        maxBuffer: 64 * 1024 * 1024,
      });
      if (run.status !== 0) {
        throw new Error(`docker ${args.join(' ')} failed:\n${run.stdout}${run.stderr}`);
      }
      return run.stdout.trim();
    },
  };
}
