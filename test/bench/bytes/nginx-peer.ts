import { spawn } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { findFreePorts } from '../../../demo/free-port.ts';
import { until } from '../../support/until.ts';
import { endChild, type Peer } from './peer.ts';

/** Starts nginx over a directory, with one worker, sendfile and no cache of open files. */
export async function startNginxPeer(directory: string, files: string): Promise<Peer> {
  const [port = 0] = await findFreePorts(1);
  await mkdir(directory, { recursive: true });
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${directory}/${name};`)
    .join(' ');
  // When root starts it, the worker would run as `nobody`, which may not read the folder of the run.
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  await chmod(dirname(directory), 0o755);
  const file = join(directory, 'nginx.conf');
  await writeFile(
    file,
    `${user} worker_processes 1; daemon off; pid ${directory}/nginx.pid; error_log ${directory}/nginx.log;
events { worker_connections 4096; }
http { access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_requests 1000000000; keepalive_timeout 65; etag on;
  ${temporary}
  server { listen 127.0.0.1:${port} backlog=4096; root ${files};
    location / { expires 1y; add_header Cache-Control immutable; } } }
`,
  );
  const child = spawn('nginx', ['-p', directory, '-c', file], { stdio: ['ignore', 'ignore', 'inherit'] });
  const base = `http://127.0.0.1:${port}`;
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`nginx ended with ${child.exitCode}`);
    return (await fetch(`${base}/1k.bin`, { method: 'HEAD' })).ok;
  }, 30_000);
  return {
    name: 'nginx',
    pid: child.pid ?? -1,
    url: (path) => `${base}/${path.replace(/^\//, '')}`,
    // The worker ends with its master on SIGTERM. A killed master would leave it behind.
    stop: async () => {
      child.kill('SIGTERM');
      await until(() => child.exitCode !== null || child.signalCode !== null).catch(async () => {
        await endChild(child);
      });
    },
  };
}
