import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';
import { until } from './until.ts';
import type { TestSystem } from './system.ts';

/** The name of the manifest that {@link writePatches} writes. */
export const PATCH_MANIFEST = 'patches.json';

/**
 * Writes files that were patched outside of Slipway, with their manifest, as `localized-publish` takes them.
 *
 * @param folder the exchange folder of the daemon; it is made
 * @param files by destination
 */
export async function writePatches(
  folder: string,
  baseReleaseId: string,
  files: ReadonlyMap<string, Buffer>,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const entries = await Promise.all(
    Array.from(files, async ([destination, bytes], number) => {
      const file = `patched-${number}`;
      await writeFile(join(folder, file), bytes);
      return { destination, file, blake3: blake3Hex(bytes), size: bytes.length };
    }),
  );
  const manifest = JSON.stringify({ base_release_id: baseReleaseId, entries });
  await writeFile(join(folder, PATCH_MANIFEST), manifest);
}

/** Publishes the files of {@link writePatches}, and waits until the server offers them. @returns the id of the release */
export async function publishPatches(system: TestSystem): Promise<string> {
  const task = await system.run('localized-publish', { patch_manifest: PATCH_MANIFEST, reviewer: 'Rin' });
  const id = task.result?.['localized_release_id'];
  if (typeof id !== 'string') throw new Error(`${task.failure_code}: ${task.failure_reason}`);
  await until(async () => {
    const answer = await fetch(`${system.serverUrl}/v1/distribution?channel=localized`);
    return answer.ok && ((await answer.json()) as { release_id: string }).release_id === id;
  });
  return id;
}

/** Expects that the server offers the official channel, and refuses the localized one because of damage. */
export async function expectOfficialAlone({ serverUrl }: TestSystem): Promise<void> {
  const answers = await Promise.all(
    ['official', 'localized'].map(async (channel) => {
      const answer = await fetch(`${serverUrl}/v1/distribution?channel=${channel}`);
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    }),
  );
  expect(answers).toMatchObject([{ status: 200 }, { status: 409, body: { reason: 'EntryDamaged' } }]);
}
