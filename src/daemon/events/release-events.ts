import type { Failpoints } from '../../platform/files/failpoints.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { Database } from '../database/sqlite-database.ts';
import type { JobCall } from '../tasks/job.ts';
import type { TaskEngine } from '../tasks/task-engine.ts';
import { createEventRepository, type StoredEvent } from './event-repository.ts';
import type { EventSubscriber } from './event-subscriber.ts';
import type { ReleaseBecameCurrent } from './release-became-current.ts';

export interface ReleaseEventsOptions {
  /** The database of the engine's tasks and of the releases: event, delivery and task are written to it together. */
  readonly database: Database;
  readonly engine: Pick<TaskEngine, 'jobs' | 'submit'>;
  /** Each with a name of its own; their jobs are registered before `start`. */
  readonly subscribers: readonly EventSubscriber[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly failpoints: Failpoints;
}

/** Tells subscribed jobs that a release became current. */
export interface ReleaseEvents {
  /**
   * Records the event. Call it inside the transaction that moves the pointer: then neither exists without the other.
   * The tasks are queued soon after that transaction.
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

/** Places where a test can stop the process: between the switch and its tasks, and around their commit. */
export const EVENT_FAILPOINTS = ['event.delivery.begun', 'event.task.queued', 'event.delivered'] as const;

/** Wait before the database is tried again after it refused a write. */
const RETRY_MS = 5000;

/**
 * Creates the events of releases: an outbox in the main database. A delivery and its task are one transaction, and the
 * table holds at most one delivery of an event to a subscriber, so that each event becomes exactly one task of each
 * subscriber, whenever the process dies.
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
      logger.error({ err: error }, 'the tasks of a release event could not be queued; trying again soon');
      // The sleep only rejects when the events stop.
      options.clock.sleep(RETRY_MS, stopping.signal).then(wake, () => undefined);
    }
  };

  const deliver = (event: StoredEvent, each: EventSubscriber): void => {
    failpoints.hit('event.delivery.begun' satisfies EventFailpoint);
    const { name } = each;
    const wanted = callOrNull(event, each);
    database.transaction(() => {
      if (repository.isDelivered(event.event_id, name)) return;
      // Never joined with an equal task: one that runs already may have begun before the switch.
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

  /** A subscriber that fails would fail each time: the error is logged and the event counts as delivered to it. */
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
    stop: () => {
      stopping.abort();
    },
  };
}

type EventFailpoint = (typeof EVENT_FAILPOINTS)[number];
