import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Site } from './site.ts';

/** Those that run, and those that are due. Read from the file, because the report lists all of them. */
const TASKS = `SELECT kind FROM task WHERE status IN ('running', 'cancelling') OR (status = 'queued' AND run_at_ms <= ?)`;

/**
 * What is in progress at a site: a program that starts, a task that runs or is due, a release that is being loaded, an attestation
 * that has not reached the server.
 *
 * @returns `null` when nothing is
 */
export async function inProgress(site: Site): Promise<string | null> {
  const { daemon, server, link } = site;
  if (daemon.isStarting) return 'the daemon starts';
  const tasks = tasksInProgress(site);
  if (tasks !== '' || link.isCut) return tasks === '' ? null : tasks;
  const attested = await daemon.attestedVersion();
  const readiness = await server.readiness();
  if (readiness === null) return null;
  if (readiness.reason === 'SnapshotLoading') return 'a release is being loaded';
  const isNewest = attested === null || readiness.attestation?.version === attested;
  return isNewest ? null : 'the attestation is under way';
}

function tasksInProgress({ clock, data }: Site): string {
  try {
    const database = new DatabaseSync(join(data, 'main.db'), { readOnly: true });
    try {
      return database
        .prepare(TASKS)
        .all(clock.now())
        .map(({ kind }) => String(kind))
        .join(' ');
    } finally {
      database.close();
    }
  } catch {
    // Before the first start it is missing.
    return '';
  }
}
