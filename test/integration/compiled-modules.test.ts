import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { IMAGE_NODE_OPTIONS } from '../support/image-node-options.ts';
import { startSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { writeTokenFile } from '../support/token-file.ts';

const TOKEN = 'admin-token-of-the-test';
const ROOT = resolve(import.meta.dirname, '../..');
/** Node's message for a module that must be compiled. A thread that strips types needs about 17 MiB for it. */
const NOT_COMPILED = /(?:reading cache from .* for \S+ (\S+)\.\.\. ?no such file|for \S+ (\S+) was rejected)/;

it('compiles in advance all modules that a daemon, a server and their threads load', async () => {
  const directory = await temporaryDirectory();
  const cache = join(directory, 'cache');
  const files = join(directory, 'upstream');
  await mkdir(files);
  await writeFile(join(files, 'table.bytes'), 'the bytes of a table');
  const env = { ...process.env, NODE_COMPILE_CACHE: cache, NODE_OPTIONS: IMAGE_NODE_OPTIONS };
  // As in the build of the image.
  for (const program of ['daemon', 'operator', 'server']) {
    execFileSync(process.execPath, [`cmd/${program}.ts`, '--help'], { cwd: ROOT, env });
  }
  execFileSync(process.execPath, ['cmd/compile-modules.ts'], { cwd: ROOT, env });

  const wrapper = ['env', `NODE_COMPILE_CACHE=${cache}`, 'NODE_DEBUG_NATIVE=COMPILE_CACHE'];
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: files } },
    server: { scrub: { enabled: true }, admin: { tokenFiles: [await writeTokenFile(TOKEN)] } },
    startNothing: true,
  });
  const daemon = await system.startDaemon(wrapper);
  const server = await system.startServer(wrapper);
  await system.untilReady(true);
  const read = await fetch(`${server.url}/admin/tasks`, { headers: { authorization: `Bearer ${TOKEN}` } });
  expect(read.status).toBe(200);
  const lines = [...daemon.lines, ...server.lines];
  expect(lines.filter((line) => line.includes('hash-worker.ts')).length).toBeGreaterThan(0);
  expect(lines.filter((line) => line.includes('manifest-worker.ts')).length).toBeGreaterThan(0);
  expect(lines.filter((line) => line.includes('report-worker.ts')).length).toBeGreaterThan(0);
  expect(
    lines.map((line) => NOT_COMPILED.exec(line)?.slice(1).join('')).filter((path) => path !== undefined),
  ).toEqual([]);
});
