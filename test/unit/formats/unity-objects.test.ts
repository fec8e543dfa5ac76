import process from 'node:process';
import { describe, expect, it } from 'vitest';
import { stringTable } from '../../../demo/game/unity/string-table.ts';
import {
  leaf,
  list,
  FIRST_REGISTRY_TYPE,
  object,
  REGISTRY_TYPE,
  text,
  typelessData,
  type UnityType,
  type UnityValue,
} from '../../../demo/game/unity/unity-type.ts';
import { writeBundle } from '../../../demo/game/unity/write-bundle.ts';
import { writeSerializedFile, type UnityObject } from '../../../demo/game/unity/write-serialized-file.ts';
import { createRandom, type Random } from '../../../demo/game/seeded-random.ts';
import { bytesSource } from '../../../src/formats/byte-source.ts';
import { FormatError } from '../../../src/formats/format-error.ts';
import { readObjectName } from '../../../src/formats/unity/read-object-name.ts';
import { openSerializedFile, type SerializedFile } from '../../../src/formats/unity/serialized-file.ts';
import { readTypeTreeFile } from '../../../src/formats/unity/type-tree-file.ts';
import { readObjectBytes, textBytes, visitObject } from '../../../src/formats/unity/visit-object.ts';
import { READ_LIMITS, visitorOf } from '../../../src/formats/value-visitor.ts';
import { campaignSize } from '../../support/long.ts';
import {
  managedReference,
  referenceCorpus,
  REFERENCE_TYPES,
  TERMINUS,
} from '../../support/managed-references.ts';
import { patchUnityFile } from '../../support/patch-unity.ts';
import {
  DIALOG_FIELDS,
  DIALOG_VALUE,
  LARGE_PATH_ID,
  sampleBehaviour,
  sampleObjects,
  sampleScript,
  sampleTextAsset,
} from '../../support/unity-samples.ts';
import { formatErrorOf } from '../../support/value-recorder.ts';
import { textsOfBundle, textsOfFile, type UnityTextsOptions } from '../../support/unity-texts.ts';

function write(objects: readonly UnityObject[], typeTrees = true): Buffer {
  return writeSerializedFile({ version: 22, objects, typeTrees });
}

function open(bytes: Buffer): SerializedFile {
  return openSerializedFile(bytesSource(bytes), { limits: READ_LIMITS });
}

/** The bytes of the object with the index, to be changed in place. */
function objectBytes(bytes: Buffer, index = 0): Buffer {
  const { offset = 0, size = 0 } = open(bytes).objects[index] ?? {};
  return bytes.subarray(offset, offset + size);
}

describe('the objects of Unity', () => {
  describe('visitObject', () => {
    it('reports integers exactly, and no array of numbers', () => {
      const { integers, errors } = textsOfFile(
        write([sampleBehaviour(1n, 'a', DIALOG_FIELDS, DIALOG_VALUE)]),
      );
      expect(errors).toEqual([]);
      expect(integers).toEqual([
        { path: 'm_GameObject.m_FileID', value: 0 },
        { path: 'm_GameObject.m_PathID', value: 0 },
        { path: 'm_Enabled', value: 1 },
        { path: 'm_Script.m_FileID', value: 1 },
        { path: 'm_Script.m_PathID', value: 7 },
        { path: 'weight', value: 65_535 },
        { path: 'id', value: -9_223_372_036_854_775_808n },
        { path: 'mask', value: 18_446_744_073_709_551_615n },
        { path: 'lines[0].Id', value: 9_007_199_254_740_993n },
        { path: 'lines[1].Id', value: 2 },
      ]);
    });

    it('reports every kind of integer', () => {
      const kinds = [
        ['SInt8', -128],
        ['UInt8', 255],
        ['SInt16', -32_768],
        ['UInt16', 65_535],
        ['int', -2_147_483_648],
        ['unsigned int', 4_294_967_295],
        ['SInt64', -9_007_199_254_740_991],
        ['UInt64', 9_007_199_254_740_991],
      ] as const;
      for (const littleEndian of [true, false]) {
        const fields = kinds.map(([type]) => leaf(type, type, true));
        const value = sampleBehaviour(1n, 'a', fields, Object.fromEntries(kinds));
        const { integers } = textsOfFile(
          writeSerializedFile({ version: 22, littleEndian, objects: [value] }),
        );
        expect(integers.slice(5).map((each) => [each.path, each.value])).toEqual(kinds);
      }
    });

    it.each([true, false])('gives the bytes of each text, little-endian: %s', (littleEndian) => {
      const bytes = writeSerializedFile({ version: 21, littleEndian, objects: sampleObjects() });
      const file = open(bytes);
      const { texts } = textsOfFile(bytes);
      expect(texts.length).toBeGreaterThan(15);
      for (const { pathId, start, end, text: value } of texts) {
        const found = file.objects.find((each) => each.pathId === pathId);
        if (found === undefined) throw new Error('no object');
        const whole = readObjectBytes(file, found);
        const content = textBytes(file, whole, start);
        expect(content.toString()).toBe(value);
        // The length, the bytes and the padding.
        expect(end - start).toBe(4 + Math.ceil(content.length / 4) * 4);
      }
    });

    it('reads string tables of Unity Localization with their empty registry', () => {
      const rows = Array.from({ length: 50 }, (_, row) => ({
        id: 9_007_199_254_740_993n + BigInt(row),
        text: `文${row}`,
      }));
      const { texts, integers, errors } = textsOfFile(
        write([stringTable('UI_ja', 'ja', LARGE_PATH_ID, rows)]),
      );
      expect(errors).toEqual([]);
      expect(texts.map((each) => [each.path, each.text])).toEqual([
        ['m_Name', 'UI_ja'],
        ['m_LocaleId.m_Code', 'ja'],
        ...rows.map((row, index) => [`m_TableData[${index}].m_Localized`, row.text]),
      ]);
      expect(integers.filter(({ path }) => path.endsWith('.m_Id')).map(({ value }) => BigInt(value))).toEqual(
        rows.map(({ id }) => id),
      );
    });

    describe('managed references', () => {
      const comment = object('Comment', 'Base', [text('m_CommentText')]);
      const unknown = managedReference(7n, 'Hidden', Buffer.from('\x05\0\0\0proof\0\0\0', 'latin1'), 'Game');
      const known = managedReference(6n, 'Comment', { m_CommentText: '一言' });
      const behaviour = (references: readonly UnityValue[], fields: readonly UnityType[] = []): UnityObject =>
        sampleBehaviour(1n, 'a', [text('text'), REGISTRY_TYPE, ...fields], {
          text: 'x',
          references: { version: 2, RefIds: references },
          behind: 'y',
        });
      const writeReferences = (own: UnityObject): Buffer =>
        writeSerializedFile({
          version: 22,
          objects: [own, sampleTextAsset(2n, 'other', 'kept')],
          referenceTypes: [comment],
        });
      const pathsOf = (bytes: Buffer, options: UnityTextsOptions = {}): (readonly [string, string])[] =>
        textsOfFile(bytes, options).texts.map((each) => [each.path, each.text]);
      const KEPT = [
        ['m_Name', 'other'],
        ['m_Script', 'kept'],
      ] as const;
      const READ = [
        ['m_Name', 'a'],
        ['text', 'x'],
        ['references.RefIds[6].data.m_CommentText', '一言'],
      ] as const;

      it('are read up to the first class that nothing describes, and all in front of them', () => {
        const bytes = writeReferences(behaviour([known, unknown, known]));
        expect(pathsOf(bytes)).toEqual([...READ, ...KEPT]);
        const [error] = textsOfFile(bytes).errors;
        expect(error?.code).toBe('typetree_managed_reference_unsupported');
        expect(error?.message).toContain('the managed reference 7 of the class Demo.Hidden in Game');
      });

      it('keep their bytes when a text in front of them changes', () => {
        for (const version of [1, 2] as const) {
          const registry = version === 1 ? FIRST_REGISTRY_TYPE : REGISTRY_TYPE;
          const references =
            version === 1 ? { version, '00000000': [unknown, TERMINUS] } : { version, RefIds: [unknown] };
          const own = sampleBehaviour(1n, 'a', [text('text'), registry], { text: 'x', references });
          const before = writeReferences(own);
          const edit = { fieldPath: 'text', source: 'x', target: 'much longer' };
          const after = patchUnityFile(before, new Map([[1n, [edit]]]));
          const registryOf = (bytes: Buffer): Buffer => {
            const whole = objectBytes(bytes);
            return whole.subarray(whole.indexOf(Buffer.from([version, 0, 0, 0, version === 1 ? 6 : 1])));
          };
          expect(registryOf(after).includes('proof')).toBe(true);
          expect(registryOf(after)).toEqual(registryOf(before));
          expect(pathsOf(after)).toContainEqual(['text', 'much longer']);
        }
      });

      it('of unknown classes cost their object where fields follow them, and nothing else', () => {
        const bytes = writeReferences(behaviour([known, unknown], [text('behind')]));
        expect(pathsOf(bytes)).toEqual(KEPT);
        expect(textsOfFile(bytes).errors.map(({ code }) => code)).toEqual([
          'typetree_managed_reference_unsupported',
        ]);
        const whole = writeReferences(behaviour([known], [text('behind')]));
        expect(pathsOf(whole)).toEqual([...READ, ['behind', 'y'], ...KEPT]);
      });

      it('take the type trees of their classes from a configured file', () => {
        const nodes = [
          { m_Level: 0, m_Type: 'Hidden', m_Name: 'Base' },
          { m_Level: 1, m_Type: 'string', m_Name: 'secret' },
        ];
        const trees = { typeTrees: [{ className: 'Demo.Hidden', nodes }] };
        const typeTreeOf = readTypeTreeFile(JSON.stringify(trees), 64);
        const bytes = writeReferences(behaviour([known, unknown], [text('behind')]));
        expect(pathsOf(bytes, { typeTreeOf })).toContainEqual(['references.RefIds[7].data.secret', 'proof']);
      });

      it('take the type tree of the class in their assembly', () => {
        const nodes = (name: string) => [
          { m_Level: 0, m_Type: 'Hidden', m_Name: 'Base' },
          { m_Level: 1, m_Type: 'string', m_Name: name },
        ];
        const bytes = writeReferences(behaviour([known, unknown], [text('behind')]));
        const found = (trees: Readonly<Record<string, unknown>>) =>
          pathsOf(bytes, { typeTreeOf: readTypeTreeFile(JSON.stringify(trees), 64) }).map(([path]) => path);
        const own = { 'Demo.Hidden': nodes('secret') };
        const other = { 'Demo.Hidden': nodes('other') };
        for (const trees of [
          { Other: other, Game: own },
          { 'Game.dll': own, 'Other.dll': other },
          { Core: own, Other: own },
        ]) {
          expect(found(trees)).toContain('references.RefIds[7].data.secret');
        }
        // Nothing says which of these is the class of the object.
        expect(found({ Core: own, Other: other }).join()).not.toContain('RefIds[7]');
        const typeTreeOf = readTypeTreeFile(JSON.stringify({ Core: own, Other: other }), 64);
        const query = { classId: 114, scriptHash: null, className: 'Demo.Hidden', assembly: null };
        expect(() => typeTreeOf(query)).toThrow('of Core, Other; name the right one');
        expect(formatErrorOf(() => typeTreeOf(query))?.code).toBe('typetree_missing');
      });

      it('have no fields where they refer to nothing', () => {
        const bytes = writeReferences(
          behaviour([managedReference(-2n, '', {}), managedReference(-1n, 'Gone', {}), known]),
        );
        expect(textsOfFile(bytes).errors).toEqual([]);
        expect(pathsOf(bytes)).toEqual([...READ, ...KEPT]);
      });

      it('are refused in a registry of an unknown version, without its end, or of a size that is not true', () => {
        const starts = writeReferences(behaviour([]));
        const at = objectBytes(starts).length - 8;
        for (const [version, count, code] of [
          [-1, 0, 'typetree_managed_reference_unsupported'],
          [1000, 0, 'typetree_managed_reference_unsupported'],
          [1, 0, 'typetree_size_mismatch'],
          [2, -1, 'typetree_size_mismatch'],
          [2, 1, 'typetree_size_mismatch'],
        ] as const) {
          const bytes = Buffer.from(starts);
          objectBytes(bytes).writeInt32LE(version, at);
          objectBytes(bytes).writeInt32LE(count, at + 4);
          expect(textsOfFile(bytes).errors.map((error) => error.code)).toEqual([code]);
          expect(pathsOf(bytes)).toEqual(KEPT);
        }
        // A later version may be unknown, but it is still the rest of the object.
        const later = Buffer.from(starts);
        objectBytes(later).writeInt32LE(3, at);
        expect(textsOfFile(later).errors.map((error) => error.code)).toEqual([
          'typetree_managed_reference_unsupported',
        ]);
        expect(pathsOf(later)).toEqual([...READ.slice(0, 2), ...KEPT]);
        const file = open(writeReferences(behaviour([known, known])));
        const [first] = file.objects;
        if (first === undefined) throw new Error('no object');
        expect(() => visitObject(file, first, visitorOf({}), { ...READ_LIMITS, elements: 1 })).toThrow(
          expect.objectContaining({ code: 'container_limit_exceeded' }),
        );
      });

      it('have ids of eight bytes where a type tree describes no more of them', () => {
        const own = sampleBehaviour(1n, 'a', [leaf('managedReference', 'first'), text('title')], {
          first: 5n,
          title: 'behind the id',
        });
        expect(pathsOf(write([own]))).toEqual([
          ['m_Name', 'a'],
          ['title', 'behind the id'],
        ]);
      });
    });

    it('refuses an object that the type tree does not consume exactly', () => {
      const bytes = write([sampleTextAsset(1n, 'one', 'text'), sampleTextAsset(2n, 'two', 'kept')]);
      const [first] = open(bytes).objects;
      if (first === undefined) throw new Error('no object');
      for (const size of [first.size + 4, first.size - 4, 8, 0]) {
        bytes.writeUInt32LE(size, first.entryOffset + 16);
        const { texts, errors } = textsOfFile(bytes);
        expect(errors.map(({ code }) => code)).toEqual(['typetree_size_mismatch']);
        expect(texts.map(({ name }) => name)).toEqual(['two', 'two']);
      }
    });

    it.each([-1, 0x7fff_ffff, 13])('refuses a string that claims %d bytes', (length) => {
      const bytes = write([sampleTextAsset(1n, 'one', 'text')]);
      objectBytes(bytes).writeInt32LE(length, 8);
      expect(textsOfFile(bytes).errors).toEqual([
        expect.objectContaining({ code: 'typetree_size_mismatch', offset: 8 }),
      ]);
    });

    it.each([-1, 0x7fff_ffff, 100])('refuses arrays that claim %d elements', (count) => {
      for (const [field, value] of [
        [list('all', text('data')), []],
        [list('all', leaf('double', 'data')), []],
        [list('all', list('data', leaf('int', 'data'))), []],
        [typelessData('all'), new Uint8Array()],
      ] as const) {
        const bytes = write([sampleBehaviour(1n, 'a', [field], { all: value })]);
        objectBytes(bytes).writeInt32LE(count, objectBytes(bytes).length - 4);
        expect(textsOfFile(bytes).errors.map(({ code }) => code)).toEqual(['typetree_size_mismatch']);
      }
    });

    it('skips any number of elements without bytes in no time', () => {
      for (const isAligned of [true, false]) {
        const element = { ...object('Nothing', 'data', []), aligned: isAligned };
        const bytes = write([sampleBehaviour(1n, 'a', [list('all', element)], { all: [] })]);
        objectBytes(bytes).writeInt32LE(0x7fff_ffff, objectBytes(bytes).length - 4);
        expect(textsOfFile(bytes).errors).toEqual([]);
      }
    });

    it('reads 1,000,000 elements, and refuses one more', () => {
      const numbers = new Uint8Array(1_000_001);
      const field = [list('numbers', leaf('UInt8', 'data')), list('texts', text('data'))];
      const bytes = write([
        sampleBehaviour(1n, 'a', field, { numbers, texts: Array.from({ length: 1_000_000 }, () => '') }),
      ]);
      const found = textsOfFile(bytes);
      expect(found.errors).toEqual([]);
      expect(found.texts.length).toBe(1_000_001);
      const { errors } = textsOfFile(bytes, { limits: { elements: 999_999 } });
      expect(errors.map(({ code }) => code)).toEqual(['container_limit_exceeded']);
    });

    it('refuses a string beyond the limit', () => {
      const bytes = write([sampleTextAsset(1n, 'n', 'x'.repeat(100))]);
      const { texts, errors } = textsOfFile(bytes, { limits: { stringBytes: 99 } });
      expect(texts).toEqual([]);
      expect(errors).toEqual([expect.objectContaining({ code: 'field_too_large', offset: 8 })]);
      expect(textsOfFile(bytes, { limits: { stringBytes: 100 } }).errors).toEqual([]);
    });

    it('keeps the bytes of a text that is not valid UTF-8', () => {
      const script = Buffer.from([0x8b, 0xff, 0x00, 0x41]);
      const bytes = write([sampleTextAsset(1n, 'binary', script)]);
      const file = open(bytes);
      const found = textsOfFile(bytes).texts.find(({ path }) => path === 'm_Script');
      const [first] = file.objects;
      if (first === undefined || found === undefined) throw new Error('no text');
      expect(found.text).toContain('\uFFFD');
      expect(textBytes(file, readObjectBytes(file, first), found.start)).toEqual(script);
    });

    it('refuses an array without elements in the type tree', () => {
      const broken = object('vector', 'all', [object('Array', 'Array', [leaf('int', 'size')])]);
      const type = object('Thing', 'Base', [broken]);
      const bytes = write([{ pathId: 1n, classId: 28, type, value: { all: { size: 0 } } }]);
      expect(textsOfFile(bytes).errors.map(({ code }) => code)).toEqual(['typetree_invalid']);
    });

    it('passes an error of the visitor through', () => {
      const file = open(write([sampleTextAsset(1n, 'n', 't')]));
      const [first] = file.objects;
      if (first === undefined) throw new Error('no object');
      const fail = (): never => {
        throw new RangeError('from the visitor');
      };
      const nothing = (): void => undefined;
      const visitor = {
        beginObject: nothing,
        endObject: nothing,
        beginArray: nothing,
        endArray: nothing,
        field: nothing,
        element: nothing,
        text: fail,
        bytes: nothing,
        integer: nothing,
        label: nothing,
        other: nothing,
      };
      expect(() => visitObject(file, first, visitor, READ_LIMITS)).toThrow('from the visitor');
    });
  });

  describe('a file without type trees', () => {
    const script = { m_FileID: 0, m_PathID: 3n };
    const objects = [
      sampleTextAsset(1n, 'story', '物語'),
      sampleBehaviour(2n, 'Greeting', [text('line')], { line: 'やあ' }, script),
      sampleScript(3n, 'Game.Text', 'Dialog'),
    ];
    const bytes = write(objects, false);
    const nodes = [
      { m_Level: 0, m_Type: 'MonoBehaviour', m_Name: 'Base' },
      { m_Level: 1, m_Type: 'PPtr<GameObject>', m_Name: 'm_GameObject' },
      { m_Level: 2, m_Type: 'int', m_Name: 'm_FileID' },
      { m_Level: 2, m_Type: 'SInt64', m_Name: 'm_PathID' },
      { m_Level: 1, m_Type: 'UInt8', m_Name: 'm_Enabled', m_MetaFlag: 0x4101 },
      { m_Level: 1, m_Type: 'PPtr<MonoScript>', m_Name: 'm_Script' },
      { m_Level: 2, m_Type: 'int', m_Name: 'm_FileID' },
      { m_Level: 2, m_Type: 'SInt64', m_Name: 'm_PathID' },
      { m_Level: 1, m_Type: 'string', m_Name: 'm_Name' },
      { m_Level: 1, m_Type: 'string', m_Name: 'line' },
    ];

    it('still gives the text of TextAssets, and says which type trees are missing', () => {
      const { texts, errors } = textsOfFile(bytes);
      expect(texts.map((each) => [each.path, each.text])).toEqual([
        ['m_Name', 'story'],
        ['m_Script', '物語'],
      ]);
      expect(errors.map(({ code, message }) => [code, message])).toEqual([
        [
          'typetree_missing',
          `there is no type tree for class 114 (Game.Text.Dialog, script ${'01'.repeat(16)})`,
        ],
        ['typetree_missing', 'there is no type tree for class 115'],
      ]);
    });

    it.each([{ className: 'Game.Text.Dialog' }, { scriptHash: '01'.repeat(16) }, { classId: 114 }])(
      'takes the type tree of %j from a configured file',
      (name) => {
        const typeTreeOf = readTypeTreeFile(JSON.stringify({ typeTrees: [{ ...name, nodes }] }), 64);
        const { texts } = textsOfFile(bytes, { typeTreeOf });
        expect(texts.map((each) => [each.name, each.path, each.text])).toContainEqual([
          'Greeting',
          'line',
          'やあ',
        ]);
      },
    );

    it.each([{ 'Game.Text.Dialog': nodes }, { 'Assembly-CSharp': { 'Game.Text.Dialog': nodes } }])(
      'takes the type trees as generators write them: %#',
      (generated) => {
        const { texts } = textsOfFile(bytes, { typeTreeOf: readTypeTreeFile(JSON.stringify(generated), 64) });
        expect(texts.map(({ path }) => path)).toContain('line');
      },
    );

    it('says where the name of a class is, if it is in another file', () => {
      const elsewhere = sampleBehaviour(2n, 'Greeting', [text('line')], { line: 'やあ' });
      const stripped = writeSerializedFile({
        version: 22,
        objects: [elsewhere],
        typeTrees: false,
        externals: ['globalgamemanagers.assets'],
      });
      expect(textsOfFile(stripped).errors.map(({ message }) => message)).toEqual([
        `there is no type tree for class 114 (object 7 of globalgamemanagers.assets, script ${'01'.repeat(16)})`,
      ]);
    });

    it('says what is wrong with a configured file', () => {
      const read = (text: string) => () => readTypeTreeFile(text, 8);
      const entry = { classId: 1, nodes };
      const deep = Array.from({ length: 10 }, (_, level) => ({ m_Level: level, m_Type: 'A', m_Name: 'a' }));
      const neither = 'it is neither a class with a list of nodes nor typeTrees, the list of type trees';
      for (const [content, problem] of [
        [{}, 'typeTrees: it is not a list'],
        [
          { typeTrees: [{ nodes }] },
          'typeTrees.0: exactly one of classId, scriptHash and className is required',
        ],
        [
          { typeTrees: [{ ...entry, className: 'A' }] },
          'typeTrees.0: exactly one of classId, scriptHash and className is required',
        ],
        [
          { typeTrees: [{ scriptHash: 'xyz', nodes }] },
          'typeTrees.0.scriptHash: it is not 32 hexadecimal digits',
        ],
        [{ typeTrees: [{ className: '', nodes }] }, 'typeTrees.0.className: it must not be empty'],
        [{ typeTrees: [{ className: 1, nodes }] }, 'typeTrees.0.className: it is not a string'],
        [{ typeTrees: [{ classId: '1', nodes }] }, 'typeTrees.0.classId: it is not an integer'],
        [{ typeTrees: [{ ...entry, other: 1 }] }, 'typeTrees.0.other: there is no such field'],
        [{ typeTrees: [entry], Dialog: nodes }, 'Dialog: there is no such field'],
        [{ type_trees: [entry] }, `type_trees: ${neither}`],
        [{ typeTree: [] }, `typeTree: ${neither}`],
        [{ version: 1 }, `version: ${neither}`],
        [{ Core: { Dialog: [] } }, 'Core.Dialog: it is not a list of nodes'],
        [{ Core: {} }, 'Core: the assembly has no class'],
        [{ '': nodes }, 'the name of a class: it must not be empty'],
        [{ Core: { '': nodes } }, 'the name of a class: it must not be empty'],
        [{ '': { Dialog: nodes } }, 'the name of an assembly: it must not be empty'],
        [
          { Dialog: nodes, Core: { Dialog: nodes } },
          'Dialog: it is a class beside an assembly; a file has only one of both',
        ],
        [{ Core: { Dialog: [{ m_Level: 0, m_Type: 'A' }] } }, 'Core.Dialog.0.m_Name: it is not a string'],
        [{ Dialog: [{ ...nodes[0], m_ByteSize: 0.5 }] }, 'Dialog.0.m_ByteSize: it is not an integer'],
        [
          { Dialog: [nodes[0], { ...nodes[1], m_Level: -1 }] },
          'Dialog.1.m_Level: it is not an integer from 0',
        ],
      ] as const) {
        const message = `the type tree file is wrong: ${problem}`;
        expect(read(JSON.stringify(content))).toThrow(
          expect.objectContaining({ code: 'schema_invalid', message }),
        );
      }
      for (const [content, message] of [
        [{ typeTrees: [entry, entry] }, 'typeTrees.1 is a second tree for number 1'],
        [
          { typeTrees: [{ classId: 1, nodes: nodes.slice(1) }] },
          'typeTrees.0: type tree node 0 of level 1 has no parent',
        ],
        [
          { typeTrees: [{ classId: 1, nodes: deep }] },
          'typeTrees.0: type tree node 9 is deeper than 8 levels',
        ],
        [{ Dialog: deep }, 'typeTrees.0: type tree node 9 is deeper than 8 levels'],
      ] as const) {
        expect(read(JSON.stringify(content))).toThrow(
          expect.objectContaining({ code: 'schema_invalid', message }),
        );
      }
      expect(read('{')).toThrow('the type tree file is not JSON: ');
    });
  });

  describe('readObjectName', () => {
    it.each([true, false])('reads names and scripts, with type trees: %s', (typeTrees) => {
      const objects = [
        ...sampleObjects(),
        sampleBehaviour(9n, 'Local', [text('line')], { line: '' }, { m_FileID: 0, m_PathID: 3n }),
      ];
      const bytes = writeSerializedFile({ version: 20, objects, typeTrees, externals: ['archive:/scripts'] });
      const file = open(bytes);
      expect(file.objects.map((each) => readObjectName(file, each))).toEqual([
        {
          name: 'Dialog',
          script: { hash: '10'.repeat(16), file: 'archive:/scripts', pathId: 7n, className: null },
        },
        { name: 'story', script: null },
        { name: typeTrees ? 'Dialog' : null, script: null },
        {
          name: 'Table_ja',
          script: {
            hash: '8d1f2b0c64f04b4f9a8e35d7c2e60117',
            file: 'archive:/scripts',
            pathId: 11_500_000n,
            className: null,
          },
        },
        {
          name: 'Local',
          script: { hash: '01'.repeat(16), file: null, pathId: 3n, className: 'Game.Text.Dialog' },
        },
      ]);
    });

    it('reads only the beginning of a large object', () => {
      const bytes = write([sampleTextAsset(1n, 'large', 'x'.repeat(1_000_000))]);
      let read = 0;
      const source = bytesSource(bytes);
      const counting = {
        size: source.size,
        read: (offset: number, length: number) => {
          read += length;
          return source.read(offset, length);
        },
      };
      const file = openSerializedFile(counting, { limits: READ_LIMITS });
      const [first] = file.objects;
      if (first === undefined) throw new Error('no object');
      expect(readObjectName(file, first).name).toBe('large');
      expect(read).toBeLessThan(50_000);
    });

    it('finds a name behind a large field', () => {
      const type = object('Thing', 'Base', [typelessData('raw'), text('m_Name')]);
      const value = { raw: new Uint8Array(100_000), m_Name: 'behind' };
      const file = open(write([{ pathId: 1n, classId: 28, type, value }]));
      const [first] = file.objects;
      if (first === undefined) throw new Error('no object');
      expect(readObjectName(file, first).name).toBe('behind');
    });
  });
});

const SEED = Number(process.env['FUZZ_SEED'] ?? '14');
const MUTATIONS = campaignSize(400, 40_000);
/** Far above what any of these small inputs needs, even on a busy machine. */
const DEADLINE_MS = 5000;

const MANY = [
  ...sampleObjects(),
  ...Array.from({ length: 20 }, (_, index) =>
    sampleBehaviour(BigInt(100 + index), `Dialog${index}`, DIALOG_FIELDS, DIALOG_VALUE),
  ),
];
const FILES = [17, 20, 22].map((version) =>
  writeSerializedFile({ version, objects: MANY, littleEndian: version !== 20 }),
);
const REFERENCES = ([1, 2] as const).map((registry) => {
  const objects = referenceCorpus(registry, 6, registry);
  return writeSerializedFile({ version: 22, objects, referenceTypes: REFERENCE_TYPES });
});
const BUNDLES = (['none', 'lz4', 'lzma'] as const).flatMap((compression, index) =>
  [true, false].map((infoAtEnd) =>
    writeBundle(
      FILES.map((bytes, number) => ({ name: `CAB-${number}`, bytes })),
      { compression, infoAtEnd, version: 6 + index, paddedStart: index === 1, blockBytes: 2048 },
    ),
  ),
);

/** Reads a damaged input: the number of texts, or `null` when it is refused. Any other error than a FormatError fails. */
function tryRead(read: () => { readonly texts: readonly unknown[] }): number | null {
  const started = performance.now();
  try {
    return read().texts.length;
  } catch (error) {
    if (error instanceof FormatError) return null;
    throw error;
  } finally {
    expect(performance.now() - started).toBeLessThan(DEADLINE_MS);
  }
}

/** Changes some bytes, mostly to values that lie about sizes. */
function mutate(bytes: Buffer, random: Random): Buffer {
  const copy = Buffer.from(bytes);
  for (let changes = 1 + random.below(4); changes > 0; changes -= 1) {
    const at = random.below(copy.length - 8);
    const kind = random.below(5);
    if (kind === 0) copy[at] = random.below(256);
    else if (kind === 1) copy[at] = (copy[at] ?? 0) ^ (1 << random.below(8));
    else if (kind === 2) copy.writeInt32LE(random.pick([-1, 0, 0x7fff_ffff, -0x8000_0000, 0x0100_0000]), at);
    else if (kind === 3) copy.writeInt32BE(random.pick([-1, 0, 0x7fff_ffff, 1, 0x00ff_ffff]), at);
    else copy.copyWithin(at, random.below(copy.length), at + random.below(64));
  }
  return copy;
}

describe('hostile files of Unity', () => {
  describe('a truncated input', () => {
    it('is refused as a bundle at every 64th byte', () => {
      for (const bundle of BUNDLES) {
        for (let size = 0; size < bundle.length; size += 64) {
          expect(tryRead(() => textsOfBundle(bundle.subarray(0, size)))).toBe(null);
        }
      }
    });

    it('is refused as a serialized file at every 64th byte', () => {
      for (const file of FILES) {
        for (let size = 0; size < file.length; size += 64) {
          expect(tryRead(() => textsOfFile(file.subarray(0, size)))).toBe(null);
        }
      }
    });
  });

  it('with managed references are read or refused at every mutation and cut', () => {
    const random = createRandom(SEED);
    const whole = REFERENCES.map((bytes) => textsOfFile(bytes).texts.length);
    let reduced = 0;
    for (let round = 0; round < campaignSize(2000, 40_000); round += 1) {
      const bytes = mutate(REFERENCES[round % 2] ?? Buffer.alloc(0), random);
      const count = tryRead(() => textsOfFile(bytes));
      if (count !== null && count < (whole[round % 2] ?? 0)) reduced += 1;
    }
    expect(reduced).toBeGreaterThan(100);
    for (const bytes of REFERENCES) {
      for (let size = 0; size < bytes.length; size += 8) {
        expect(tryRead(() => textsOfFile(bytes.subarray(0, size)))).toBe(null);
      }
    }
  });

  describe('a mutated input', () => {
    it('is read or refused, without another error, a hang or much memory', () => {
      const random = createRandom(SEED);
      const whole = textsOfFile(FILES[0] ?? Buffer.alloc(0)).texts.length;
      const before = process.memoryUsage.rss();
      let [refused, reduced] = [0, 0];
      for (let round = 0; round < MUTATIONS; round += 1) {
        const isBundle = random.below(2) === 0;
        const bytes = mutate(random.pick(isBundle ? BUNDLES : FILES), random);
        const count = tryRead(() => (isBundle ? textsOfBundle(bytes) : textsOfFile(bytes)));
        if (count === null) refused += 1;
        else if (count < (isBundle ? 3 * whole : whole)) reduced += 1;
      }
      // Both kinds of damage occur often, or the mutations would prove nothing.
      expect(refused).toBeGreaterThan(MUTATIONS / 20);
      expect(reduced).toBeGreaterThan(MUTATIONS / 20);
      expect(process.memoryUsage.rss() - before).toBeLessThan(512 * 1024 * 1024);
    });
  });
});
