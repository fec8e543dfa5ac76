import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { writeSqliteTable } from '../../../../../src/cli/dev/demo/sqlite-table.ts';
import { writeBundle } from '../../../../../src/cli/dev/demo/unity/write-bundle.ts';
import { writeSerializedFile } from '../../../../../src/cli/dev/demo/unity/write-serialized-file.ts';
import { sqliteError } from '../../../../../src/daemon/formats/sqlite/sqlite-error.ts';
import type { FrozenEdit } from '../../../../../src/daemon/localized/freeze/frozen-container.ts';
import { patchFile } from '../../../../../src/daemon/localized/patch/patch-file.ts';
import type { PatchContainer } from '../../../../../src/daemon/localized/patch/write/patch-container.ts';
import { compileRules } from '../../../../../src/daemon/parse/rules/compile-rules.ts';
import { editLines } from '../../../../support/frozen-edits.ts';
import { loadedRules } from '../../../../support/parse-bytes.ts';
import { patchBytes } from '../../../../support/patch-bytes.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { sampleTextAsset } from '../../../../support/unity-samples.ts';
import { zipOf } from '../../../../support/zip-of.ts';

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

const JSON_FILE = Buffer.from('{"a":"はい"}');
const bundle = writeBundle([
  {
    name: 'CAB-1',
    bytes: writeSerializedFile({
      version: 22,
      objects: [sampleTextAsset(1n, 'n', '{"a":"はい","zip":"PK"}'), sampleTextAsset(2n, 'm', 'はい')],
    }),
  },
]);
const archive = await zipOf({ 'in/a.json': JSON_FILE, 'in/a.bundle': bundle });
const M_SCRIPT = { pathId: '1', fieldPath: 'm_Script#/a' };

describe('an edit that cannot be made', () => {
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
