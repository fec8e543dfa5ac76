import { join } from 'node:path';
import { forEachConcurrently } from '../../../platform/process/concurrently.ts';
import { unixSeconds } from '../../../platform/process/clock.ts';
import { objectPath } from '../../../snapshot/volume/layout.ts';
import type { KnownObject } from '../../../releases/records/entry-row.ts';
import { TaskError, type TaskContext } from '../../../engine/tasks/task.ts';
import { hit, type Builders, type LocalizedChannel } from '../channel.ts';
import type { FrozenContainer } from '../freeze/frozen-release.ts';
import type { ContainerPatcher } from '../patch/container-patcher.ts';
import type { PatchOutcome } from '../patch/patch-file.ts';
import { hashFile, storeObject } from './stage-patches.ts';

/** Patched files that are hashed and made durable while the next ones are patched. The disk makes several durable together. */
const STORED_MEANWHILE = 4;

export interface BuiltContainers {
  /** By destination, in the order of the containers. */
  readonly objects: ReadonlyMap<string, KnownObject>;
  /** Those that were built now; the objects of the others were there. */
  readonly built: number;
  readonly checked: {
    readonly edited_units: number;
    readonly other_units: number;
    readonly untouched_parts: number;
  };
}

/**
 * Patches the containers whose patched objects are not in the store yet, and puts them there. Each is checked by the process that
 * patched it.
 *
 * @param staging a folder on the volume
 * @throws TaskError `patch_failed`, `patch_selfcheck_failed`; the storage error
 */
export async function buildContainers(
  channel: LocalizedChannel,
  { patcher, concurrency }: Builders,
  containers: readonly FrozenContainer[],
  staging: string,
  context: TaskContext,
): Promise<BuiltContainers> {
  const objects = new Map<string, KnownObject>();
  const checked = { edited_units: 0, other_units: 0, untouched_parts: 0 };
  let built = 0;
  const build = async (container: FrozenContainer, number: number, signal: AbortSignal) => {
    const path = join(staging, `patched-${number}`);
    const counts = await patchOne(channel.root, patcher, container, path, signal);
    const digests = await hashFile(channel.pool, path, signal);
    const object = await storeObject(channel, path, digests, context);
    channel.patched.record(container.patchKey, object, unixSeconds(channel.clock));
    hit(channel, 'localized.container.patched');
    checked.edited_units += counts.editedUnits;
    checked.other_units += counts.otherUnits;
    checked.untouched_parts += counts.untouchedParts;
    built += 1;
    return object;
  };
  await forEachConcurrently(
    containers.entries(),
    concurrency + STORED_MEANWHILE,
    context.signal,
    async ([number, container], signal) => {
      const known = await channel.patched.find(container.patchKey);
      objects.set(container.destination, known ?? (await build(container, number, signal)));
      context.progress(objects.size, containers.length, 'entries', 'patch');
    },
  );
  // In the order of the containers, not in that in which they were done.
  const ordered = containers.flatMap(({ destination }): [string, KnownObject][] => {
    const object = objects.get(destination);
    return object === undefined ? [] : [[destination, object]];
  });
  return { objects: new Map(ordered), built, checked };
}

async function patchOne(
  root: string,
  patcher: ContainerPatcher,
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
