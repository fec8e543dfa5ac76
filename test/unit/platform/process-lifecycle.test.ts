import { randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { createLogger, createSilentLogger } from '../../../src/platform/logging/logging.ts';
import { createHangWatch, type WatchedProcess } from '../../../src/platform/process/hang-watch.ts';
import { createUlidFactory, requestId } from '../../../src/platform/process/ids.ts';
import { createLifecycle } from '../../../src/platform/process/lifecycle.ts';
import { openFilesProblem, readOpenFilesLimit } from '../../../src/platform/process/open-files.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';

function setUp(deadlineMs = 10_000) {
  const events = new EventEmitter();
  const clock = new FakeClock();
  const exits: number[] = [];
  const lines: string[] = [];
  const exited = Promise.withResolvers<number>();
  const lifecycle = createLifecycle({
    logger: createLogger({
      name: 'test',
      level: 'debug',
      destination: { write: (line) => lines.push(line) },
    }),
    clock,
    exit: (code) => {
      exits.push(code);
      exited.resolve(code);
    },
    deadlineMs,
    events,
  });
  return { events, clock, exits, exited: exited.promise, lines, lifecycle };
}

describe('createLifecycle', () => {
  it.each(['SIGTERM', 'SIGINT', 'disconnect'])(
    'runs the steps backwards on %s and exits with 0',
    async (event) => {
      const { events, exits, exited, lifecycle } = setUp();
      const order: string[] = [];
      for (const name of ['database', 'tasks', 'api']) {
        lifecycle.onShutdown(name, async () => {
          await Promise.resolve();
          order.push(name);
        });
      }
      expect(lifecycle.signal.aborted).toBe(false);
      events.emit(event);
      expect(lifecycle.signal.aborted).toBe(true);
      expect(await exited).toBe(0);
      expect(order).toEqual(['api', 'tasks', 'database']);
      expect(exits).toEqual([0]);
    },
  );

  it('continues after a step that fails, and exits with 1', async () => {
    const { events, exited, lines, lifecycle } = setUp();
    const order: string[] = [];
    lifecycle.onShutdown('first', () => {
      order.push('first');
    });
    lifecycle.onShutdown('second', () => {
      throw new Error('broken');
    });
    events.emit('SIGTERM');
    expect(await exited).toBe(1);
    expect(order).toEqual(['first']);
    expect(lines.join('')).toContain('"step":"second"');
  });

  it('exits immediately on a second signal', async () => {
    const { events, exits, lifecycle } = setUp();
    lifecycle.onShutdown('slow', async () => {
      await new Promise(() => undefined);
    });
    events.emit('SIGTERM');
    expect(exits).toEqual([]);
    events.emit('SIGINT');
    expect(exits).toEqual([1]);
    lifecycle.dispose();
  });

  it('tells a late step to cut, then exits with 1 and names it', async () => {
    const { events, clock, exits, lines, lifecycle } = setUp(10_000);
    let cutAt = -1;
    lifecycle.onShutdown('never-reached', () => undefined);
    lifecycle.onShutdown('hung-step', async (signal) => {
      signal.addEventListener('abort', () => {
        cutAt = clock.monotonic();
      });
      await new Promise(() => undefined);
    });
    events.emit('SIGTERM');
    await clock.advance(9_999);
    expect([cutAt, exits]).toEqual([8_000, []]);
    await clock.advance(1);
    expect(exits).toEqual([1]);
    const fatal = lines.filter((line) => line.includes('"level":"fatal"'));
    expect(fatal).toHaveLength(1);
    expect(fatal[0]).toContain('"step":"hung-step"');
  });

  it('does not watch the deadline after it is done', async () => {
    const { events, clock, exits, exited } = setUp();
    events.emit('SIGTERM');
    await exited;
    await clock.advance(60_000);
    expect([exits, clock.sleeping]).toEqual([[0], 0]);
  });

  it.each(['uncaughtException', 'unhandledRejection'])('logs %s and exits with 70', (event) => {
    const { events, exits, lines } = setUp();
    events.emit(event, new Error('nobody expected this'));
    expect(exits).toEqual([70]);
    expect(lines.join('')).toContain('nobody expected this');
  });

  it('keeps the first requested exit code', async () => {
    const { lifecycle, exits } = setUp();
    await Promise.all([lifecycle.shutdown('restart', 75), lifecycle.shutdown('again', 3)]);
    expect(exits).toEqual([75]);
  });

  it('stops listening when disposed', () => {
    const { events, lifecycle } = setUp();
    lifecycle.dispose();
    expect(events.eventNames()).toEqual([]);
  });
});

interface FakeProcess extends WatchedProcess {
  readonly name: string;
  readonly answers: boolean;
}

function fixture(watched: FakeProcess[], ping?: (process: FakeProcess) => void) {
  const clock = new FakeClock();
  const killed: string[] = [];
  const watch = createHangWatch<FakeProcess>({
    clock,
    logger: createSilentLogger(),
    watched: () => watched,
    ping:
      ping ??
      ((process) => {
        if (process.answers) process.unanswered = 0;
      }),
    kill: ({ name }) => {
      killed.push(name);
      watched.splice(0, watched.length, ...watched.filter((process) => process.name !== name));
    },
  });
  return { clock, watch, killed };
}

describe('the watch for a process that hangs', () => {
  test('kills the process that leaves six pings unanswered, and no other', async () => {
    const { clock, watch, killed } = fixture([
      { name: 'hangs', answers: false, unanswered: 0 },
      { name: 'runs', answers: true, unanswered: 0 },
    ]);
    watch.start();
    await clock.advance(30_000);
    expect(killed).toEqual([]);
    await clock.advance(5_000);
    expect(killed).toEqual(['hangs']);
    await clock.advance(600_000);
    expect(killed).toEqual(['hangs']);
    await watch.stop();
  });

  test('pings again after a ping that failed, and not after a stop', async () => {
    let pings = 0;
    const { clock, watch } = fixture([{ name: 'gone', answers: true, unanswered: 0 }], () => {
      pings += 1;
      throw new Error('the channel is closed');
    });
    watch.start();
    await clock.advance(10_000);
    expect(pings).toBe(2);
    await watch.stop();
    await clock.advance(60_000);
    expect(pings).toBe(2);
  });
});

const LINES = (soft: string, hard: string): string =>
  `Limit                     Soft Limit           Hard Limit           Units     
Max core file size        0                    unlimited            bytes     
Max open files            ${soft.padEnd(20)} ${hard.padEnd(20)} files     
`;

describe('the limit of open files', () => {
  it('is the hard one, and is absent where there is none or where the system does not say it', () => {
    expect(readOpenFilesLimit(() => LINES('1024', '64'))).toBe(64);
    expect(readOpenFilesLimit(() => LINES('1024', 'unlimited'))).toBeNull();
    expect(readOpenFilesLimit(() => 'nothing of it')).toBeNull();
    expect(
      readOpenFilesLimit(() => {
        throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
      }),
    ).toBeNull();
  });

  it.each([
    [null, null],
    [500, null],
    [499, false],
    [100, false],
    [99, true],
  ])('of %s is too low for the start: %s', (limit, expected) => {
    const problem = openFilesProblem(limit, { minimum: 100, recommended: 500 });
    expect(problem?.isTooLow ?? null).toBe(expected);
    if (problem === null) return;
    expect(problem.message).toContain(`the limit is ${limit} `);
    expect(problem.message).toContain('ulimit -n 500');
  });
});

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

describe('ids', () => {
  describe('createUlidFactory', () => {
    it('encodes time and randomness as the specification does', () => {
      const create = createUlidFactory({
        clock: new FakeClock(1_469_918_176_385),
        randomBytes: (count) => new Uint8Array(count).fill(31),
      });
      expect(create()).toBe('01ARYZ6S41ZZZZZZZZZZZZZZZZ');
    });

    it('is strictly increasing, whatever the clock does', () => {
      fc.assert(
        fc.property(fc.array(fc.integer({ min: -5, max: 5 }), { maxLength: 200 }), (steps) => {
          const clock = new FakeClock();
          const create = createUlidFactory({ clock, randomBytes });
          const ids = steps.map((step) => {
            clock.jumpTo(clock.now() + step);
            return create();
          });
          expect(ids.every((id) => ULID.test(id))).toBe(true);
          expect(ids).toEqual([...new Set(ids)].sort());
        }),
      );
    });

    it('borrows the next millisecond when the randomness is used up', () => {
      const clock = new FakeClock(1_469_918_176_385);
      const create = createUlidFactory({ clock, randomBytes: (count) => new Uint8Array(count).fill(255) });
      expect([create(), create()]).toEqual(['01ARYZ6S41ZZZZZZZZZZZZZZZZ', '01ARYZ6S42ZZZZZZZZZZZZZZZZ']);
    });

    it('carries into the next digit', () => {
      const bytes = new Uint8Array(16);
      bytes[15] = 31;
      const create = createUlidFactory({ clock: new FakeClock(0), randomBytes: () => bytes });
      expect([create(), create()]).toEqual(['0000000000000000000000000Z', '00000000000000000000000010']);
    });
  });

  describe('requestId', () => {
    it.each(['01ARYZ6S41ZZZZZZZZZZZZZZZZ', 'a1b2c3d4', '3f2c9d2e-1111-2222-3333-444455556666'])(
      'keeps %s',
      (id) => {
        expect(requestId(id, () => 'new')).toBe(id);
      },
    );

    it.each([
      undefined,
      '',
      'short',
      'line\nbreak-line',
      '"quoted-quoted"',
      'x'.repeat(65),
      '-dash-first',
      ['a1b2c3d4', 'a1b2c3d4'],
    ])('replaces %j', (received) => {
      expect(requestId(received, () => 'new')).toBe('new');
    });
  });
});
