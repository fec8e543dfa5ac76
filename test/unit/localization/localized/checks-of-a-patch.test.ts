import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { deflateSync, gzipSync, inflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { writeSqliteTable } from '../../../../demo/game/sqlite-table.ts';
import { leaf, text } from '../../../../demo/game/unity/unity-type.ts';
import { writeBundle } from '../../../../demo/game/unity/write-bundle.ts';
import { writeSerializedFile } from '../../../../demo/game/unity/write-serialized-file.ts';
import { bytesSource } from '../../../../src/formats/byte-source.ts';
import { sqliteError } from '../../../../src/formats/sqlite/open-untrusted.ts';
import type { FrozenEdit } from '../../../../src/localization/localized/freeze/frozen-release.ts';
import { patchFile } from '../../../../src/localization/localized/patch/patch-file.ts';
import {
  patchContainer,
  type PatchContainer,
} from '../../../../src/localization/localized/patch/write/patch-container.ts';
import { compileRules } from '../../../../src/localization/parse/rules/compile-rules.ts';
import { SAMPLE_SCHEMA, sampleBuffer } from '../../../support/flatbuffer-sample.ts';
import { editLines, editOf } from '../../../support/frozen-edits.ts';
import { loadedRules, type TestRules } from '../../../support/parse-bytes.ts';
import { patchBytes, unitsOf } from '../../../support/patch-bytes.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { sampleBehaviour, sampleTextAsset } from '../../../support/unity-samples.ts';
import { zipOf } from '../../../support/zip-of.ts';

const edit = (change: Partial<FrozenEdit>): FrozenEdit => ({
  unitId: '',
  archiveEntry: null,
  pathId: null,
  fieldPath: '/a',
  source: 'はい',
  target: 'yes',
  ...change,
});

/** The error of SQLite for a database that cannot grow. */
function fullDisk(): unknown {
  const database = new DatabaseSync(':memory:');
  try {
    database.exec('PRAGMA max_page_count = 1; CREATE TABLE one (text)');
  } catch (error) {
    return error;
  } finally {
    database.close();
  }
  throw new Error('the database grew');
}

/** The error of SQLite for a write that the system refuses: SQLITE_IOERR_WRITE. */
function refusedWrite(): unknown {
  return Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 778 });
}

const bundle = writeBundle([
  {
    name: 'CAB-1',
    bytes: writeSerializedFile({
      version: 22,
      objects: [sampleTextAsset(1n, 'n', '{"a":"はい","zip":"PK"}'), sampleTextAsset(2n, 'm', 'はい')],
    }),
  },
]);

const M_SCRIPT = { pathId: '1', fieldPath: 'm_Script#/a' };

describe('an edit that cannot be made', async () => {
  const JSON_FILE = Buffer.from('{"a":"はい"}');

  const archive = await zipOf({ 'in/a.json': JSON_FILE, 'in/a.bundle': bundle });

  it.each<readonly [string, string, Uint8Array, Partial<FrozenEdit>, string]>([
    ['has no place', 'a.json', JSON_FILE, { fieldPath: '/b' }, 'place_not_found'],
    ['has another source', 'a.json', JSON_FILE, { source: 'いいえ' }, 'source_differs'],
    ['names an object of a text', 'a.json', JSON_FILE, { pathId: '1' }, 'place_not_found'],
    ['names an entry of a text', 'a.json', JSON_FILE, { archiveEntry: 'x.json' }, 'place_not_found'],
    ['names no entry', 'a.zip', archive, {}, 'place_not_found'],
    ['names a missing entry', 'a.zip', archive, { archiveEntry: 'in/b.json' }, 'place_not_found'],
    ['names a missing object', 'a.bundle', bundle, { ...M_SCRIPT, pathId: '3' }, 'place_not_found'],
    ['names no object', 'a.bundle', bundle, {}, 'place_not_found'],
    [
      'names a file in a field that holds none',
      'a.bundle',
      bundle,
      { ...M_SCRIPT, pathId: '2' },
      'place_not_found',
    ],
    [
      'names an entry of a bundle with one file',
      'a.bundle',
      bundle,
      { ...M_SCRIPT, archiveEntry: 'CAB-2' },
      'place_not_found',
    ],
    [
      'is longer than the format holds',
      'a.bundle',
      bundle,
      { ...M_SCRIPT, target: 'x'.repeat(1024 * 1024 + 1) },
      'text_too_long',
    ],
    ['has half a surrogate pair', 'a.json', JSON_FILE, { target: '\uD800' }, 'character_not_allowed'],
    ['is for a picture', 'a.png', Buffer.from('\u0089PNG\r\n\u001A\n', 'latin1'), {}, 'place_not_found'],
    [
      'is for a damaged archive',
      'a.zip',
      archive.subarray(0, -1),
      { archiveEntry: 'in/a.json' },
      'zip_invalid',
    ],
  ])('%s', async (_what, destination, content, change, code) => {
    const { result, bytes } = await patchBytes(destination, content, [edit(change)]);
    expect(result).toMatchObject({ kind: 'failed', code });
    expect(bytes).toBeNull();
  });

  it('is named with its whole place', async () => {
    const place = { archiveEntry: 'in/a.bundle', ...M_SCRIPT, source: 'いいえ' };
    const { result } = await patchBytes('a.zip', archive, [edit(place)]);
    expect(result).toEqual({
      kind: 'failed',
      code: 'source_differs',
      archiveEntry: 'in/a.bundle',
      fieldPath: 'm_Script#/a',
      message: 'm_Script#/a: the text in the file is not the source text of the edit',
    });
  });

  it('leaves no file for the other edits of its container', async () => {
    const good = { archiveEntry: 'in/a.bundle', ...M_SCRIPT };
    const both = [edit(good), edit({ archiveEntry: 'in/a.json', source: 'other' })];
    const { result, bytes } = await patchBytes('a.zip', archive, both);
    expect(result).toMatchObject({ kind: 'failed', archiveEntry: 'in/a.json', code: 'source_differs' });
    expect(bytes).toBeNull();
  });

  it('is not blamed on the container when a temporary file cannot be written', async () => {
    const directory = await temporaryDirectory();
    const at = (name: string): string => join(directory, name);
    await writeSqliteTable(at('official'), [{ id: 1n, speaker: 'a', text: 'はい' }]);
    await writeFile(at('edits'), editLines([edit({ fieldPath: 'Dialog[1].TextJp' })]));
    const job = {
      destination: 'a.db',
      path: at('official'),
      editsPath: at('edits'),
      outputPath: at('patched'),
      scratchDirectory: '/dev/null/scratch',
    };
    const result = await patchFile(job, compileRules(loadedRules()));
    expect(result).toMatchObject({ kind: 'unwritable', errno: 'ENOTDIR' });
    expect(existsSync(at('patched'))).toBe(false);
  });

  it.each([
    ['is full', fullDisk, 'ENOSPC'],
    ['refuses the write', refusedWrite, 'EIO'],
  ])('is not blamed on a database when the disk %s', async (_what, failure, errno) => {
    const patch: PatchContainer = () => {
      throw sqliteError(failure());
    };
    const { result, bytes } = await patchBytes('a.json', JSON_FILE, [edit({})], { patch });
    expect(result).toMatchObject({ kind: 'unwritable', errno });
    expect(bytes).toBeNull();
  });
});

/** A writer whose result is changed before it is written. */
function faulty(change: (bytes: Buffer) => Uint8Array): PatchContainer {
  return function* patch(run, part, tree) {
    yield change(Buffer.concat([...patchContainer(run, part, tree)]));
  };
}

const replaced = (from: string, to: string): PatchContainer =>
  faulty((bytes) => Buffer.from(bytes.toString('latin1').replace(latin(from), latin(to)), 'latin1'));
const latin = (text: string): string => Buffer.from(text).toString('latin1');

/** A writer that takes another container for the official one. */
const misled = (content: Buffer): PatchContainer =>
  function* patch(run, part, tree) {
    yield* patchContainer(run, { ...part, source: bytesSource(content) }, tree);
  };

async function patchFirst(
  destination: string,
  content: Uint8Array,
  patch: PatchContainer,
  rules: TestRules = {},
) {
  const [unit] = await unitsOf(destination, content, rules);
  if (unit === undefined) throw new Error('the container has no unit');
  return await patchBytes(destination, content, [editOf(unit, 'new')], { ...rules, patch });
}

const asset = (name: string): Buffer =>
  writeBundle(
    [
      {
        name: 'CAB-1',
        bytes: writeSerializedFile({
          version: 22,
          objects: [sampleTextAsset(1n, 'n', 'はい'), sampleTextAsset(2n, name, 'plain')],
        }),
      },
    ],
    { compression: 'none' },
  );

/** A bundle of an object to edit, another object and a resource, with values beside their texts. */
const numbered = ({
  edited = 5n,
  untouched = 7n,
  resource = 'images',
}: {
  readonly edited?: bigint;
  readonly untouched?: bigint;
  readonly resource?: string;
}): Buffer => {
  const fields = [leaf('SInt64', 'id'), text('line')];
  const objects = [
    sampleBehaviour(1n, 'first', fields, { id: edited, line: 'はい' }),
    sampleBehaviour(2n, 'second', fields, { id: untouched, line: 'いいえ' }),
  ];
  return writeBundle([
    { name: 'CAB-1', bytes: writeSerializedFile({ version: 22, objects }) },
    { name: 'CAB-1.resS', bytes: Buffer.from(resource), flags: 0 },
  ]);
};

describe('the self-check of a patched container', () => {
  const JSON_FILE = Buffer.from('{"a":"はい","b":"いいえ","n":1}');

  it.each([
    ['an edit is not written', replaced('new', 'はい'), '/a', 'does not read back exactly'],
    ['another text changes', replaced('いいえ', 'いい'), '/b', 'without an edit has changed'],
    ['a value beside the units becomes a text', replaced('"n":1', '"n":"x"'), '/n', 'a text more'],
    ['a text is gone', replaced(',"b":"いいえ"', ''), '/b', 'not found at its place'],
    ['a number changes', replaced('"n":1', '"n":2'), null, 'differs outside of the edits'],
    ['white space changes', replaced('{"a"', '{ "a"'), null, 'differs outside of the edits'],
    ['a mark precedes the text', replaced('{"a"', '\uFEFF{"a"'), null, 'differs outside of the edits'],
    ['the file ends early', faulty((bytes) => bytes.subarray(0, -1)), null, 'cannot be read: '],
    ['the file is empty', faulty(() => Buffer.alloc(0)), null, ''],
  ] as const)('fails when %s', async (_what, patch, fieldPath, message) => {
    const { result, bytes } = await patchFirst('a.json', JSON_FILE, patch);
    expect(result).toMatchObject({
      kind: 'failed',
      code: 'patch_selfcheck_failed',
      archiveEntry: null,
      message: expect.stringContaining(message) as string,
    });
    if (fieldPath !== null) expect(result).toMatchObject({ fieldPath });
    expect(bytes).toBeNull();
  });

  it('fails when an untouched entry of an archive has other bytes with the same content', async () => {
    const files = { 'a.json': JSON_FILE, 'b.bin': Buffer.alloc(400, 1) };
    const content = await zipOf(files);
    // The content of b.bin is the same, but it is another raw entry.
    const other = await zipOf({ ...files, 'b.bin': Buffer.alloc(400, 2) });
    const { result } = await patchFirst('a.zip', content, misled(other));
    expect(result).toMatchObject({
      code: 'patch_selfcheck_failed',
      message: expect.stringContaining('b.bin') as string,
    });
  });

  it.each([
    ['zlib', deflateSync(JSON_FILE), faulty((bytes) => deflateSync(inflateSync(bytes), { windowBits: 9 }))],
    ['gzip', gzipSync(JSON_FILE), faulty((bytes) => bytes.with(9, 99))],
  ] as const)('fails when a compressed file has another header: %s', async (_kind, content, patch) => {
    const { result } = await patchFirst('a.json.z', content, patch);
    const message = expect.stringContaining('the header of the compressed file differs') as string;
    expect(result).toMatchObject({ code: 'patch_selfcheck_failed', message });
  });

  it('fails when an object without an edit has other bytes beside its units', async () => {
    const { result } = await patchFirst('a.bundle', asset('names'), misled(asset('other')));
    const message = 'the bytes of object 2 differ';
    expect(result).toMatchObject({ code: 'patch_selfcheck_failed', message });
  });

  it.each([
    ['a number of an object without an edit', { untouched: 8n }, 'the bytes of object 2 differ'],
    ['a number of an object with an edit', { edited: 6n }, 'object 1'],
    ['a file beside the objects', { resource: 'sounds' }, 'the bytes of the file "CAB-1.resS" differ'],
  ] as const)('fails when %s changes, which no text shows', async (_what, other, message) => {
    const { result, bytes } = await patchFirst('a.bundle', numbered({}), misled(numbered(other)));
    expect(result).toMatchObject({
      code: 'patch_selfcheck_failed',
      message: expect.stringContaining(message) as string,
    });
    expect(bytes).toBeNull();
    expect((await patchFirst('a.bundle', numbered({}), patchContainer)).result).toMatchObject({
      kind: 'patched',
      checked: { untouchedParts: 2 },
    });
  });

  it('fails when a number of a FlatBuffer changes, which no text shows', async () => {
    const rules = {
      configuration: { rules: [{ destination: ['*.bin'], format: 'flatbuffers', schema: '/schema' }] },
      files: new Map([['/schema', SAMPLE_SCHEMA]]),
    };
    const content = sampleBuffer();
    const other = Buffer.from(content);
    const number = other.indexOf(Buffer.from(BigInt64Array.of(2n ** 53n + 1n).buffer));
    other[number]! ^= 2;
    const { result, bytes } = await patchFirst('a.bin', content, misled(other), rules);
    expect(result).toMatchObject({
      code: 'patch_selfcheck_failed',
      message: expect.stringContaining('differs outside of the offsets to edited texts') as string,
    });
    expect(bytes).toBeNull();
    expect((await patchFirst('a.bin', content, patchContainer, rules)).result).toMatchObject({
      kind: 'patched',
    });
  });

  it('fails when the metadata of a bundle changes', async () => {
    const swap = replaced('2022.3.', '2022.2.');
    const { result } = await patchFirst('a.bundle', asset('n'), swap);
    expect(result).toMatchObject({
      code: 'patch_selfcheck_failed',
      message: expect.stringMatching(/headers of the bundles|metadata/) as string,
    });
  });

  it('counts edited units, other units and untouched parts', async () => {
    const { result } = await patchFirst('a.bundle', asset('n'), patchContainer);
    expect(result).toMatchObject({
      kind: 'patched',
      checked: { editedUnits: 1, otherUnits: 1, untouchedParts: 1 },
    });
  });
});
