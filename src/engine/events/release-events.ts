import type { Failpoints } from '../../platform/files/failpoints.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { Database } from '../database/sqlite-database.ts';
import type { JobCall } from '../tasks/job.ts';
import type { TaskEngine } from '../tasks/task-engine.ts';
import type { EventSubscriber } from './event-subscriber.ts';
import type { ReleaseBecameCurrent } from './release-became-current.ts';

interface ReleaseEventsOptions {
  /** The database of the engine's tasks and of the releases, so that event, delivery and task are written together. */
  readonly database: Database;
  readonly engine: TaskEngine;
  /** Each with a name of its own; their jobs are registered before `start`. */
  readonly subscribers: readonly EventSubscriber[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly failpoints: Failpoints;
}

/** Queues the subscribed jobs when a release becomes current. */
export interface ReleaseEvents {
  /**
   * Records the event. Call it inside the transaction that moves the pointer, so that both are written or neither. The
   * tasks are queued soon after that transaction.
   */
  append(event: ReleaseBecameCurrent): void;
  /**
   * Begins to queue tasks: first for the events that an earlier process recorded.
   *
   * @throws Error when the job of a subscriber is not registered: its first delivery would block every later one
   */
  start(): void;
  stop(): void;
}

/** Points where a test can stop the process: between the switch and its tasks, and around the commit of the tasks. */
export const EVENT_FAILPOINTS = ['event.delivery.begun', 'event.task.queued', 'event.delivered'] as const;

/** Wait before a retry when the database refused a write. */
const RETRY_MS = 5000;

/**
 * Creates the events of releases: an outbox in the main database. A delivery and its task are written in one
 * transaction, and the table holds at most one delivery of an event to a subscriber. Each event therefore becomes
 * exactly one task of each subscriber, even if the process dies at any point.
 */
export function createReleaseEvents(options: ReleaseEventsOptions): ReleaseEvents {
  const { database, subscribers, logger, failpoints } = options;
  const repository = createEventRepository(database);
  const stopping = new AbortController();
  let started = false;
  let woken = false;

  const wake = (): void => {
    if (!started || woken || stopping.signal.aborted) return;
    woken = true;
    // Not inside the caller's transaction.
    queueMicrotask(() => {
      woken = false;
      deliverWaiting();
    });
  };

  const deliverWaiting = (): void => {
    if (stopping.signal.aborted) return;
    try {
      for (const event of repository.waiting()) {
        for (const each of subscribers) deliver(event, each);
        repository.complete(event.event_id);
      }
    } catch (error) {
      logger.error({ err: error }, 'the tasks of a release event could not be queued; retrying soon');
      // This sleep rejects only when the events stop.
      options.clock.sleep(RETRY_MS, stopping.signal).then(wake, () => undefined);
    }
  };

  const deliver = (event: StoredEvent, each: EventSubscriber): void => {
    failpoints.hit('event.delivery.begun' satisfies EventFailpoint);
    const { name } = each;
    const wanted = callOrNull(event, each);
    database.transaction(() => {
      if (repository.isDelivered(event.event_id, name)) return;
      // Never joined with an equal task: one that already runs may have started before the switch.
      const record = { dedupe: false, correlationId: `release-event-${event.event_id}` };
      const task = wanted === null ? null : options.engine.submit({ ...wanted, ...record }).task;
      repository.recordDelivery(event.event_id, name, task?.task_id ?? null);
      failpoints.hit('event.task.queued' satisfies EventFailpoint);
      if (task !== null) {
        logger.info(
          { release_id: event.release_id, channel: event.channel, task_id: task.task_id },
          `queued ${task.kind}: a release became current`,
        );
      }
    });
    failpoints.hit('event.delivered' satisfies EventFailpoint);
  };

  /** A subscriber that fails would fail every time, so the error is logged and the event counts as delivered to it. */
  const callOrNull = (event: StoredEvent, each: EventSubscriber): JobCall | null => {
    try {
      return each.call(event);
    } catch (error) {
      logger.error(
        { err: error, subscriber: each.name, release_id: event.release_id },
        'a subscriber of release events failed; its task is not queued',
      );
      return null;
    }
  };

  return {
    append: (event) => {
      repository.append(event);
      wake();
    },
    start: () => {
      const orphan = subscribers.find(({ kind }) => options.engine.jobs.find(kind) === null);
      if (orphan !== undefined) {
        throw new Error(
          `the subscriber "${orphan.name}" of release events queues the job "${orphan.kind}", which is not registered; ` +
            'register the job before the events start',
        );
      }
      started = true;
      wake();
    },
    stop: () => stopping.abort(),
  };
}

type EventFailpoint = (typeof EVENT_FAILPOINTS)[number];

/** An event of the outbox. */
interface StoredEvent extends ReleaseBecameCurrent {
  /** Ascending in the order of the switches. */
  readonly event_id: number;
}

/** The outbox. Single statements; callers group them. */
interface EventRepository {
  append(event: ReleaseBecameCurrent): void;
  /** Events that some subscriber has not received yet, oldest first. */
  waiting(): readonly StoredEvent[];
  isDelivered(eventId: number, subscriber: string): boolean;
  /** Throws when the event was already delivered to the subscriber. */
  recordDelivery(eventId: number, subscriber: string, taskId: string | null): void;
  /** Marks an event as delivered to every subscriber, and removes old delivered events. */
  complete(eventId: number): void;
}

/** Delivered events that are kept, newest first, to explain why a task was queued. */
const KEEP_DELIVERED = 1000;

/** Creates the repository over the main database. */
function createEventRepository(database: Database): EventRepository {
  const append = database.prepare(
    `INSERT INTO release_event (channel, release_id, snapshot_id, previous_release_id, at)
     VALUES (:channel, :release_id, :snapshot_id, :previous_release_id, :at)`,
  );
  const waiting = database.prepare(
    `SELECT event_id, channel, release_id, snapshot_id, previous_release_id, at FROM release_event
     WHERE delivered = 0 ORDER BY event_id`,
  );
  const delivery = database.prepare(
    'SELECT 1 FROM event_delivery WHERE event_id = :event_id AND subscriber = :subscriber',
  );
  const recordDelivery = database.prepare(
    'INSERT INTO event_delivery (event_id, subscriber, task_id) VALUES (:event_id, :subscriber, :task_id)',
  );
  const complete = database.prepare('UPDATE release_event SET delivered = 1 WHERE event_id = :event_id');
  const removeOld = database.prepare(
    `DELETE FROM release_event WHERE delivered = 1 AND event_id <= (SELECT max(event_id) FROM release_event) - :keep`,
  );
  return {
    append: (event) => void append.run({ ...event }),
    waiting: () => waiting.all() as unknown as StoredEvent[],
    isDelivered: (eventId, subscriber) => delivery.get({ event_id: eventId, subscriber }) !== undefined,
    recordDelivery: (eventId, subscriber, taskId) =>
      void recordDelivery.run({ event_id: eventId, subscriber, task_id: taskId }),
    complete: (eventId) => {
      complete.run({ event_id: eventId });
      removeOld.run({ keep: KEEP_DELIVERED });
    },
  };
}
