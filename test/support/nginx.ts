import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from './free-ports.ts';
import { openSocket } from './raw-http.ts';
import type { AtEnd } from './shared-fixture.ts';
import { until } from './until.ts';

/** How nginx caches: whole answers, or slices that it requests by range. */
export type NginxCache = 'whole' | 'slices';

const SLICE = `
      slice 256k;
      proxy_set_header Range $slice_range;
      proxy_cache_key $request_uri$slice_range;`;
const WHOLE = `
      proxy_cache_key $request_uri;`;

function configuration(directory: string, port: number, originPort: number, cache: NginxCache): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `  ${name}_temp_path ${directory}/${name};`)
    .join('\n');
  return `
user root;
worker_processes 1;
daemon off;
pid ${directory}/nginx.pid;
error_log stderr crit;
events { worker_connections 512; }
http {
  access_log off;
${temporary}
  proxy_cache_path ${directory}/cache keys_zone=bytes:1m max_size=256m inactive=10m use_temp_path=off;
  upstream origin { server 127.0.0.1:${originPort} max_fails=0; keepalive 8; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://origin;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_next_upstream off;
      proxy_cache bytes;${cache === 'slices' ? SLICE : WHOLE}
    }
  }
}
`;
}

/** Starts nginx as a caching reverse proxy in front of a port of this machine. */
export async function startNginx(
  originPort: number,
  cache: NginxCache,
  atEnd: AtEnd,
): Promise<{ readonly port: number }> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'slipway-nginx-')));
  atEnd(async () => {
    await rm(directory, { recursive: true, force: true });
  });
  const [port = 0] = await freePorts(1);
  const file = join(directory, 'nginx.conf');
  await writeFile(file, configuration(directory, port, originPort, cache));
  const child = spawn('nginx', ['-p', directory, '-c', file, '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = once(child, 'exit');
  atEnd(async () => {
    child.kill('SIGTERM');
    await exited;
  });
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`nginx ended with ${child.exitCode}`);
    (await openSocket(port)).destroy();
    return true;
  });
  return { port };
}
