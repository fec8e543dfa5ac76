import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { findFreePorts } from '../../demo/free-port.ts';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';

/** How long nginx may take to start. */
const START_MS = 10_000;

/** A `manifest` upstream: files and a `release.json` with their digests, served by nginx. */
export interface ManifestUpstream {
  readonly url: string;
  readonly names: readonly string[];
  /** Writes a file that the next release has; returns its path. */
  put(name: string, bytes: Uint8Array): Promise<string>;
  /** Writes the `release.json` of all files that were put. */
  publish(releaseId: string): Promise<void>;
  stop(): void;
}

/** Starts nginx over an empty folder below `directory`. */
export async function startManifestUpstream(directory: string): Promise<ManifestUpstream> {
  const files = join(directory, 'files');
  await mkdir(files, { recursive: true });
  const { url, stop } = await startNginx(directory, files);
  const entries = new Map<string, object>();
  let releases = 0;
  return {
    url,
    get names() {
      return [...entries.keys()];
    },
    put: async (name, bytes) => {
      const file = join(files, name);
      await writeFile(file, bytes);
      entries.set(name, { destination: name, size: bytes.length, digests: { blake3: blake3Hex(bytes) } });
      return file;
    },
    publish: async (releaseId) => {
      const text = JSON.stringify({ release_id: releaseId, entries: [...entries.values()] });
      // The ETag of nginx is the size and the second of the change: each release has another size.
      await writeFile(join(files, 'release.json'), `${text}${' '.repeat(releases)}`);
      releases += 1;
    },
    stop,
  };
}

async function startNginx(
  directory: string,
  files: string,
): Promise<{ readonly url: string; readonly stop: () => void }> {
  const [port = 0] = await findFreePorts(1);
  const configuration = join(directory, 'nginx.conf');
  await writeFile(
    configuration,
    `${userLine()}worker_processes 1; daemon off; pid ${directory}/nginx.pid; error_log ${directory}/error.log;
events { worker_connections 1024; }
http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
  client_body_temp_path ${directory}/b; proxy_temp_path ${directory}/p; fastcgi_temp_path ${directory}/f; uwsgi_temp_path ${directory}/u; scgi_temp_path ${directory}/s;
  server { listen 127.0.0.1:${port}; root ${files}; } }`,
  );
  const nginx = spawn('nginx', ['-p', directory, '-c', configuration], { stdio: 'ignore' });
  await once(nginx, 'spawn');
  const url = `http://127.0.0.1:${port}`;
  try {
    await untilAnswers(url);
  } catch (error) {
    nginx.kill('SIGTERM');
    throw error;
  }
  return { url, stop: () => nginx.kill('SIGTERM') };
}

/** When root starts nginx, it would run as `nobody`, which may not read the working directory. */
function userLine(): string {
  return process.getuid?.() === 0 ? 'user root; ' : '';
}

async function untilAnswers(url: string): Promise<void> {
  const deadline = performance.now() + START_MS;
  while ((await fetch(url, { method: 'HEAD' }).catch(() => null)) === null) {
    if (performance.now() > deadline) throw new Error(`nginx does not answer at ${url}`);
    await setTimeout(50);
  }
}
