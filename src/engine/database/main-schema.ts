import { createTablesOf } from './column-rules.ts';
import { MAIN_TABLES } from './main-tables.ts';
import type { Migration } from './migrate.ts';

const OF_RELEASE = 'FOREIGN KEY (channel, release_id) REFERENCES release (channel, release_id)';

const table = createTablesOf(MAIN_TABLES);

/**
 * Tasks, their logs and the idempotency keys of the loopback API.
 *
 * `seq` is the order in which tasks were accepted; unlike `task_id` it does not depend on the wall clock. Times are
 * Unix seconds, except `run_at_ms`, which backoff needs more exactly. `traceparent` and `tracestate` are the fields of W3C Trace
 * Context of the request that queued a task; both are NULL for a task without a trace.
 */
const TASKS = `
${table('task')}

CREATE INDEX task_waiting ON task (lane, seq) WHERE status = 'queued';
CREATE INDEX task_live ON task (dedupe_key) WHERE status IN ('queued', 'running', 'cancelling');
CREATE INDEX task_ended ON task (finished_at) WHERE status IN ('succeeded', 'failed', 'cancelled');
CREATE INDEX task_by_status ON task (status);
CREATE INDEX task_by_kind ON task (kind, seq);
CREATE INDEX task_live_of_schedule ON task (schedule_id) WHERE status IN ('queued', 'running', 'cancelling');

${table('task_log', 'PRIMARY KEY (task_id, seq)')}

${table('idempotency')}

CREATE INDEX idempotency_by_age ON idempotency (created_at);
CREATE INDEX idempotency_by_task ON idempotency (task_id);
`;

/**
 * Schedules. `next_run` is null when a schedule no longer runs automatically; times are Unix seconds.
 *
 * `last_task_id` refers to no row: tasks are removed by age, schedules are not.
 */
const SCHEDULES = `
${table('schedule', 'CHECK (enabled = 0 OR next_run IS NOT NULL)')}

CREATE INDEX schedule_due ON schedule (next_run) WHERE enabled = 1;
CREATE INDEX schedule_by_last_task ON schedule (last_task_id) WHERE last_task_id IS NOT NULL;
`;

/**
 * Releases, the catalogs they were made from, and what is known of the objects of the store.
 *
 * `catalog_entry` is keyed by text in BINARY collation: its order is the byte order of the UTF-8 text, the order of a
 * manifest, so that releases of any size are written, compared and paged without holding them in memory.
 *
 * Attestation versions up to `reserved_version` may have been issued, even if the database could not store them.
 * `announced_release` becomes current at `current_at`, Unix seconds.
 */
const RELEASES = `
${table('catalog_revision')}

${table('catalog_entry', 'PRIMARY KEY (revision_id, destination)')}

CREATE INDEX catalog_entry_by_object ON catalog_entry (blake3, revision_id) WHERE blake3 IS NOT NULL;

${table('known_object')}

CREATE INDEX known_object_damaged ON known_object (blake3) WHERE sound = 0;

${table('release', 'PRIMARY KEY (channel, release_id)')}

CREATE INDEX release_by_name ON release (release_id);
CREATE INDEX release_by_revision ON release (revision_id);

${table('current_release', 'PRIMARY KEY (channel)', OF_RELEASE)}

${table('announced_release', 'PRIMARY KEY (channel)', OF_RELEASE)}

${table('damaged_entry', 'PRIMARY KEY (channel, release_id, destination)', OF_RELEASE)}

${table('attestation_state')}

${table('upstream_probe')}
`;

/**
 * The outbox of release events, and which of their subscribers got a task. `delivered` is 1 when all of them have.
 *
 * `task_id` refers to no row: tasks are removed by age. It is null when a subscriber had no use for the event.
 */
const EVENTS = `
${table('release_event')}

CREATE INDEX release_event_waiting ON release_event (event_id) WHERE delivered = 0;

${table('event_delivery', 'PRIMARY KEY (event_id, subscriber)')}
`;

/**
 * The attempts of automatic repairs. `subject` is the BLAKE3 of an object, `<channel>/<release_id>` for a manifest and its record,
 * or `upstream`. A row is kept for some time after the damage has ended, so that damage that comes back is not repaired in a tight
 * loop.
 */
const REPAIRS = `
${table('repair_attempt')}
`;

/**
 * The rollbacks of the localized channel, and the patched files that can be used again: a patch key is computed from the
 * official bytes, the rules, the patcher and all edits, so equal keys have equal files.
 *
 * A rollback takes effect at `switched_at`; `held_units` is NULL until the units that it takes back are on hold; at
 * `reinstated_at` the release became current again. Automatic publishing is stopped while a rollback is not resumed.
 */
const LOCALIZED = `
${table('localized_rollback')}

${table('patched_container')}
`;

/**
 * What an edge remembers of its origin. `origin_attestation` is the newest attestation that it accepted of each store, so that
 * neither a restart nor another address of the origin lets it take a step back. `origin_naming` is when the origin last named a
 * release, and with which key: each release is served only for so long after that, and a key that is no longer trusted supports
 * no release.
 */
const ORIGIN = `
${table('origin_attestation')}

${table('origin_naming', 'PRIMARY KEY (channel, release_id, snapshot_id, key_id)')}
`;

/** The schema of main.db. Versions up to 16 were never released. */
export const MAIN_MIGRATIONS: readonly Migration[] = [
  {
    version: 17,
    name: 'main',
    sql: TASKS + SCHEDULES + RELEASES + EVENTS + REPAIRS + LOCALIZED + ORIGIN,
  },
];
