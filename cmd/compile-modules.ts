#!/usr/bin/env node
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createServer } from 'node:http';
import { flushCompileCache } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { createHttpClient } from '../src/platform/http/http-client.ts';
import { createHashPool } from '../src/platform/hashing/hash-pool.ts';

// Loads every module of the programs and of their threads, and saves the compiled code in NODE_COMPILE_CACHE. The image build
// runs it, because its programs run on a read-only root. Run it as the user and with the NODE_OPTIONS of the programs.

/** The entry of every thread; it loads in a thread only. */
const THREAD_ENTRY = 'thread-worker.ts';
const PROGRAMS = [
  'cmd/compose/*.ts',
  'src/**/*-worker.ts',
  'src/{engine,localization}/**/*-process.ts',
  'src/platform/isolation/orphan-watch.ts',
  // The daemon loads them only for a port for metrics.
  'src/daemon/metrics.ts',
  // The daemon loads them with the first run that needs them.
  'src/exchange/*/*-formats.ts',
  'src/localization/translation/{review/{check-tasks,handoff-export,import-file},worker/worker-task}.ts',
  'src/localization/translation/providers/*-provider.ts',
];

const root = join(import.meta.dirname, '..');
const modules = globSync(PROGRAMS, { cwd: root });
for (const module of modules) {
  if (!module.endsWith(THREAD_ENTRY)) await import(join(root, module));
}
const pool = createHashPool({ threads: 1 });
const file = await open(import.meta.filename);
await pool.hashFile(file.fd, { blocks: false, extra: [] });
await file.close();
await pool.close();
// The server loads it with the first request of an administrator.
await import('http-proxy-middleware');
// The HTTP client loads its parser with its first connection.
const server = createServer((_request, response) => response.end()).listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
const client = createHttpClient({ connections: 1, keepAlive: false });
await client.send({ url: `http://127.0.0.1:${port}`, timeoutMs: 10_000, maxBytes: 0 });
flushCompileCache();
process.exit();
