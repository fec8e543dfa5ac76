import { mkdir, readlink, rename, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { DEMO_RELEASE_IDS, type DemoReleaseId } from './game/demo-story.ts';
import { writeDemoRelease } from './demo-release.ts';

/** An upstream folder that offers one demo release after the other. */
export interface DemoUpstream {
  /** The release on offer; `null` before the first one. */
  offered(): Promise<DemoReleaseId | null>;
  /** The release after the one on offer; `null` when that is the last one. */
  following(): Promise<DemoReleaseId | null>;
  /**
   * Offers a release. The daemon finds the old tree or the new one, and a sync that reads the old one is not disturbed: the
   * trees lie beside each other, and only the link to them is replaced.
   */
  offer(releaseId: DemoReleaseId): Promise<void>;
}

/** The path that the daemon reads: a link to the tree of the release on offer. */
export function demoUpstreamPath(directory: string): string {
  return join(directory, 'current');
}

/** Opens the demo upstream in a folder, which is created with the first release. */
export function createDemoUpstream(directory: string): DemoUpstream {
  const current = demoUpstreamPath(directory);
  const offered = async (): Promise<DemoReleaseId | null> => {
    const name = await readlink(current).catch(() => null);
    return DEMO_RELEASE_IDS.find((releaseId) => releaseId === name) ?? null;
  };
  return {
    offered,
    following: async () => {
      const releaseId = await offered();
      const number = releaseId === null ? -1 : DEMO_RELEASE_IDS.indexOf(releaseId);
      return DEMO_RELEASE_IDS[number + 1] ?? null;
    },
    offer: async (releaseId) => {
      await mkdir(directory, { recursive: true });
      const tree = join(directory, releaseId);
      if (!(await exists(tree))) await writeDemoRelease(tree, releaseId);
      const next = `${current}.next`;
      await rm(next, { force: true });
      await symlink(releaseId, next);
      await rename(next, current);
    },
  };
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}
