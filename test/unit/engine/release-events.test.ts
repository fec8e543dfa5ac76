import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { subscriber, type EventSubscriber } from '../../../src/engine/events/event-subscriber.ts';
import type { ReleaseBecameCurrent } from '../../../src/engine/events/release-became-current.ts';
import {
  createReleaseEvents,
  EVENT_FAILPOINTS,
  type ReleaseEvents,
} from '../../../src/engine/events/release-events.ts';
import { noFailpoints, type Failpoints } from '../../../src/platform/files/failpoints.ts';
import { createSilentLogger } from '../../../src/platform/logging/logging.ts';
import { createTestEngine, scriptedHandler, settle, type TestEngine } from '../../support/task-engine.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const NOTE_JOB = {
  ...scriptedHandler('note', { lane: 'i18n', resumable: true }),
  arguments: z.strictObject({ release_id: z.string(), again: z.boolean().default(false) }),
};
const NOTE = subscriber('note', NOTE_JOB, ({ release_id }) => ({ release_id }));

interface World extends TestEngine {
  readonly events: ReleaseEvents;
  /** Arguments of the tasks of the job `note`, oldest first. */
  readonly notes: () => unknown[];
}

function world(
  options: {
    readonly path?: string;
    readonly subscribers?: readonly EventSubscriber[];
    readonly failpoints?: Failpoints;
  } = {},
): World {
  const test = createTestEngine(options.path === undefined ? {} : { path: options.path });
  test.engine.jobs.register(NOTE_JOB, scriptedHandler('parse', { lane: 'parse' }));
  const events = createReleaseEvents({
    ...test,
    subscribers: options.subscribers ?? [NOTE],
    logger: createSilentLogger(),
    failpoints: options.failpoints ?? noFailpoints,
  });
  const notes = (): unknown[] =>
    test.engine
      .list(100)
      .filter(({ kind }) => kind === 'note')
      .map(({ args }) => args)
      .toReversed();
  return { ...test, events, notes };
}

function event(id: string, channel: 'official' | 'localized' = 'official'): ReleaseBecameCurrent {
  return {
    channel,
    release_id: id as ReleaseBecameCurrent['release_id'],
    snapshot_id: `blake3:${'0'.repeat(64)}` as ReleaseBecameCurrent['snapshot_id'],
    previous_release_id: null,
    at: 1_763_683_200,
  };
}

describe('a release event', () => {
  it('becomes one task of each subscriber, in the order of the switches, with typed arguments', async () => {
    const onlyLocalized = subscriber('localized', NOTE_JOB, ({ channel, release_id }) =>
      channel === 'localized' ? { release_id, again: true } : null,
    );
    const { events, notes, engine } = world({ subscribers: [NOTE, onlyLocalized] });
    events.start();
    events.append(event('r1'));
    events.append(event('r1-l1', 'localized'));
    await settle();
    expect(notes()).toEqual([
      { release_id: 'r1', again: false },
      { release_id: 'r1-l1', again: false },
      { release_id: 'r1-l1', again: true },
    ]);
    expect(engine.list(1)[0]?.correlation_id).toBe('release-event-2');
    events.append(event('r1'));
    await settle();
    expect(notes()).toHaveLength(4);
  });

  it('is committed or rolled back with the transaction that moves the pointer', async () => {
    const { events, database, notes } = world();
    events.start();
    expect(() =>
      database.transaction(() => {
        events.append(event('r1'));
        throw new Error('the switch failed');
      }),
    ).toThrow('the switch failed');
    await settle();
    expect(notes()).toEqual([]);
    database.transaction(() => {
      events.append(event('r2'));
      expect(notes()).toEqual([]);
    });
    await settle();
    expect(notes()).toMatchObject([{ release_id: 'r2' }]);
  });

  it('waits until the events are started, also across processes', async () => {
    const path = join(await temporaryDirectory(), 'main.db');
    const before = world({ path });
    before.events.append(event('r1'));
    await settle();
    expect(before.notes()).toEqual([]);
    const after = world({ path });
    after.events.start();
    await settle();
    expect(after.notes()).toMatchObject([{ release_id: 'r1' }]);
    const third = world({ path });
    third.events.start();
    await settle();
    expect(third.notes()).toHaveLength(1);
  });

  it.each(EVENT_FAILPOINTS)('is delivered once when the delivery breaks off at %s', async (place) => {
    let broken = true;
    const failpoints = {
      hit: (name: string): void => {
        if (broken && name === place) throw new Error('stopped');
      },
    };
    const { events, clock, notes } = world({ failpoints });
    events.start();
    events.append(event('r1'));
    await settle();
    broken = false;
    await clock.advance(5000);
    await settle();
    expect(notes()).toMatchObject([{ release_id: 'r1' }]);
  });

  it('reaches the other subscribers when one of them fails, and is not repeated', async () => {
    const failing = subscriber('failing', NOTE_JOB, () => {
      throw new Error('a bug');
    });
    const { events, clock, notes } = world({ subscribers: [failing, NOTE] });
    events.start();
    events.append(event('r1'));
    await settle();
    await clock.advance(60_000);
    await settle();
    expect(notes()).toMatchObject([{ release_id: 'r1' }]);
  });

  it('is not joined with an equal task that already runs', async () => {
    const { events, engine, notes } = world();
    engine.start();
    engine.submit({ kind: 'note', args: { release_id: 'r1', again: false }, dedupe: true });
    await settle();
    events.start();
    events.append(event('r1'));
    await settle();
    expect(notes()).toHaveLength(2);
  });

  it('has only subscribers whose jobs are registered: the start fails otherwise', () => {
    const { events } = world({
      subscribers: [NOTE, subscriber('lost', scriptedHandler('nothing'), () => ({}))],
    });
    expect(() => {
      events.start();
    }).toThrow('the subscriber "lost" of release events queues the job "nothing", which is not registered');
  });

  it('is kept for a while after its delivery', async () => {
    const { events, database } = world({ subscribers: [] });
    events.start();
    for (let n = 0; n < 1005; n += 1) events.append(event(`r${n}`));
    await settle();
    const count = database
      .prepare('SELECT count(*) AS count, min(delivered) AS done FROM release_event')
      .get();
    expect(count).toMatchObject({ count: 1000, done: 1 });
  });
});
