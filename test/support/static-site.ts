import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { freePorts } from './free-ports.ts';
import { until } from './until.ts';

/** Starts nginx with a folder as its site. It stops with the running test. @returns the base URL, without a trailing slash */
export async function startStaticSite(folder: string): Promise<string> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'slipway-site-')));
  onTestFinished(async () => {
    await rm(directory, { recursive: true, force: true });
  });
  const [port = 0] = await freePorts(1);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const file = join(directory, 'nginx.conf');
  await writeFile(
    file,
    `user root;
worker_processes 1;
daemon off;
pid ${directory}/nginx.pid;
error_log stderr crit;
events { worker_connections 512; }
http {
  access_log off;
${temporary.map((name) => `  ${name}_temp_path ${directory}/${name};`).join('\n')}
  server { listen 127.0.0.1:${port}; root ${folder}; }
}
`,
  );
  const child = spawn('nginx', ['-p', directory, '-c', file, '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await exited;
  });
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`nginx ended with ${child.exitCode}`);
    return (await fetch(`http://127.0.0.1:${port}/`)).status > 0;
  });
  return `http://127.0.0.1:${port}`;
}
