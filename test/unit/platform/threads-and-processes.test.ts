import { fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createIsolatedWorker } from '../../../src/platform/isolation/isolated-worker.ts';
import { createLender } from '../../../src/platform/isolation/isolated-pool.ts';
import { systemClock } from '../../../src/platform/process/clock.ts';
import {
  isOfClosedThread,
  openThread,
  ThreadError,
  threadInProcess,
  type Thread,
} from '../../../src/platform/threads/thread.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { createStore, type TestStore } from '../../support/thread-store.ts';
import { until } from '../../support/until.ts';

const LIMITS = { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 32 };

describe('threads', () => {
  const MODULE = new URL('../../support/thread-store.ts', import.meta.url);

  function startThread(givesWay = false): Thread<TestStore> {
    const thread = openThread<TestStore>({
      purpose: 'tests',
      module: MODULE,
      data: 'hello',
      limits: LIMITS,
      givesWay,
    });
    onTestFinished(async () => {
      await thread.close();
    });
    return thread;
  }

  function startInProcess(): Thread<TestStore> {
    const thread = threadInProcess(createStore('hello'));
    onTestFinished(async () => {
      await thread.close();
    });
    return thread;
  }

  describe.each([
    ['of its own', startThread],
    ['in this process', startInProcess],
  ])('a thread %s', (_name, start) => {
    it('answers calls with its data, many concurrently', async () => {
      const thread = start();
      const names = Array.from({ length: 50 }, (_, index) => `caller ${index}`);
      expect(await Promise.all(names.map(async (name) => await thread.calls.greet(name)))).toEqual(
        names.map((name) => `hello ${name}`),
      );
    });

    it('moves buffers in both directions', async () => {
      const sent = new Uint8Array([1, 2, 3]);
      const answer = await start().calls.echo(sent, { transfer: [sent.buffer] });
      expect(sent.byteLength).toBe(0);
      expect(answer).toEqual(new Uint8Array([1, 2, 3]));
    });

    it('passes on an error of a function with its message and code', async () => {
      const thread = start();
      await expect(thread.calls.fail('ENOSPC')).rejects.toMatchObject({
        message: 'it failed',
        code: 'ENOSPC',
        stack: expect.stringContaining('thread-store.ts') as string,
      });
      await expect(thread.calls.unclonable()).rejects.toThrow('could not be cloned');
      expect(await thread.calls.greet('again')).toBe('hello again');
    });

    it('refuses an argument that cannot be copied, and stays usable', async () => {
      const thread = start();
      await expect(thread.calls.greet((() => undefined) as never)).rejects.toThrow('could not be cloned');
      expect(await thread.calls.greet('again')).toBe('hello again');
    });

    it('ends a cancelled call with the reason of the signal', async () => {
      const caller = new AbortController();
      const reason = new Error('no longer needed');
      const outcome = expect(start().calls.wait(null, { signal: caller.signal })).rejects.toBe(reason);
      caller.abort(reason);
      await outcome;
    });
  });

  describe('the priority of a thread', () => {
    // Elsewhere a thread has none of its own.
    it.runIf(process.platform === 'linux')(
      'is lower when it gives way, and no other thread has a lower one',
      async () => {
        const before = getPriority();
        const [giving, other] = [startThread(true), startThread()];
        expect(await giving.calls.priority()).toBe(Math.min(before + 10, 19));
        expect(await other.calls.priority()).toBe(before);
        expect(getPriority()).toBe(before);
      },
    );
  });

  describe('cancellation', () => {
    it.each(['wait', 'spin'] as const)('ends a call of "%s" with the reason of the signal', async (name) => {
      const thread = startThread();
      const reason = new Error('no longer needed');
      const caller = new AbortController();
      const call = thread.calls[name](null, { signal: caller.signal });
      const outcome = expect(call).rejects.toBe(reason);
      // The thread answers other calls meanwhile, even while a function blocks it.
      expect(await thread.calls.greet('meanwhile')).toBe('hello meanwhile');
      caller.abort(reason);
      await outcome;
      await expect(thread.calls[name](null, { signal: caller.signal })).rejects.toBe(reason);
      expect(await thread.calls.greet('again')).toBe('hello again');
    });

    it('does not affect other calls', async () => {
      const thread = startThread();
      const caller = new AbortController();
      const other = thread.calls.wait(null);
      let isSettled = false;
      const settled = other.catch(() => {
        isSettled = true;
      });
      const cancelled = expect(thread.calls.wait(null, { signal: caller.signal })).rejects.toThrow('gone');
      caller.abort(new Error('gone'));
      await cancelled;
      await delay(10);
      expect(isSettled).toBe(false);
      await thread.close();
      await settled;
    });
  });

  describe('the end of a thread', () => {
    it.each([
      ['crash', undefined as never, /crashed: Error: a bug/],
      ['exit', 3, /ended with exit code 3/],
      ['overflow', undefined as never, /crashed: .*memory/],
    ] as const)(
      'fails every pending call after "%s", and the next call starts it again',
      async (name, argument, text) => {
        const thread = startThread();
        const pending = thread.calls.wait(null).catch((error: unknown) => error);
        const error: unknown = await thread.calls[name](argument as never).catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(ThreadError);
        expect(String(error)).toMatch(text);
        expect(String(error)).toContain('the thread that tests');
        expect(await pending).toBe(error);
        expect(await thread.calls.greet('again')).toBe('hello again');
      },
    );

    it('fails every pending call when it is closed, and every later one', async () => {
      const thread = startThread();
      const pending = thread.calls.wait(null).catch((error: unknown) => error);
      await thread.close();
      expect(String(await pending)).toContain('the thread that tests was closed');
      expect(isOfClosedThread(new Error('outer', { cause: await pending }))).toBe(true);
      expect(isOfClosedThread(new Error('outer', { cause: new ThreadError('it crashed') }))).toBe(false);
      await expect(thread.calls.greet('late')).rejects.toBeInstanceOf(ThreadError);
      await thread.close();
    });

    it('fails calls of a module that cannot be loaded', async () => {
      const thread = openThread<TestStore>({
        purpose: 'tests',
        module: new URL('./threads/absent.ts', import.meta.url),
        limits: LIMITS,
      });
      await expect(thread.calls.greet('nobody')).rejects.toThrow(/the thread that tests crashed: .*absent/);
    });

    it('does not keep an idle process alive, but a call does', () => {
      const source = `
      import { openThread } from ${JSON.stringify(new URL('../../../src/platform/threads/thread.ts', import.meta.url).href)};
      const thread = openThread({ purpose: 'tests', module: new URL(${JSON.stringify(MODULE.href)}), data: 'hello', limits: {} });
      void thread.calls.greet('process').then(console.log);
    `;
      const child = spawnSync(process.execPath, ['--input-type=module-typescript', '--eval', source], {
        timeout: 170_000,
        encoding: 'utf8',
      });
      expect(child.stdout).toBe('hello process\n');
      expect(child.status).toBe(0);
    });
  });
});

describe('the watch of an isolated process', () => {
  const MODULE = new URL('../../../src/platform/isolation/busy-watch.ts', import.meta.url);

  /** Runs a program that has a watch with a short deadline; gives how it ended. */
  async function run(program: string): Promise<unknown[]> {
    const path = join(await temporaryDirectory(), 'program.mjs');
    await writeFile(
      path,
      `import { startBusyWatch } from '${MODULE.href}';\nconst busy = startBusyWatch(1500);\n${program}`,
    );
    const child = fork(path, [], { stdio: 'ignore' });
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    return await once(child, 'exit');
  }

  it('ends a process whose owner lives but does not end it', async () => {
    expect(await run('busy.begin(); for (;;);')).toEqual([null, 'SIGKILL']);
  });

  it('leaves a process alone that waits, or that works with breaks', async () => {
    const program = `busy.begin(); busy.end(); let rounds = 0;
      const timer = setInterval(() => { rounds += 1; busy.begin(); if (rounds === 6) process.exit(7); }, 500);`;
    expect(await run(program)).toEqual([7, null]);
  });
});

/** A process whose second job needs more memory than the first one has left, and gives its first piece before. */
const PROGRAM = `
let resume = () => undefined;
const waste = [];
const keep = () => { for (let i = 0; i < 12; i += 1) waste.push(Buffer.alloc(10 * 1024 * 1024, 1)); };
process.on('message', (request) => {
  if (request.kind === 'continue') resume();
  if (request.kind !== 'job') return;
  const isReused = waste.length > 0;
  if (request.job === 'fill') {
    keep();
    process.send({ kind: 'done', result: 'filled' });
    return;
  }
  // The owner looks at the memory ten times a second.
  const rest = isReused ? () => { keep(); setInterval(() => undefined, 1000); } : () => undefined;
  process.send({ kind: 'piece', piece: { text: 'one', pid: process.pid } }, rest);
  if (!isReused) resume = () => {
    process.send({ kind: 'piece', piece: { text: 'two', pid: process.pid } });
    resume = () => process.send({ kind: 'done', result: 'ended' });
  };
});
process.on('disconnect', () => process.exit(0));
`;

interface Piece {
  readonly text: string;
  readonly pid: number;
}

/** A process that says in a file that it is ready, and whose jobs give its process id. */
const READY = `
import { writeFileSync } from 'node:fs';
process.on('message', (request) => {
  if (request.kind === 'setup') writeFileSync(request.setup, String(process.pid));
  else process.send({ kind: 'done', result: process.pid });
});
process.on('disconnect', () => process.exit(0));
`;

const BOUNDS = {
  memoryBytes: 256 * 1024 * 1024,
  timeoutMs: 60_000,
  clock: systemClock,
  names: { work: 'work', timeoutSetting: 't', memorySetting: 'm' },
} as const;

describe('an isolated worker', () => {
  it('that is prepared has its process before the first job', async () => {
    const scratchDirectory = await temporaryDirectory();
    const [program, ready] = [join(scratchDirectory, 'program.mjs'), join(scratchDirectory, 'ready')];
    await writeFile(program, READY);
    const worker = createIsolatedWorker<string, null, never, number>({
      program: pathToFileURL(program),
      setup: ready,
      scratchDirectory,
      ...BOUNDS,
    });
    onTestFinished(() => {
      worker.close();
    });
    worker.prepare();
    worker.prepare();
    const pid = await until(async () => Number(await readFile(ready, 'utf8').catch(() => '')) || null);
    const job = worker.run(null, () => undefined, new AbortController().signal);
    expect(await job).toEqual({ kind: 'done', result: pid });
  });

  it('hands over a piece once that its owner is still storing when the process ends', async () => {
    const scratchDirectory = await temporaryDirectory();
    const program = join(scratchDirectory, 'program.mjs');
    await writeFile(program, PROGRAM);
    const worker = createIsolatedWorker<null, string, Piece, string>({
      program: pathToFileURL(program),
      setup: null,
      scratchDirectory,
      ...BOUNDS,
    });
    onTestFinished(() => {
      worker.close();
    });
    const never = new AbortController().signal;
    await worker.run('fill', () => undefined, never);
    let running = 0;
    const seen: string[] = [];
    let first: number | null = null;
    const outcome = await worker.run(
      'pieces',
      async ({ text, pid }) => {
        running += 1;
        seen.push(`${text} ${running}`);
        first ??= pid;
        if (first === pid) await until(() => !existsSync(`/proc/${pid}`));
        running -= 1;
      },
      never,
    );
    expect(outcome).toEqual({ kind: 'done', result: 'ended' });
    expect(seen).toEqual(['one 1', 'two 1']);
  });
});

const worker = (): object => ({});

describe('the workers of a run', () => {
  it('never work for two containers at a time', async () => {
    const lend = createLender([worker(), worker()]);
    let [working, most] = [0, 0];
    const use = async (): Promise<void> =>
      await lend(async () => {
        working += 1;
        most = Math.max(most, working);
        await Promise.resolve();
        working -= 1;
      });
    await Promise.all([use(), use(), use(), use(), use()]);
    expect(most).toBe(2);
  });

  it('begin the next container before the last one is stored', async () => {
    const lend = createLender([worker()]);
    const steps: string[] = [];
    const parseAndStore = async (name: string): Promise<void> => {
      await lend(async () => {
        steps.push(`parse ${name}`);
        await Promise.resolve();
      });
      steps.push(`store ${name}`);
    };
    await Promise.all([parseAndStore('a'), parseAndStore('b')]);
    expect(steps).toEqual(['parse a', 'parse b', 'store a', 'store b']);
  });

  it('stay usable after a container that failed', async () => {
    const lend = createLender([worker()]);
    const failing = lend(async () => await Promise.reject(new Error('disk full')));
    const next = lend(async () => await Promise.resolve('done'));
    await expect(failing).rejects.toThrow('disk full');
    expect(await next).toBe('done');
  });
});
