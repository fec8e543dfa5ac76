import { readFile } from 'node:fs/promises';
import {
  createFreezer,
  type Freezer,
  type FreezeRequest,
} from '../../src/localization/localized/freeze/freezer.ts';
import type {
  FrozenEdit,
  FrozenRelease,
  PublishPolicy,
} from '../../src/localization/localized/freeze/frozen-release.ts';
import type { TaskContext } from '../../src/engine/tasks/task.ts';
import { openReviewWorld, type ReviewWorld } from './review-world.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** Everything that a reviewer has accepted. */
export const EVERYTHING: PublishPolicy = {
  minState: 'proofread',
  include: [],
  exclude: [],
  minCoverage: 0,
};

/** Reviews with a freezer, for tests. */
export interface FreezeWorld {
  readonly world: ReviewWorld;
  readonly freezer: Freezer;
  freeze(over?: Partial<PublishPolicy>, request?: Partial<FreezeRequest>): Promise<FrozenRelease>;
}

/** Opens the world. @param isCurrent whether the index is that of the current rules */
export async function openFreezeWorld(isCurrent: () => boolean = () => true): Promise<FreezeWorld> {
  const world = await openReviewWorld();
  const { unitsAfter, publishing } = world;
  const freezer = createFreezer({ unitsAfter, isCurrent: () => Promise.resolve(isCurrent()) }, publishing);
  return {
    world,
    freezer,
    freeze: async (over = {}, request = {}) =>
      await freezer.freeze(
        {
          baseReleaseId: 'r1',
          translationFile: null,
          policy: { ...EVERYTHING, ...over },
          workDirectory: await temporaryDirectory(),
          ...request,
        },
        { signal: new AbortController().signal, progress: () => undefined } as unknown as TaskContext,
      ),
  };
}

/** The edits of all containers: for each destination, the sources with their targets. */
export async function editsOf({
  containers,
}: FrozenRelease): Promise<Record<string, Record<string, string>>> {
  const all: Record<string, Record<string, string>> = {};
  for (const { destination, editsPath } of containers) {
    const lines = (await readFile(editsPath, 'utf8')).trimEnd().split('\n');
    const edits = lines.map((line) => JSON.parse(line) as FrozenEdit);
    all[destination] = Object.fromEntries(edits.map(({ source, target }) => [source, target]));
  }
  return all;
}
