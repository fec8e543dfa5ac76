/** The checks and repairs of one release among the tasks of the daemon; pure. */

import type { Task } from '../api/wire.ts';
import { count } from '../text/format.ts';

/** A task that read or mended the bytes of a release. */
export interface ReleaseCheck {
  readonly task: Task;
  /** Its result for this release, in a few words. */
  readonly outcome: string;
}

const KINDS: ReadonlySet<string> = new Set(['verify', 'repair', 'damage-repair']);
/** Most checks that are shown. */
const MOST_CHECKS = 10;

/** @param tasks newest first */
export function checksOf(tasks: readonly Task[], releaseId: string): readonly ReleaseCheck[] {
  return tasks
    .filter(({ kind }) => KINDS.has(kind))
    .flatMap((task) => {
      const part = partOf(task, releaseId);
      return part === null ? [] : [{ task, outcome: outcomeOf(part) }];
    })
    .slice(0, MOST_CHECKS);
}

/** The part of the result about a release; `null` when the task was not about it. */
function partOf({ result, args }: Task, releaseId: string): Readonly<Record<string, unknown>> | null {
  const releases = result?.['releases'];
  const rows: readonly unknown[] = Array.isArray(releases) ? releases : [];
  const found = rows.find((row) => isFields(row) && row['release_id'] === releaseId);
  if (isFields(found)) return found;
  return isFields(args) && args['release_id'] === releaseId ? {} : null;
}

function outcomeOf(part: Readonly<Record<string, unknown>>): string {
  return ['checked', 'damaged', 'repaired', 'failed']
    .flatMap((name) => {
      const value = part[name];
      return typeof value === 'number' ? [`${count(value)} ${name}`] : [];
    })
    .join(', ');
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
