import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { createLifecycle } from '../../../../src/platform/process/lifecycle.ts';
import { createLogger } from '../../../../src/platform/logging/logging.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';

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
