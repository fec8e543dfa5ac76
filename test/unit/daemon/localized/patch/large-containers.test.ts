import { describe, expect, it } from 'vitest';
import { writeBundle } from '../../../../../src/cli/dev/demo/unity/write-bundle.ts';
import { writeSerializedFile } from '../../../../../src/cli/dev/demo/unity/write-serialized-file.ts';
import {
  patchContainer,
  type PatchContainer,
} from '../../../../../src/daemon/localized/patch/write/patch-container.ts';
import { editOf } from '../../../../support/frozen-edits.ts';
import { patchBytes, placesOf, unitsOf } from '../../../../support/patch-bytes.ts';
import { sampleTextAsset } from '../../../../support/unity-samples.ts';
import { zipOf } from '../../../../support/zip-of.ts';

/** More texts than one side of the comparison may be ahead of the other. */
const TEXTS = 3000;
const LINES = Array.from({ length: TEXTS }, (_, number) => `${number}行目`);
const CONTENT = Buffer.from(JSON.stringify(LINES));

/** A writer that leaves out the last texts, or adds some. */
const resized = (length: number): PatchContainer =>
  function* patch(run, part, tree) {
    const texts = JSON.parse(Buffer.concat([...patchContainer(run, part, tree)]).toString()) as string[];
    yield Buffer.from(JSON.stringify(Array.from({ length }, (_, number) => texts[number] ?? 'も')));
  };

describe('a container with many texts', () => {
  it('is patched with edits that take several reads, one of them longer than a read', async () => {
    const units = await unitsOf('a.json', CONTENT);
    const edits = units.map((unit, number) => editOf(unit, `は${'x'.repeat(number === 7 ? 600_000 : 150)}`));
    const { result, bytes } = await patchBytes('a.json', CONTENT, edits);
    expect(result).toMatchObject({ kind: 'patched', checked: { editedUnits: TEXTS, otherUnits: 0 } });
    expect(JSON.parse(String(bytes))).toEqual(edits.map(({ target }) => target));
  });

  it('gets edits in any order', async () => {
    const units = await unitsOf('a.json', CONTENT);
    const edits = units.map((unit, number) => editOf(unit, `は${number}`));
    const { bytes } = await patchBytes('a.json', CONTENT, edits);
    const turned = await patchBytes('a.json', CONTENT, edits.toReversed());
    expect(turned.result).toMatchObject({ kind: 'patched', checked: { editedUnits: TEXTS } });
    expect(turned.bytes?.equals(bytes ?? Buffer.alloc(0))).toBe(true);
  });

  it.each([
    [1, '/1', 'not found at its place'],
    [TEXTS - 1, `/${TEXTS - 1}`, 'not found at its place'],
    [TEXTS + 1, `/${TEXTS}`, 'a text more'],
    [3 * TEXTS, `/${TEXTS}`, 'a text more'],
  ])('fails its self-check with %i texts', async (length, fieldPath, message) => {
    const [first] = await unitsOf('a.json', CONTENT);
    if (first === undefined) throw new Error('the container has a unit');
    const patch = resized(length);
    const { result } = await patchBytes('a.json', CONTENT, [editOf(first, 'は')], { patch });
    expect(result).toMatchObject({
      code: 'patch_selfcheck_failed',
      fieldPath,
      message: expect.stringContaining(message) as string,
    });
  });

  it('has edits before, inside of and behind a file in a field', async () => {
    const inner = await zipOf({ 'a.json': Buffer.from('["いち","に"]'), 'b.json': Buffer.from('["さん"]') });
    const objects = [
      sampleTextAsset(1n, 'あ', 'はい'),
      sampleTextAsset(2n, 'い', inner),
      sampleTextAsset(3n, 'う', 'いいえ'),
    ];
    const content = writeBundle([{ name: 'CAB-1', bytes: writeSerializedFile({ version: 22, objects }) }]);
    const units = await unitsOf('a.bundle', content);
    const edits = units.map((unit, number) => editOf(unit, `も${number}`));
    expect(units.some(({ archiveEntry }) => archiveEntry?.endsWith('a.json') === true)).toBe(true);
    const { result, bytes } = await patchBytes('a.bundle', content, edits);
    expect(result).toMatchObject({ kind: 'patched', checked: { editedUnits: units.length } });
    expect(placesOf(await unitsOf('a.bundle', bytes ?? Buffer.alloc(0)))).toEqual(placesOf(units, edits));
  });
});
