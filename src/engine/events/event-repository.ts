import type { Database } from '../database/sqlite-database.ts';
import type { ReleaseBecameCurrent } from './release-became-current.ts';

/** An event of the outbox. */
export interface StoredEvent extends ReleaseBecameCurrent {
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
export function createEventRepository(database: Pick<Database, 'prepare'>): EventRepository {
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
    append: (event) => {
      append.run({ ...event });
    },
    waiting: () => waiting.all() as unknown as StoredEvent[],
    isDelivered: (eventId, subscriber) => delivery.get({ event_id: eventId, subscriber }) !== undefined,
    recordDelivery: (eventId, subscriber, taskId) => {
      recordDelivery.run({ event_id: eventId, subscriber, task_id: taskId });
    },
    complete: (eventId) => {
      complete.run({ event_id: eventId });
      removeOld.run({ keep: KEEP_DELIVERED });
    },
  };
}
