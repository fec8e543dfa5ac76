import { describe, expect, it } from 'vitest';
import { writeSerializedFile } from '../../demo/game/unity/write-serialized-file.ts';
import { createRandom, type Random } from '../../demo/game/seeded-random.ts';
import type { FieldEdit } from '../../src/formats/patch/find-places.ts';
import { patchUnityBundle } from '../support/patch-unity.ts';
import { referenceCorpus, REFERENCE_TYPES } from '../support/managed-references.ts';
import { expectPatchedObjects, type PeerBundle } from '../support/peer-fields.ts';
import { askUnityPeer, peerObjects, unityPeer, variedBundle } from '../support/unity-peer.ts';
import { textsOfBundle } from '../support/unity-texts.ts';

const TARGETS = ['', 'kurz', 'Ein „längerer“ Satz,\r\n"mit" Zeilen', 'مرحبا 👋🏽', 'x'.repeat(5000)];

/** Versions 17 to 22 in both byte orders, with the alignments of Unity up to 2023.1 and from 6000 on. */
function bundles(): Buffer[] {
  const objects = peerObjects();
  const layouts = [17, 18, 19, 20, 21, 22].flatMap((version) => [
    { version, littleEndian: true, engineVersion: '2022.3.10f1', objectAlignment: 8 },
    { version, littleEndian: version < 20, engineVersion: '6000.0.23f1', objectAlignment: 16 },
  ]);
  return layouts.map((layout, index) => {
    const resource = createRandom(index).bytes(50_000);
    return variedBundle(index, writeSerializedFile({ ...layout, objects }), resource, layout.engineVersion);
  });
}

/** Objects with registries of versions 1 and 2, whose references have texts too. */
function referenceBundles(): Buffer[] {
  return [21, 22].flatMap((version) =>
    ([1, 2] as const).map((registry, index) => {
      const objects = referenceCorpus(registry, 40, version);
      const content = { version, littleEndian: index === 0, objects, referenceTypes: REFERENCE_TYPES };
      return variedBundle(version + index, writeSerializedFile(content), Buffer.alloc(100, 1));
    }),
  );
}

/** Random edits of the texts of a bundle. */
function randomEdits(bytes: Buffer, random: Random): Map<bigint, FieldEdit[]> {
  const edits = new Map<bigint, FieldEdit[]>();
  const { texts } = textsOfBundle(bytes);
  for (const { pathId, path, text } of texts) {
    if (random.below(2) > 0) continue;
    const edit = { fieldPath: path, source: text, target: random.pick(TARGETS) };
    edits.set(pathId, [...(edits.get(pathId) ?? []), edit]);
  }
  return edits;
}

describe.skipIf(unityPeer === null)('patched bundles', () => {
  it('have for UnityPy the translated texts, and nothing else is changed', async () => {
    const random = createRandom(16);
    const cases = [...bundles(), ...referenceBundles()].map((before) => {
      const edits = randomEdits(before, random);
      return { before, edits, after: patchUnityBundle(before, edits).bytes };
    });
    const all = cases.flatMap(({ before, after }) => [before, after]);
    const peer = (await askUnityPeer('values', all)) as PeerBundle[];
    expect(peer.length).toBe(all.length);
    let edited = 0;
    for (const [index, { edits }] of cases.entries()) {
      const [old, now] = [peer[2 * index], peer[2 * index + 1]];
      expectPatchedObjects(
        { before: old, after: now },
        new Map([...edits].map(([pathId, own]) => [String(pathId), own])),
      );
      for (const own of edits.values()) edited += own.length;
    }
    const inReferences = cases.flatMap(({ edits }) =>
      [...edits.values()].flat().filter(({ fieldPath }) => fieldPath.startsWith('references.')),
    );
    expect(inReferences.length).toBeGreaterThan(40);
    expect(edited).toBeGreaterThan(cases.length * 3);
  });
});
