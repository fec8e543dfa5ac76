import { describe, expect, it } from 'vitest';
import { jsonCatalog } from '../../demo/game/catalogs/addressables-json.ts';
import { writeSerializedFile } from '../../demo/game/unity/write-serialized-file.ts';
import { createRandom, type Random } from '../../demo/game/seeded-random.ts';
import type { FieldEdit } from '../../src/formats/patch/find-places.ts';
import { patchUnityBundle } from '../support/patch-unity.ts';
import { bundlesOfJson } from '../support/addressables-catalogs.ts';
import { referenceCorpus, REFERENCE_TYPES } from '../support/managed-references.ts';
import { expectPatchedObjects, type PeerBundle } from '../support/peer-fields.ts';
import { contentHash, rewriteRelease, statedBundle } from '../support/rewritten-release.ts';
import { askUnityPeer, peerObjects, unityPeer, variedBundle } from '../support/unity-peer.ts';
import { sampleTextAsset } from '../support/unity-samples.ts';
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

describe.skipIf(unityPeer === null)('a release of two platforms with compressed catalogs', () => {
  it('has catalogs that UnityPy reads, each with the figures of its own bundles', async () => {
    const HASH = 'ab'.repeat(16);
    const names = Array.from({ length: 12 }, (_, index) => `texts${index}.bundle`);
    const platforms = ['Android', 'iOS'].map((folder, index) => {
      const random = createRandom(21 + index);
      const objects = (text: string): Buffer =>
        variedBundle(
          index,
          writeSerializedFile({ version: 22, objects: [sampleTextAsset(5n, 'story', text)] }),
          random.bytes(64),
        );
      const official = new Map(names.map((name) => [name, objects(`${folder} ${name}`)]));
      const patched = new Map(
        Array.from(official, ([name, bytes]) => {
          const edit = {
            fieldPath: 'm_Script',
            source: `${folder} ${name}`,
            target: `${name} in another language`,
          };
          return [name, patchUnityBundle(bytes, new Map([[5n, [edit]]])).bytes] as const;
        }),
      );
      const catalog = jsonCatalog(Array.from(official, ([name, bytes]) => statedBundle(name, bytes, HASH)));
      const asset = sampleTextAsset(-7n, 'catalog', catalog);
      const bundled = variedBundle(
        2,
        writeSerializedFile({ version: 22, objects: [asset] }),
        random.bytes(64),
      );
      return { folder, official, patched, bundled };
    });
    const filesOf = (which: 'official' | 'patched'): Record<string, Buffer> =>
      Object.fromEntries(
        platforms.flatMap(({ folder, ...platform }) => [
          ...Array.from(platform[which], ([name, bytes]) => [`${folder}/${name}`, bytes] as const),
          ...(which === 'official' ? [[`${folder}/catalog.bundle`, platform.bundled] as const] : []),
        ]),
      );
    const changed = await rewriteRelease(filesOf('official'), filesOf('patched'));
    const peer = (await askUnityPeer(
      'values',
      platforms.flatMap(({ folder, bundled }) => [bundled, changed.get(`${folder}/catalog.bundle`)!]),
    )) as PeerBundle[];
    for (const [index, { patched }] of platforms.entries()) {
      const [before, after] = [peer[2 * index]!, peer[2 * index + 1]!];
      expect(after.files).toEqual(before.files);
      const { m_Name, m_Script } = after.objects['-7'] as {
        readonly m_Name: string;
        readonly m_Script: string;
      };
      expect(m_Name).toBe('catalog');
      expect(bundlesOfJson(m_Script)).toEqual(
        Array.from(patched, ([name, bytes]) => statedBundle(name, bytes, contentHash(bytes))),
      );
    }
  });
});
