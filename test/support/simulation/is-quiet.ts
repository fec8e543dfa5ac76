import type { Site } from './site.ts';

interface TaskList {
  readonly items: ReadonlyArray<{ readonly kind: string; readonly status: string; readonly run_at: number }>;
}

/**
 * Whether nothing is in progress at a site: no program starts, no task runs or is due, no release is being loaded, and the newest
 * attestation has reached the server.
 */
export async function isQuiet({ clock, daemon, server }: Site): Promise<boolean> {
  if (daemon.isStarting) return false;
  const tasks = (await daemon.report('task.list')) as TaskList | null;
  const now = clock.now() / 1000;
  const isBusy = (tasks?.items ?? []).some(({ status, run_at: at }) =>
    status === 'queued' ? at <= now : ['running', 'cancelling'].includes(status),
  );
  if (isBusy) return false;
  const attested = await daemon.attestedVersion();
  const readiness = await server.readiness();
  if (readiness === null) return true;
  const { reason, attestation } = readiness;
  return reason !== 'SnapshotLoading' && (attested === null || attestation?.version === attested);
}
