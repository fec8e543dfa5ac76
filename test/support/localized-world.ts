import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { openLocalized, type Localized } from '../../src/localization/localized/localized.ts';
import type { Task } from '../../src/engine/tasks/task.ts';
import { noReleaseUnits } from '../../src/domain/translation/expected-outcomes.ts';
import { noUnits } from '../../src/domain/translation/unit-state.ts';
import { createSilentLogger } from '../../src/platform/logging/logging.ts';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { createScriptedTexts, scriptedFreezer, textBuilders, type ScriptedTexts } from './scripted-texts.ts';
import { createWorld, type World } from './release-world.ts';

/** Files by destination. */
export type Files = Readonly<Record<string, string>>;

/** A world of releases with the localized channel. */
export interface LocalizedWorld extends World {
  readonly patchRoot: string;
  /** The translations, and how their patching goes. */
  readonly texts: ScriptedTexts;
  readonly dataDirectory: string;
  /** The channel of the process that runs. */
  localized(): Localized;
  /** Calls of the work on translations, in their order. */
  readonly textCalls: unknown[];
  /** Writes files and their patch manifest into the folder of patches; returns the manifest. */
  writePatches(files: Files, baseId?: string): Promise<PatchManifestJson>;
  writeManifest(manifest: unknown): Promise<void>;
  /** Publishes {@link Files} as patches and waits until the task has ended. */
  publish(files: Files, body?: Record<string, unknown>): Promise<Task>;
  /** The folders of tasks on the volume. */
  stagedFolders(): Promise<readonly string[]>;
}

/** A patch manifest as operators write it. */
export interface PatchManifestJson {
  base_release_id: string;
  entries: { destination: string; file: string; blake3: string; size: number }[];
}

/** The name of the patch manifest in the folder of patches. */
export const MANIFEST = 'patches.json';

/** The official files of {@link createLocalizedWorld}. */
export const OFFICIAL: Files = { 'a.csv': 'id,text\n1,こんにちは\n', 'b.txt': 'さようなら', 'c.bin': 'same' };

/** Makes a world whose official release `1.0` is current. */
export async function createLocalizedWorld(
  change: Parameters<typeof createWorld>[0] = {},
): Promise<LocalizedWorld> {
  const patchRoot = await temporaryDirectory();
  const dataDirectory = await temporaryDirectory();
  const textCalls: unknown[] = [];
  const texts = createScriptedTexts();
  let localized: Localized | null = null;
  const world = await createWorld({
    ...change,
    part: (parts) => {
      localized = openLocalized({
        mirroredFrom: () => null,
        ...parts,
        ...parts.releases,
        releases: parts.releases.repository,
        root: parts.root,
        patchRoot: () => patchRoot,
        exchangeRoot: () => patchRoot,
        dataDirectory,
        configuration: () => ({ auto: true }),
        isPreparing: () => texts.isPreparing,
        work: () => {
          const releaseId = parts.releases.repository.current('official')?.release_id ?? '';
          return {
            built: { releaseId, generation: 1 },
            index: { release_id: releaseId, generation: 1 },
            units: { ...noReleaseUnits(), units: { ...noUnits(), proofread: 2 } },
          };
        },
        refreshTexts: () => Promise.resolve(),
        triggers: [],
        edits: [],
        logger: createSilentLogger(),
        policy: () => ({ minState: 'proofread', include: [], exclude: [], minCoverage: 0 }),
        freezer: scriptedFreezer(texts, textCalls),
        openBuilders: async () => textBuilders(texts),
        texts: {
          hold: async (taken) => {
            if (texts.holdError !== null) throw texts.holdError;
            textCalls.push({ hold: taken });
            return 2;
          },
          countHolds: async () => 2,
          compare: async (releases) => {
            if (texts.compareError !== null) throw texts.compareError;
            textCalls.push({ compared: releases });
            return { units: 1, changes: [{ unit_id: 'tu1_a' }], files: [{ destination: 'a.csv', units: 1 }] };
          },
          markPublished: async (releaseId) => {
            textCalls.push({ published: releaseId });
          },
        },
      });
      return localized;
    },
  });
  world.upstream.files = new Map(Object.entries(OFFICIAL));
  const synced = await world.act('sync');
  if (synced.status !== 'succeeded') throw new Error(synced.failure_reason ?? 'the sync failed');
  const writeManifest = async (manifest: unknown): Promise<void> => {
    await writeFile(join(patchRoot, MANIFEST), JSON.stringify(manifest));
  };
  const writePatches = async (files: Files, baseId = '1.0'): Promise<PatchManifestJson> => {
    const entries: PatchManifestJson['entries'] = [];
    for (const [destination, text] of Object.entries(files)) {
      const file = `files/${destination}`;
      const bytes = Buffer.from(text);
      await mkdir(dirname(join(patchRoot, file)), { recursive: true });
      await writeFile(join(patchRoot, file), bytes);
      entries.push({ destination, file, blake3: blake3Hex(bytes), size: bytes.length });
    }
    const manifest = { base_release_id: baseId, entries };
    await writeManifest(manifest);
    return manifest;
  };
  return Object.assign(world, {
    patchRoot,
    texts,
    dataDirectory,
    textCalls,
    localized: () => {
      if (localized === null) throw new Error('no process runs');
      return localized;
    },
    writeManifest,
    writePatches,
    stagedFolders: async () => await readdir(join(world.root, 'tmp')),
    publish: async (files: Files, body: Record<string, unknown> = {}) => {
      await writePatches(files);
      return await world.act('localized-publish', { patch_manifest: MANIFEST, ...body });
    },
  });
}

/** The BLAKE3 of every file, by destination. */
export function digestsOf(files: Files): Map<string, string> {
  return new Map(Object.entries(files).map(([name, text]) => [name, blake3Hex(Buffer.from(text))]));
}

/** The BLAKE3 of every file of the release with this snapshot, by destination; all objects are present. */
export async function offered(world: World, snapshotId: unknown): Promise<Map<string, string>> {
  const entries = await world.contents(String(snapshotId));
  return new Map([...entries].map(([name, { blake3 }]) => [name, blake3]));
}
