import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { freePorts } from './free-ports.ts';
import { openSocket } from './raw-http.ts';
import { until } from './until.ts';

const GUIDE = resolve(import.meta.dirname, '../../docs/how-to/caches.md');

/** The caches of the guide: the program, and the language of its block in the guide. */
export const CACHES = [
  ['nginx', 'nginx', 'nginx'],
  ['varnishd', 'vcl', 'varnish'],
  ['squid', 'squid', 'squid'],
] as const;

type Program = (typeof CACHES)[number][0];

/** The configuration that the guide prints. */
async function printedConfiguration(language: string): Promise<string> {
  const blocks = (await readFile(GUIDE, 'utf8')).split('```');
  const block = blocks.find((text) => text.startsWith(`${language}\n`));
  if (block === undefined) throw new Error(`the guide has no block of ${language}`);
  return block.slice(language.length + 1);
}

/** The arguments of a program that runs in the foreground, with the printed configuration for other ports and folders. */
function commandOf(
  program: Program,
  directory: string,
  printed: string,
  port: number,
  origin: number,
): {
  readonly text: string;
  readonly args: readonly string[];
} {
  const file = join(directory, 'configuration');
  if (program === 'varnishd') {
    const text = printed.replace('"8080"', `"${origin}"`);
    return {
      text,
      args: ['-F', '-n', join(directory, 'v'), '-a', `127.0.0.1:${port}`, '-f', file, '-s', 'malloc,64m'],
    };
  }
  if (program === 'squid') {
    const local = printed
      .replace('http_port 80 ', `http_port 127.0.0.1:${port} `)
      .replace(' 8080 ', ` ${origin} `);
    const text = `${local}
pid_filename ${directory}/pid
cache_log ${directory}/cache.log
access_log none
pinger_enable off
shutdown_lifetime 1 second
`;
    return { text, args: ['-N', '-f', file] };
  }
  const local = printed
    .replace('/var/cache/nginx/slipway', `${directory}/cache`)
    .replace('127.0.0.1:8080', `127.0.0.1:${origin}`)
    .replace('listen 80;', `listen 127.0.0.1:${port};`);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${directory}/${name};`)
    .join('\n');
  const text = `user root;
daemon off;
worker_processes 1;
pid ${directory}/pid;
error_log stderr crit;
events { worker_connections 512; }
http {
access_log off;
${temporary}
${local}
}
`;
  return { text, args: ['-p', directory, '-c', file, '-e', 'stderr'] };
}

/** A running cache. */
export interface Cache {
  readonly port: number;
  /** Lets nginx run with the configuration of the guide changed like this, with the files that it has stored. */
  change(edit: (configuration: string) => string): Promise<void>;
}

/**
 * Starts a cache with the configuration of the guide in front of a port of this machine. It stops with the running test.
 *
 * @param edit changes that configuration
 */
export async function startCache(
  program: Program,
  language: string,
  origin: number,
  edit: (configuration: string) => string = (configuration) => configuration,
): Promise<Cache> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'slipway-cache-')));
  onTestFinished(async () => {
    await rm(directory, { recursive: true, force: true });
  });
  // The caches give up their rights and write here as another user.
  await chmod(directory, 0o777);
  const [port = 0] = await freePorts(1);
  const printed = await printedConfiguration(language);
  const { text, args } = commandOf(program, directory, printed, port, origin);
  const file = join(directory, 'configuration');
  await writeFile(file, edit(text));
  const child = spawn(program, [...args], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await exited;
  });
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`);
    (await openSocket(port)).destroy();
    return true;
  });
  return {
    port,
    change: async (changed) => {
      const before = await workersOf(child.pid ?? 0);
      await writeFile(file, changed(text));
      child.kill('SIGHUP');
      // The former worker ends when its connections have ended; requests on new ones reach the next one.
      await until(async () => (await workersOf(child.pid ?? 0)).some((worker) => !before.includes(worker)));
    },
  };
}

/** The process ids of the children of a process. */
async function workersOf(pid: number): Promise<string[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean);
}
