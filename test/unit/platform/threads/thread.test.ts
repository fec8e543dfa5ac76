import { spawnSync } from 'node:child_process';
import { getPriority } from 'node:os';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createThread, ThreadError, type Thread } from '../../../../src/platform/threads/thread.ts';
import type { TestCalls } from '../../../support/thread-calls.ts';

const MODULE = new URL('../../../support/thread-calls.ts', import.meta.url);
const LIMITS = { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 32 };

function startThread(givesWay = false): Thread<TestCalls> {
  const thread = createThread<TestCalls>({
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

describe('a thread', () => {
  it('answers calls with its data, many concurrently', async () => {
    const thread = startThread();
    const names = Array.from({ length: 50 }, (_, index) => `caller ${index}`);
    expect(await Promise.all(names.map(async (name) => await thread.call('greet', name)))).toEqual(
      names.map((name) => `hello ${name}`),
    );
  });

  it('moves buffers in both directions', async () => {
    const sent = new Uint8Array([1, 2, 3]);
    const answer = await startThread().call('echo', sent, { transfer: [sent.buffer] });
    expect(sent.byteLength).toBe(0);
    expect(answer).toEqual(new Uint8Array([1, 2, 3]));
  });

  it('passes on an error of a function with its message and code', async () => {
    const thread = startThread();
    await expect(thread.call('fail', 'ENOSPC')).rejects.toMatchObject({
      message: 'it failed',
      code: 'ENOSPC',
      stack: expect.stringContaining('thread-calls.ts') as string,
    });
    await expect(thread.call('unclonable', undefined as never)).rejects.toThrow('could not be cloned');
    expect(await thread.call('greet', 'again')).toBe('hello again');
  });

  it('refuses an argument that cannot be copied, and stays usable', async () => {
    const thread = startThread();
    await expect(thread.call('greet', (() => undefined) as never)).rejects.toThrow('could not be cloned');
    expect(await thread.call('greet', 'again')).toBe('hello again');
  });
});

describe('the priority of a thread', () => {
  // Elsewhere a thread has none of its own.
  it.runIf(process.platform === 'linux')(
    'is lower when it gives way, and no other thread has a lower one',
    async () => {
      const before = getPriority();
      const [giving, other] = [startThread(true), startThread()];
      expect(await giving.call('priority', undefined as never)).toBe(Math.min(before + 10, 19));
      expect(await other.call('priority', undefined as never)).toBe(before);
      expect(getPriority()).toBe(before);
    },
  );
});

describe('cancellation', () => {
  it.each(['wait', 'spin'] as const)('ends a call of "%s" with the reason of the signal', async (name) => {
    const thread = startThread();
    const reason = new Error('no longer needed');
    const caller = new AbortController();
    const call = thread.call(name, null, { signal: caller.signal });
    const outcome = expect(call).rejects.toBe(reason);
    // The thread answers other calls meanwhile, even while a function blocks it.
    expect(await thread.call('greet', 'meanwhile')).toBe('hello meanwhile');
    caller.abort(reason);
    await outcome;
    await expect(thread.call(name, null, { signal: caller.signal })).rejects.toBe(reason);
    expect(await thread.call('greet', 'again')).toBe('hello again');
  });

  it('does not affect other calls', async () => {
    const thread = startThread();
    const caller = new AbortController();
    const other = thread.call('wait', null);
    let isSettled = false;
    const settled = other.catch(() => {
      isSettled = true;
    });
    const cancelled = expect(thread.call('wait', null, { signal: caller.signal })).rejects.toThrow('gone');
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
      const pending = thread.call('wait', null).catch((error: unknown) => error);
      const error: unknown = await thread.call(name, argument as never).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ThreadError);
      expect(String(error)).toMatch(text);
      expect(String(error)).toContain('the thread that tests');
      expect(await pending).toBe(error);
      expect(await thread.call('greet', 'again')).toBe('hello again');
    },
  );

  it('fails every pending call when it is closed, and every later one', async () => {
    const thread = startThread();
    const pending = thread.call('wait', null).catch((error: unknown) => error);
    await thread.close();
    expect(String(await pending)).toContain('the thread that tests was closed');
    await expect(thread.call('greet', 'late')).rejects.toBeInstanceOf(ThreadError);
    await thread.close();
  });

  it('fails calls of a module that cannot be loaded', async () => {
    const thread = createThread<TestCalls>({
      purpose: 'tests',
      module: new URL('./absent.ts', import.meta.url),
      limits: LIMITS,
    });
    await expect(thread.call('greet', 'nobody')).rejects.toThrow(/the thread that tests crashed: .*absent/);
  });

  it('does not keep an idle process alive, but a call does', () => {
    const source = `
      import { createThread } from ${JSON.stringify(new URL('../../../../src/platform/threads/thread.ts', import.meta.url).href)};
      const thread = createThread({ purpose: 'tests', module: new URL(${JSON.stringify(MODULE.href)}), data: 'hello', limits: {} });
      void thread.call('greet', 'process').then(console.log);
    `;
    const child = spawnSync(process.execPath, ['--input-type=module-typescript', '--eval', source], {
      timeout: 15_000,
      encoding: 'utf8',
    });
    expect(child.stdout).toBe('hello process\n');
    expect(child.status).toBe(0);
  });
});
