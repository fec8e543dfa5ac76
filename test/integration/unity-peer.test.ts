import { describe, expect, it } from 'vitest';
import { writeSerializedFile } from '../../demo/game/unity/write-serialized-file.ts';
import { referenceCorpus, REFERENCE_TYPES } from '../support/managed-references.ts';
import { askUnityPeer, peerObjects, unityPeer, variedBundle } from '../support/unity-peer.ts';
import { LARGE_PATH_ID } from '../support/unity-samples.ts';
import { textsOfBundle, textsOfFile } from '../support/unity-texts.ts';

interface PeerObject {
  readonly name: string;
  readonly class_id: number;
  readonly texts: readonly string[];
}

function bundles(): Buffer[] {
  const objects = peerObjects();
  const files = [17, 18, 19, 20, 21, 22].flatMap((version) =>
    [true, false].map((littleEndian) => writeSerializedFile({ version, littleEndian, objects })),
  );
  return files.map((bytes, index) => variedBundle(index, bytes, Buffer.alloc(100, 1)));
}

describe.skipIf(unityPeer === null)('bundles that the demo writer makes', () => {
  it('hold the same texts for UnityPy as for Slipway', async () => {
    const all = bundles();
    const peer = (await askUnityPeer('texts', all)) as Readonly<Record<string, PeerObject>>[];
    expect(peer.length).toBe(all.length);
    for (const [index, bytes] of all.entries()) {
      const { texts, errors } = textsOfBundle(bytes);
      expect(errors).toEqual([]);
      const ours = Object.fromEntries(
        [...Map.groupBy(texts, ({ pathId }) => pathId)].map(([pathId, found]) => [
          String(pathId),
          { name: found[0]?.name, texts: found.map(({ text }) => text) },
        ]),
      );
      const theirs = Object.fromEntries(
        Object.entries(peer[index] ?? {}).map(([pathId, { name, texts }]) => [pathId, { name, texts }]),
      );
      expect(ours).toEqual(theirs);
      expect(Object.keys(ours)).toContain(String(LARGE_PATH_ID));
    }
  });
});

describe.skipIf(unityPeer === null)('objects with managed references', () => {
  it('have the same texts at the same places for UnityPy as for Slipway', async () => {
    const cases = ([1, 2] as const).flatMap((registry) =>
      [21, 22].flatMap((version) =>
        [true, false].map((littleEndian) => {
          const objects = referenceCorpus(registry, 40, version + (littleEndian ? 0 : 1));
          return { version, littleEndian, objects, referenceTypes: REFERENCE_TYPES };
        }),
      ),
    );
    const files = cases.map(writeSerializedFile);
    const bundles = files.map((bytes, index) => variedBundle(index, bytes, Buffer.alloc(100, 1)));
    const ours = [
      ...files.map((bytes) => textsOfFile(bytes)),
      ...bundles.map((bytes) => textsOfBundle(bytes)),
    ];
    const peer = await askUnityPeer('paths', [...files, ...bundles]);
    for (const [index, { texts, errors }] of ours.entries()) {
      expect(errors).toEqual([]);
      const byObject = Map.groupBy(texts, ({ pathId }) => String(pathId));
      const paths = Array.from(byObject, ([pathId, found]) => [
        pathId,
        Object.fromEntries(found.map(({ path, text }) => [path, text])),
      ]);
      expect(Object.fromEntries(paths)).toEqual(peer[index]);
      const inside = texts.filter(({ path, text }) => path.startsWith('references.') && text !== '');
      expect(inside.length).toBeGreaterThan(40);
    }
  });
});
