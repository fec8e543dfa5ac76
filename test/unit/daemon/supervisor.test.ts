import { describe, expect, it } from 'vitest';
import { createDaemonSupervisor } from '../../../src/daemon/supervisor/daemon-supervisor.ts';
import type {
  DaemonMessage,
  ProcessExit,
  SupervisorMessage,
} from '../../../src/daemon/supervisor/supervised-process.ts';
import { supervisionOf } from '../../../src/daemon/supervisor/supervision-of.ts';
import {
  EXIT_HANDED_OVER,
  SUPERVISION_VARIABLE,
  type Supervision,
} from '../../../src/daemon/supervisor/supervision.ts';
import { createSilentLogger } from '../../../src/platform/logging/logging.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { settle } from '../../support/task-engine.ts';

interface FakeProcess {
  readonly supervision: Supervision;
  readonly received: Array<SupervisorMessage | 'SIGTERM' | 'SIGKILL'>;
  say(message: DaemonMessage): void;
  end(exit: Partial<ProcessExit>): Promise<void>;
}

function fixture() {
  const clock = new FakeClock();
  const processes: FakeProcess[] = [];
  const supervisor = createDaemonSupervisor({
    clock,
    random: () => 0,
    logger: createSilentLogger(),
    start: (supervision) => {
      const exited = Promise.withResolvers<ProcessExit>();
      const listeners: Array<(message: DaemonMessage) => void> = [];
      const received: FakeProcess['received'] = [];
      processes.push({
        supervision: structuredClone(supervision),
        received,
        say: (message) => {
          for (const listener of listeners) listener(message);
        },
        end: async (exit) => {
          exited.resolve({ code: null, signal: null, ...exit });
          await settle();
        },
      });
      return {
        pid: processes.length,
        send: (message) => received.push(message),
        kill: (signal) => received.push(signal),
        onMessage: (listener) => listeners.push(listener),
        exited: exited.promise,
      };
    },
  });
  const latest = (): FakeProcess => {
    const found = processes.at(-1);
    if (found === undefined) throw new Error('nothing was started');
    return found;
  };
  return { clock, processes, supervisor, latest };
}

describe('the supervisor of the daemon', () => {
  it('starts a daemon that died within a second, and tells it about the end', async () => {
    const { clock, processes, supervisor, latest } = fixture();
    void supervisor.run();
    expect(latest().supervision).toEqual({ restarts: 0, ends: [] });
    latest().say('slipway:listening');
    await clock.advance(120_000);
    const at = Math.floor(clock.now() / 1000);
    await latest().end({ signal: 'SIGKILL' });
    expect(processes).toHaveLength(1);
    await clock.advance(100);
    await settle();
    expect(latest().supervision).toEqual({
      restarts: 1,
      ends: [{ code: null, signal: 'SIGKILL', at, lived_seconds: 120, listened: true }],
    });
    expect(supervisionOf({ [SUPERVISION_VARIABLE]: JSON.stringify(latest().supervision) })).toEqual({
      supervision: latest().supervision,
      warnings: [],
    });
  });

  it('leaves no history without a supervisor, and a warning about one that cannot be read', () => {
    expect(supervisionOf({})).toEqual({ supervision: null, warnings: [] });
    expect(supervisionOf({ [SUPERVISION_VARIABLE]: '{}' })).toEqual({
      supervision: null,
      warnings: [expect.stringMatching(/^the history of the supervisor cannot be read.*restarts/s)],
    });
  });

  it('waits longer after each failure in a row, at most half a minute, also when no start succeeds', async () => {
    const { clock, processes, supervisor, latest } = fixture();
    void supervisor.run();
    const waits: number[] = [];
    for (let death = 0; death < 10; death += 1) {
      const before = processes.length;
      await latest().end({ code: 1 });
      let waited = 0;
      for (; processes.length === before && waited < 60_000; waited += 100) {
        await clock.advance(100);
        await settle();
      }
      waits.push(waited);
    }
    expect(waits.slice(0, 4)).toEqual([100, 200, 400, 800]);
    expect(Math.max(...waits)).toBe(15_000);
  });

  it.each([0, 78])('ends with %i when the first start ends so before it listened', async (code) => {
    const { supervisor, latest, processes } = fixture();
    const ended = supervisor.run();
    await latest().end({ code });
    expect(await ended).toBe(code);
    expect(processes).toHaveLength(1);
  });

  it('starts it again after a restart action, and after a configuration that became wrong', async () => {
    const { clock, supervisor, latest, processes } = fixture();
    void supervisor.run();
    latest().say('slipway:listening');
    await latest().end({ code: 0 });
    await clock.advance(100);
    await settle();
    expect(processes).toHaveLength(2);
    await latest().end({ code: 78 });
    await clock.advance(100);
    await settle();
    expect(processes).toHaveLength(3);
  });

  it('starts a daemon that handed its data folder over as quickly as after a restart, also while it recovers', async () => {
    const { clock, supervisor, latest, processes } = fixture();
    void supervisor.run();
    for (let handover = 1; handover <= 5; handover += 1) {
      await latest().end({ code: EXIT_HANDED_OVER });
      await clock.advance(100);
      await settle();
      expect(processes).toHaveLength(handover + 1);
    }
    expect(latest().supervision.ends).toMatchObject(Array.from({ length: 5 }, () => ({ code: 75 })));
  });

  it('kills a daemon that stops answering, but not one that starts', async () => {
    const { clock, supervisor, latest } = fixture();
    void supervisor.run();
    await clock.advance(60_000);
    expect(latest().received).not.toContain('SIGKILL');
    latest().say('slipway:listening');
    for (let turn = 0; turn < 20; turn += 1) {
      await clock.advance(5000);
      latest().say('slipway:pong');
    }
    expect(latest().received).not.toContain('SIGKILL');
    for (let turn = 0; turn < 7; turn += 1) await clock.advance(5000);
    expect(latest().received).toContain('SIGKILL');
  });

  it('kills a daemon that hangs before it has started, after five minutes, and starts it again', async () => {
    const { clock, supervisor, latest, processes } = fixture();
    void supervisor.run();
    const pass = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += 5000) await clock.advance(5000);
    };
    for (let turn = 0; turn < 100; turn += 1) {
      await clock.advance(5000);
      latest().say('slipway:pong');
    }
    await pass(295_000);
    expect(latest().received).not.toContain('SIGKILL');
    await pass(10_000);
    expect(latest().received.at(-1)).toBe('SIGKILL');
    await latest().end({ signal: 'SIGKILL' });
    await clock.advance(100);
    await settle();
    expect(processes).toHaveLength(2);
  });

  it('passes a stop on and waits for it; a daemon that does not end is killed', async () => {
    const { supervisor, latest } = fixture();
    const run = supervisor.run();
    const cut = new AbortController();
    const stopped = expect(supervisor.stop(cut.signal)).rejects.toThrow('SIGKILL');
    expect(latest().received).toEqual(['SIGTERM']);
    cut.abort();
    expect(latest().received).toEqual(['SIGTERM', 'SIGKILL']);
    await latest().end({ signal: 'SIGKILL' });
    await stopped;
    expect(await run).toBe(1);
  });

  it('stops while it waits for the next start', async () => {
    const { supervisor, latest, processes } = fixture();
    const run = supervisor.run();
    await latest().end({ code: 1 });
    await supervisor.stop(new AbortController().signal);
    expect(await run).toBe(0);
    expect(processes).toHaveLength(1);
  });
});
