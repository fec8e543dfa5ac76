import { isChannel, type Channel } from '../../domain/release/channel.ts';
import type { ActionHandler } from '../api/ports.ts';
import { TaskError, type TaskArguments } from '../tasks/task.ts';
import type { TaskEngine } from '../tasks/task-engine.ts';
import type { UpstreamSource } from '../upstream/upstream-source.ts';
import { planRequestedCleanup } from './cleanup/cleanup-request.ts';
import type { ReleaseRepository } from './records/release-repository.ts';
import { isKept } from './records/release-row.ts';
import type { RetentionLimits } from './cleanup/retention-rules.ts';

/** What the release actions are made of. */
export interface ReleaseActionDependencies {
  readonly engine: TaskEngine;
  readonly releases: ReleaseRepository;
  readonly upstream: Pick<UpstreamSource, 'current'>;
  readonly retention: () => RetentionLimits;
  /** Releases that a cleanup keeps of each channel when the request does not say. */
  readonly keep: () => number;
  /** Unix seconds. */
  readonly now: () => number;
}

/** Kinds of tasks that have the store to themselves. */
const EXCLUSIVE_KINDS = new Set(['repair', 'release-cleanup']);
/** Tasks that are looked through for one that has the store. */
const RECENT_TASKS = 500;

/**
 * The arguments of the tasks that the release actions queue, from an accepted body alone. What depends on the state is
 * checked by the task itself.
 *
 * @param keep releases that a cleanup keeps of each channel when the body does not say
 */
export function createReleasePlans(keep: () => number): ReadonlyMap<string, (body: Body) => TaskArguments> {
  const forced = (body: Body): TaskArguments => ({ force: body['force'] === true });
  return new Map<string, (body: Body) => TaskArguments>([
    ['sync', forced],
    ['catalog-refresh', forced],
    ['verify', releaseArguments],
    ['repair', releaseArguments],
    ['refresh', forced],
    ['release-cleanup', (body) => cleanupArguments(body, keep())],
  ]);
}

/** The control actions of releases: each checks what can be known at once and queues a task. */
export function createReleaseActions(deps: ReleaseActionDependencies): ReadonlyMap<string, ActionHandler> {
  const { engine, releases } = deps;
  const queued =
    (kind: string, check: (body: Body) => TaskArguments): ActionHandler =>
    (body, context) =>
      engine.submit({
        kind,
        args: check(body),
        dedupe: true,
        correlationId: context.correlationId,
        ...(context.idempotencyKey === null ? {} : { idempotencyKey: context.idempotencyKey }),
        ...textField(body, 'reviewer'),
        ...textField(body, 'reason'),
      });
  const withUpstream = (body: Body): TaskArguments => {
    if (deps.upstream.current() === null) {
      throw new TaskError(
        'upstream_not_configured',
        'no upstream is configured: set upstream.kind and its options',
      );
    }
    return { force: body['force'] === true };
  };
  const withRelease = (body: Body): TaskArguments => {
    const channel = argument(body, 'channel');
    const releaseId = argument(body, 'release_id');
    if (releaseId !== null && !isKnown(releases, releaseId, channel)) {
      throw new TaskError(
        'unknown_release',
        `no release ${releaseId}${channel === null ? '' : ` of channel ${channel}`} is kept; see the list of releases`,
      );
    }
    return releaseArguments(body);
  };
  return new Map<string, ActionHandler>([
    ['sync', queued('sync', withUpstream)],
    ['catalog-refresh', queued('catalog-refresh', withUpstream)],
    ['verify', queued('verify', withRelease)],
    ['repair', queued('repair', withRelease)],
    [
      'refresh',
      queued('refresh', (body) => {
        const holder = engine
          .list(RECENT_TASKS)
          .find((task) => EXCLUSIVE_KINDS.has(task.kind) && ['running', 'cancelling'].includes(task.status));
        if (holder !== undefined) {
          throw new TaskError(
            'store_locked',
            `the task ${holder.task_id} (${holder.kind}) has the store to itself; try again when it has ended`,
          );
        }
        return { force: body['force'] === true };
      }),
    ],
    [
      'release-cleanup',
      queued('release-cleanup', (body) => {
        const args = cleanupArguments(body, deps.keep());
        planRequestedCleanup(releases, deps.retention(), args, deps.now());
        return args;
      }),
    ],
  ]);
}

type Body = Readonly<Record<string, unknown>>;

function releaseArguments(body: Body): TaskArguments {
  const channel = argument(body, 'channel');
  const releaseId = argument(body, 'release_id');
  return {
    force: body['force'] === true,
    ...(channel === null ? {} : { channel }),
    ...(releaseId === null ? {} : { release_id: releaseId }),
  };
}

function cleanupArguments(body: Body, keep: number): TaskArguments & { readonly count: number } {
  const count = body['count'];
  return {
    count: typeof count === 'number' || typeof count === 'bigint' ? Number(count) : keep,
    force: body['force'] === true,
    dry_run: argument(body, 'dry_run') === 'true',
    ...textField(body, 'id'),
    ...textField(body, 'localized_release_id'),
  };
}

/** The value of `key=value` in `args`; the last one counts. */
function argument(body: Body, key: string): string | null {
  const { args } = body;
  if (!Array.isArray(args)) return null;
  const found = args.findLast(
    (each): each is string => typeof each === 'string' && each.startsWith(`${key}=`),
  );
  return found === undefined ? null : found.slice(key.length + 1);
}

function textField<Name extends string>(body: Body, name: Name): Partial<Record<Name, string>> {
  const value = body[name];
  return typeof value === 'string' ? ({ [name]: value } as Partial<Record<Name, string>>) : {};
}

function isKnown(releases: ReleaseRepository, releaseId: string, channel: string | null): boolean {
  const channels: readonly Channel[] =
    channel !== null && isChannel(channel) ? [channel] : ['official', 'localized'];
  return channels.some((each) => {
    const release = releases.get(each, releaseId);
    return release !== null && isKept(release);
  });
}
