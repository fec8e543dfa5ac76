/** Puts the state of the service, as the server decides it, into one incident with one remedy; pure. */

import type { ConsoleOutline } from '../../contract/console/console-contract.ts';
import type { Health, Report, Task } from '../api/wire.ts';
import type { ActionRequest } from '../state/app.ts';
import type { ServiceState } from '../state/service-states.ts';
import { isActive } from '../state/tasks.ts';
import { runLine } from '../text/ctl-line.ts';
import { counted, textBytes } from '../text/format.ts';

export interface IncidentFacts {
  readonly health: Health;
  readonly releases: Report<'release.status'> | null;
  readonly doctor: Report<'daemon.doctor'> | null;
  readonly tasks: Report<'task.list'> | null;
}

type Storage = NonNullable<Report<'daemon.doctor'>['storage']>;

interface Remedy {
  readonly text: string;
  readonly request: ActionRequest;
}

export interface Incident {
  readonly reason: string;
  readonly state: ServiceState['state'];
  readonly files: readonly string[];
  readonly fileCount: number;
  readonly remedy: Remedy | null;
  /** The remedy to copy; `null` without an action. */
  readonly command: string | null;
  readonly task: Task | null;
  readonly findings: readonly string[];
  /** The use of the volume, when it is the cause. */
  readonly storage: Storage | null;
  /** The things that are unknown because of the cause. */
  readonly unknown: readonly string[];
  /** Since when they are, Unix seconds. */
  readonly unknownSince: number | null;
}

/** More files would hide the rest of the page. */
const SHOWN_FILES = 3;

/** After these causes a publication without `resume=true` is refused, or leaves automatic publishing stopped. */
const ROLLED_BACK: ReadonlySet<string> = new Set(['PublishingStopped', 'ReleaseWithdrawn']);

const WORK_ON: Readonly<Partial<Record<ServiceState['state'], readonly string[]>>> = {
  damaged: ['repair', 'damage-repair'],
  starting: ['sync'],
  unpublished: ['sync'],
  stale: ['localized-publish', 'localized-follow'],
};

/**
 * @param checks the checks of the doctor that an advice names, by the text that it begins with
 * @returns `null` while the service is healthy
 */
export function incidentOf(facts: IncidentFacts, checks: ConsoleOutline['checks']): Incident | null {
  const { service } = facts.health;
  if (service.state === 'healthy' || service.reason === null) return null;
  const channel = service.channels.official.state === 'healthy' ? 'localized' : 'official';
  const release = facts.releases?.[channel] ?? null;
  const { state, reason, next_step: next, caused } = service;
  const { action, storage } = helpOf(next, facts.doctor);
  const request = action === null ? null : requestOf(action, reason, release);
  const unknown = caused.filter(({ since }) => since !== null);
  return {
    reason,
    state,
    files: release?.damaged.slice(0, SHOWN_FILES) ?? [],
    fileCount: release?.damaged_count ?? 0,
    remedy: request === null ? null : { text: remedyText(request.action, facts, channel), request },
    command: request === null ? null : runLine(request.action, stringsOf(request.initial)),
    task: workOn(facts, [request?.action ?? '', ...(WORK_ON[service.channels[channel].state] ?? [])]),
    findings: findingsOf(next, facts.doctor, checks),
    storage,
    unknown: unknown.map(({ what }) => what),
    unknownSince: unknown[0]?.since ?? null,
  };
}

/** The action that helps, and the use of a full volume: a cleanup that frees nothing is no help. */
function helpOf(
  next: ServiceState['next_step'],
  doctor: IncidentFacts['doctor'],
): { readonly action: string | null; readonly storage: Storage | null } {
  const action = next?.action ?? null;
  if (action !== 'release-cleanup') return { action, storage: null };
  const storage = doctor?.storage ?? null;
  return { action: storage?.reclaimable_bytes === 0 ? null : action, storage };
}

function findingsOf(
  next: ServiceState['next_step'],
  doctor: IncidentFacts['doctor'],
  checks: ConsoleOutline['checks'],
): readonly string[] {
  const advice = next?.text ?? '';
  const [, named = []] = Object.entries(checks).find(([text]) => advice.startsWith(text)) ?? [];
  const found = doctor?.checks.filter(({ id, status }) => status !== 'ok' && named.includes(id)) ?? [];
  return found.map(({ message }) => message);
}

type Release = NonNullable<Report<'release.status'>['official']>;

function requestOf(action: string, heals: string, release: Release | null): ActionRequest {
  switch (action) {
    case 'repair':
      return release === null
        ? { action, heals }
        : { action, heals, initial: { args: `release_id=${release.release_id}` } };
    case 'localized-publish':
      return {
        action,
        heals,
        initial: { from_worker: true, ...(ROLLED_BACK.has(heals) ? { args: 'resume=true' } : {}) },
      };
    default:
      return { action, heals };
  }
}

function remedyText(
  action: string,
  { releases, doctor }: IncidentFacts,
  channel: 'official' | 'localized',
): string {
  const damaged = releases?.[channel]?.damaged_count ?? 0;
  const freed = doctor?.storage?.reclaimable_bytes ?? 0;
  switch (action) {
    case 'sync':
      return 'Sync now';
    case 'verify':
      return 'Verify the release';
    case 'repair':
      return damaged === 0 ? 'Repair the release' : `Repair ${counted(damaged, 'file')}`;
    case 'refresh':
      return 'Renew the attestation';
    case 'restart':
      return 'Restart the daemon';
    case 'localized-publish':
      return 'Publish a localized release';
    case 'release-cleanup':
      return freed === 0 ? 'Clean up releases' : `Free ${textBytes(freed)}`;
    default:
      return `Run ${action}`;
  }
}

function workOn({ tasks }: IncidentFacts, kinds: readonly string[]): Task | null {
  return tasks?.items.find((task) => isActive(task) && kinds.includes(task.kind)) ?? null;
}

function stringsOf(values: ActionRequest['initial'] = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));
}
