import { open, readFile, rm, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../../demo/game/seeded-random.ts';
import { manifestDigestOf, type Blake3Hex, type SnapshotId } from '../../../src/domain/release/digest.ts';
import type { Destination } from '../../../src/domain/release/destination.ts';
import type { ManifestChange, ManifestEntry } from '../../../src/domain/release/manifest.ts';
import { noFailpoints } from '../../../src/platform/files/failpoints.ts';
import { systemClock } from '../../../src/platform/process/clock.ts';
import { identifyChanged } from '../../../src/snapshot/manifest/changed-manifest.ts';
import { changesOf, compareManifests } from '../../../src/snapshot/manifest/compare-manifests.ts';
import { loadManifest } from '../../../src/snapshot/manifest/manifest-loader.ts';
import type { ManifestIndex } from '../../../src/snapshot/manifest/manifest-index.ts';
import type { SnapshotWriter } from '../../../src/snapshot/snapshot-writer.ts';
import { manifestPath } from '../../../src/snapshot/volume/layout.ts';
import { openWriterAt } from '../../support/open-writer.ts';
import { sampleDigest, sampleEntry, sampleHeader, sortEntries } from '../../support/sample-entries.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const SIGNAL = new AbortController().signal;
/** More lines than are read at a time, with names that are escaped, that are not ASCII, and that begin alike. */
const NAMES = Array.from(
  { length: 3000 },
  (_, at) =>
    [`Bundles/${at}`, `音声/${at}`, `a "quoted" ${at}`, `"${at}`, `😀/${at}`, `Bundles/${at}/"`][at % 6],
).filter((name) => name !== undefined);

interface Volume {
  readonly root: string;
  readonly writer: SnapshotWriter;
}

async function openVolume(): Promise<Volume> {
  const root = await temporaryDirectory();
  return { root, writer: await openWriterAt({ root, failpoints: noFailpoints, clock: systemClock }) };
}

async function write({ writer }: Volume, entries: readonly ManifestEntry[]): Promise<SnapshotId> {
  const sorted = sortEntries(entries);
  return (await writer.writeManifest('t', sampleHeader(sorted), sorted)).snapshotId;
}

async function indexOf({ root }: Volume, snapshotId: SnapshotId): Promise<ManifestIndex> {
  return (await loadManifest({ root, snapshotId, checkObjects: false })).index;
}

/** The changes between two manifests on the volume; `null` where they are not worth it. */
async function difference(
  volume: Volume,
  from: SnapshotId,
  to: SnapshotId,
): Promise<readonly ManifestChange[] | null> {
  const pair = { from: await indexOf(volume, from), to: await indexOf(volume, to) };
  const found = await compareManifests(pair.from, pair.to, SIGNAL);
  return found === null ? null : changesOf(found, pair, { offset: 0, limit: Infinity });
}

/** The seeds that change so many entries that there is no difference. */
const MUCH_CHANGED: ReadonlySet<number> = new Set([4]);

/** Some entries changed, some removed, some added, also at both ends. */
function changeSome(entries: readonly ManifestEntry[], seed: number): readonly ManifestEntry[] {
  const random = createRandom(seed);
  const one = random.pick([1, 5, 50, 1000]);
  const kept = entries.flatMap((entry): ManifestEntry[] => {
    if (random.below(one) !== 0) return [entry];
    const { destination, size } = entry;
    switch (random.below(5)) {
      case 0:
        return [];
      case 1:
        return [{ ...entry, blake3: sampleDigest(`${destination} ${seed}`) }];
      case 2:
        return [{ ...entry, media_type: 'text/plain; charset=utf-8' }];
      case 3:
        return [entry, sampleEntry(`${destination}+${seed}`)];
      default:
        return [sampleEntry(destination, { size: size % 1000 })];
    }
  });
  return [...kept, sampleEntry(`!first ${seed}`), sampleEntry(`🦊last ${seed}`)];
}

describe('the difference of two manifests', () => {
  const entries = NAMES.map((name) => sampleEntry(name));

  it.each(Array.from({ length: 8 }, (_, at) => at + 1))(
    'makes the one of the other, by its own words (sample %i)',
    async (seed) => {
      const volume = await openVolume();
      const next = sortEntries(changeSome(entries, seed));
      const [from, to] = [await write(volume, entries), await write(volume, next)];
      const changes = await difference(volume, from, to);
      expect(changes === null).toBe(MUCH_CHANGED.has(seed));
      if (changes === null) {
        expect(next.filter((entry) => entries.includes(entry)).length).toBeLessThan(next.length / 2);
        return;
      }
      const at = new Map<string, ManifestEntry>(entries.map((entry) => [entry.destination, entry]));
      for (const { destination, entry } of changes) {
        expect(entry).not.toEqual(at.get(destination) ?? null);
        if (entry === null) at.delete(destination);
        else at.set(destination, entry);
      }
      expect(sortEntries([...at.values()])).toEqual(next);
      const changed = { root: volume.root, since: from, changes };
      const { snapshotId } = await identifyChanged(sampleHeader(next), changed, Buffer.alloc(0), SIGNAL);
      expect(snapshotId).toBe(to);
      await volume.writer.removeManifest(to);
      const written = await volume.writer.writeChangedManifest('t', sampleHeader(next), changed);
      expect(written.snapshotId).toBe(to);
      expect((await indexOf(volume, to)).length).toBe(next.length);
    },
  );

  it('is empty for equal ones, and none where it is no shorter than the manifest', async () => {
    const volume = await openVolume();
    const from = await write(volume, entries);
    expect(await difference(volume, from, from)).toEqual([]);
    expect(await difference(volume, from, await write(volume, entries.slice(0, 9)))).toBeNull();
    expect(await difference(volume, from, await write(volume, []))).toBeNull();
    const nothing = await write(volume, []);
    expect(await difference(volume, nothing, from)).toBeNull();
    const more = [...entries, sampleEntry('one more')];
    expect(await difference(volume, from, await write(volume, more))).toEqual([
      { destination: 'one more', entry: sampleEntry('one more') },
    ]);
  });

  it('stops when nobody waits for it', async () => {
    const volume = await openVolume();
    const names = Array.from({ length: 9000 }, (_, at) => sampleEntry(`file ${at}`, { size: 1 }));
    const index = await indexOf(volume, await write(volume, names));
    const leaving = new AbortController();
    const comparing = compareManifests(index, index, leaving.signal);
    leaving.abort(new Error('the client left'));
    await expect(comparing).rejects.toThrow('the client left');
  });

  it('makes another manifest of one that is damaged, and none of one that is gone or cut off', async () => {
    const volume = await openVolume();
    const next = sortEntries([...entries, sampleEntry('one more')]);
    const [from, to] = [await write(volume, entries), await write(volume, next)];
    const changes = [{ destination: 'one more' as Destination, entry: sampleEntry('one more') }];
    const make = async (signal = SIGNAL): Promise<string> =>
      (
        await identifyChanged(
          sampleHeader(next),
          { root: volume.root, since: from, changes },
          Buffer.alloc(0),
          signal,
        )
      ).snapshotId;
    expect(await make()).toBe(to);
    await expect(make(AbortSignal.abort(new Error('the task was cancelled')))).rejects.toThrow('cancelled');
    const path = manifestPath(volume.root, manifestDigestOf(from) as Blake3Hex);
    const sound = await readFile(path);
    await rm(path);
    await expect(make()).rejects.toMatchObject({ name: 'SnapshotFault', kind: 'missing' });
    for (const position of [20, 400, 1000, sound.length - 2]) {
      const flipped = Buffer.from(sound);
      flipped[position] = (flipped[position] ?? 0) ^ 0x20;
      await writeFile(path, flipped);
      // The header is written again, and only the lines are copied.
      expect((await make()) === to).toBe(position === 20);
    }
    for (const text of ['', '\n\n\n\n', '"'.repeat(1000), '{"destination":"', `${'x'.repeat(400_000)}\n`]) {
      await writeFile(path, text);
      expect(await make().catch((error: unknown) => (error as Error).name)).not.toBe(to);
    }
    const file = await open(path, 'w');
    await file.writeFile(sound.subarray(0, sound.length - 10));
    await file.close();
    await expect(make()).rejects.toMatchObject({ kind: 'damaged' });
  });
});
