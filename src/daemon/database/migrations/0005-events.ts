/**
 * The outbox of release events, and which of their subscribers got a task. `delivered` is 1 when all of them have.
 *
 * `task_id` refers to no row: tasks are removed by age. It is null when a subscriber had no use for the event.
 */
export const EVENTS_MIGRATION = `
CREATE TABLE release_event (
  event_id            INTEGER PRIMARY KEY AUTOINCREMENT,
  channel             TEXT NOT NULL CHECK (channel IN ('official', 'localized')),
  release_id          TEXT NOT NULL,
  snapshot_id         TEXT NOT NULL,
  previous_release_id TEXT,
  at                  INTEGER NOT NULL,
  delivered           INTEGER NOT NULL DEFAULT 0 CHECK (delivered IN (0, 1))
) STRICT;

CREATE INDEX release_event_waiting ON release_event (event_id) WHERE delivered = 0;

CREATE TABLE event_delivery (
  event_id   INTEGER NOT NULL REFERENCES release_event (event_id) ON DELETE CASCADE,
  subscriber TEXT NOT NULL,
  task_id    TEXT,
  PRIMARY KEY (event_id, subscriber)
) STRICT, WITHOUT ROWID;
`;
