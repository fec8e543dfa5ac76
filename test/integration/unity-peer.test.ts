import { describe, expect, it } from 'vitest';
import { writeSerializedFile } from '../../demo/game/unity/write-serialized-file.ts';
import { askUnityPeer, peerObjects, unityPeer, variedBundle } from '../support/unity-peer.ts';
import { LARGE_PATH_ID } from '../support/unity-samples.ts';
import { textsOfBundle } from '../support/unity-texts.ts';

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
