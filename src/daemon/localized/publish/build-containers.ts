import { join } from 'node:path';
import { forEachConcurrently } from '../../../platform/process/concurrently.ts';
import { unixSeconds } from '../../../platform/process/clock.ts';
import { objectPath } from '../../../snapshot/volume/layout.ts';
import type { KnownObject } from '../../releases/records/entry-row.ts';
import { TaskError, type TaskContext } from '../../tasks/task.ts';
import type { FrozenContainer } from '../freeze/frozen-container.ts';
import type { ContainerPatcher, PatchOutcome } from '../patch/container-patcher.ts';
import type { LocalizedFailpoint } from './localized-failpoints.ts';
import type { PatchedContainers } from './patched-containers.ts';
import { hashFile, storeObject, type StageDependencies } from './stage-patches.ts';

/** Patched files that are hashed and made durable while the next ones are patched. The disk makes several durable together. */
const STORED_MEANWHILE = 4;

export interface BuildDependencies extends StageDependencies {
  /** Root of the snapshot volume. */
  readonly root: string;
  readonly patched: PatchedContainers;
  /** Opens the patcher; the caller closes it. */
  readonly openPatcher: () => ContainerPatcher;
  /** Containers that are patched at the same time. */
  readonly concurrency: number;
}

/** Counts of the checks of the containers that were built. */
export interface CheckedCounts {
  readonly edited_units: number;
  readonly other_units: number;
  readonly untouched_parts: number;
}

/** The patched containers of a release, all in the store. */
export interface BuiltContainers {
  /** By destination, in the order of the containers. */
  readonly objects: ReadonlyMap<string, KnownObject>;
  /** Those that were built now; the objects of the others were there. */
  readonly built: number;
  readonly checked: CheckedCounts;
}

/**
 * Patches the containers whose patched objects are not in the store yet, and puts them there. Each is checked by the process that
 * patched it.
 *
 * @param staging a folder on the volume
 * @throws TaskError `patch_failed`, `patch_selfcheck_failed`; the storage error
 */
export async function buildContainers(
  deps: BuildDependencies,
  containers: readonly FrozenContainer[],
  staging: string,
  context: TaskContext,
): Promise<BuiltContainers> {
  const objects = new Map<string, KnownObject>();
  const checked = { edited_units: 0, other_units: 0, untouched_parts: 0 };
  let built = 0;
  const patcher = deps.openPatcher();
  const place = async (
    [number, container]: [number, FrozenContainer],
    signal: AbortSignal,
  ): Promise<void> => {
    const known = await deps.patched.find(container.patchKey);
    if (known === null) {
      const path = join(staging, `patched-${number}`);
      const counts = await patchOne({ root: deps.root, patcher }, container, path, signal);
      const digests = await hashFile(deps.pool, path, signal);
      const object = await storeObject(deps, path, digests, context);
      deps.patched.record(container.patchKey, object, unixSeconds(deps.clock));
      const reached: LocalizedFailpoint = 'localized.container.patched';
      deps.failpoints.hit(reached);
      objects.set(container.destination, object);
      checked.edited_units += counts.editedUnits;
      checked.other_units += counts.otherUnits;
      checked.untouched_parts += counts.untouchedParts;
      built += 1;
    } else {
      objects.set(container.destination, known);
    }
    context.progress(objects.size, containers.length, 'entries', 'patch');
  };
  try {
    const atATime = deps.concurrency + STORED_MEANWHILE;
    await forEachConcurrently(containers.entries(), atATime, context.signal, place);
  } finally {
    patcher.close();
  }
  // In the order of the containers, not of their ends.
  const ordered = containers.flatMap(({ destination }): [string, KnownObject][] => {
    const object = objects.get(destination);
    return object === undefined ? [] : [[destination, object]];
  });
  return { objects: new Map(ordered), built, checked };
}

async function patchOne(
  { root, patcher }: { readonly root: string; readonly patcher: ContainerPatcher },
  { destination, official, editsPath }: FrozenContainer,
  outputPath: string,
  signal: AbortSignal,
): Promise<Extract<PatchOutcome, { kind: 'patched' }>['checked']> {
  const path = objectPath(root, official.blake3);
  const outcome = await patcher.patch({ destination, path, editsPath, outputPath }, signal);
  if (outcome.kind === 'patched') return outcome.checked;
  const { code, message, archiveEntry, fieldPath } = outcome;
  const place = [destination, archiveEntry].filter((part) => part !== null).join('!/');
  throw new TaskError(
    code === 'patch_selfcheck_failed' ? code : 'patch_failed',
    `${place} cannot be patched: ${message}; correct the translation, or leave the file out with localized.exclude. Nothing was published`,
    {
      details: { destination, archive_entry: archiveEntry, field_path: fieldPath, code },
      retryable: code === 'process_failed',
    },
  );
}
