import type { Site } from './site.ts';

interface TaskList {
  readonly items: ReadonlyArray<{ readonly kind: string; readonly status: string; readonly run_at: number }>;
}

/**
 * Reads whether anything is in progress at a site: a program that starts, a task that runs or is due, a release that the server
 * loads, an attestation that has not reached it.
 *
 * @returns also a text that stays the same as long as nothing happens
 */
export async function readQuiet({
  clock,
  daemon,
  server,
}: Site): Promise<{ readonly isQuiet: boolean; readonly text: string }> {
  if (daemon.isStarting) return { isQuiet: false, text: 'starting' };
  const tasks = (await daemon.report('task.list')) as TaskList | null;
  const now = clock.now() / 1000;
  const busy = (tasks?.items ?? [])
    .filter(({ status, run_at: at }) =>
      status === 'queued' ? at <= now : ['running', 'cancelling'].includes(status),
    )
    .map(({ kind, status }) => `${kind} ${status}`);
  const attested = await daemon.attestedVersion();
  const readiness = await server.readiness();
  const isSettled =
    readiness === null ||
    (readiness.reason !== 'SnapshotLoading' &&
      (attested === null || readiness.attestation?.version === attested));
  const text = JSON.stringify([busy, attested, readiness?.attestation?.version, readiness?.reason]);
  return { isQuiet: busy.length === 0 && isSettled, text };
}
