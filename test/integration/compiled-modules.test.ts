import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { expect, it, onTestFinished } from 'vitest';
import { IMAGE_NODE_OPTIONS } from '../support/image-node-options.ts';
import { sharedFixture } from '../support/shared-fixture.ts';
import { startSystem } from '../support/system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { writeTokenFile } from '../support/token-file.ts';
import { until } from '../support/until.ts';

const TOKEN = 'admin-token-of-the-test';
const ROOT = resolve(import.meta.dirname, '../..');
/** Node's message for a module that must be compiled. A thread that strips types needs about 17 MiB for it. */
const NOT_COMPILED = /(?:reading cache from .* for \S+ (\S+)\.\.\. ?no such file|for \S+ (\S+) was rejected)/;

/** The folder of modules that were compiled as in the build of the image. */
const compiled = sharedFixture(async (atEnd) => {
  const cache = join(await temporaryDirectory(atEnd), 'cache');
  const env = { ...process.env, NODE_COMPILE_CACHE: cache, NODE_OPTIONS: IMAGE_NODE_OPTIONS };
  for (const program of ['daemon', 'operator', 'server']) {
    execFileSync(process.execPath, [`cmd/${program}.ts`, '--help'], { cwd: ROOT, env });
  }
  execFileSync(process.execPath, ['cmd/compile-modules.ts'], { cwd: ROOT, env });
  return { cache };
});

/**
 * The modules that a program had to compile, by the lines that Node prints with `NODE_DEBUG_NATIVE=COMPILE_CACHE`. Let Node
 * print them to a file: what a full pipe does not take at once is lost.
 */
function notCompiled(lines: readonly string[]): readonly (string | undefined)[] {
  return lines.map((line) => NOT_COMPILED.exec(line)?.slice(1).join('')).filter((path) => path !== undefined);
}

it('compiles in advance all modules that a daemon, a server and their threads load', async () => {
  const { cache } = compiled();
  const files = join(await temporaryDirectory(), 'upstream');
  await mkdir(files);
  await writeFile(join(files, 'table.bytes'), 'the bytes of a table');
  const log = join(files, '..', 'output');
  const debug = ['env', `NODE_COMPILE_CACHE=${cache}`, 'NODE_DEBUG_NATIVE=COMPILE_CACHE'];
  const wrapper = ['sh', '-c', 'exec "$@" 2>>"$0"', log, ...debug];
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: files } },
    server: { scrub: { enabled: true }, admin: { tokenFiles: [await writeTokenFile(TOKEN)] } },
    startNothing: true,
  });
  await system.startDaemon(wrapper);
  const server = await system.startServer(wrapper);
  await system.untilReady(true);
  const read = await fetch(`${server.url}/admin/tasks`, { headers: { authorization: `Bearer ${TOKEN}` } });
  expect(read.status).toBe(200);
  const lines = (await readFile(log, 'utf8')).split('\n');
  expect(lines.filter((line) => line.includes('hash-worker.ts')).length).toBeGreaterThan(0);
  expect(lines.filter((line) => line.includes('manifest-worker.ts')).length).toBeGreaterThan(0);
  expect(lines.filter((line) => line.includes('http-proxy-middleware')).length).toBeGreaterThan(0);
  expect(notCompiled(lines)).toEqual([]);
});

/**
 * Where in the output Node last looks for the compiled code of a module; -1 if nowhere. The threads of a process write
 * parts of lines, so one line can hold the text of several threads.
 */
function lastReadOf(module: string, output: string): number {
  const reads = [...output.matchAll(/reading cache from \S+ for \S+ file:\S*\/([^/\s]+\.ts)\.\.\./g)];
  return reads.findLast((read) => read[1] === module)?.index ?? -1;
}

/** The programs of child processes. */
const CHILD_PROGRAMS = globSync('src/**/*.ts', { cwd: ROOT }).filter((file) =>
  /^serveJobs[<(]/m.test(readFileSync(join(ROOT, file), 'utf8')),
);

it('finds the programs of child processes', () => {
  expect(CHILD_PROGRAMS.length).toBeGreaterThan(3);
});

it.each(CHILD_PROGRAMS)(
  'compiles in advance all modules that the process %s and its thread load',
  async (file) => {
    const program = join(ROOT, file);
    const log = join(await temporaryDirectory(), 'output');
    const output = await open(log, 'a');
    const child = fork(program, ['1000'], {
      env: { ...process.env, NODE_COMPILE_CACHE: compiled().cache, NODE_DEBUG_NATIVE: 'COMPILE_CACHE' },
      // As the daemon starts it.
      execArgv: ['--max-old-space-size=512', '--max-semi-space-size=16'],
      stdio: ['ignore', output.fd, output.fd, 'ipc'],
    });
    await output.close();
    const exit = once(child, 'exit');
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    // The process is ready before its thread has loaded the last module, `watched-process.ts`.
    await until(async () => {
      const text = await readFile(log, 'utf8');
      expect(child.exitCode ?? child.signalCode, text.slice(-2000)).toBeNull();
      const watch = lastReadOf('orphan-watch.ts', text);
      return watch >= 0 && lastReadOf('watched-process.ts', text) > watch;
    });
    // It has loaded all when it takes messages, and ends when the channel is closed.
    child.send({ kind: 'continue' });
    child.disconnect();
    await exit;
    const lines = (await readFile(log, 'utf8')).split('\n');
    expect(lines.length).toBeGreaterThan(3);
    expect(notCompiled(lines)).toEqual([]);
  },
);
