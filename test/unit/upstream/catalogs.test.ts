import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { memoryPack } from '../../../demo/game/catalogs/memory-pack-writer.ts';
import {
  bundlePackingInfoReader,
  mediaCatalogReader,
  tableCatalogReader,
} from '../../../src/upstream/catalog-readers/known-readers.ts';
import type { CatalogFile, CatalogReader } from '../../../src/upstream/catalog-readers/catalog-reader.ts';
import { JsonMemberError } from '../../../src/platform/json/json-byte-source.ts';
import { readJsonMembers, type JsonMember } from '../../../src/platform/json/json-members.ts';
import { UpstreamError } from '../../../src/upstream/upstream.ts';
import { collect } from '../../support/collect.ts';
import {
  bundlePackingInfo,
  mediaCatalog,
  tableBundle,
  tableCatalog,
  type StatedFile,
  type StatedPack,
} from '../../support/game-catalogs.ts';
import { upstreamErrorOf } from '../../support/upstream-harness.ts';

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

describe('readJsonMembers', () => {
  async function read(text: string | Buffer, size = 7, maxValueBytes = 1000): Promise<JsonMember[]> {
    const rules = { containers: new Set(['list', 'map']), maxValueBytes };
    const batches = await collect(readJsonMembers(pieces(Buffer.from(text as string), size), rules));
    return batches.flat();
  }

  test('returns members and elements in document order', async () => {
    const text =
      '\ufeff {"a": 1, "list": [ {"x":"]}\\""} , 2,"t" ], "map" : {"k":[1,{}],"l":null}, "b":true } \n';
    expect(await read(text, 1)).toEqual([
      { kind: 'value', key: 'a', value: 1 },
      { kind: 'element', container: 'list', name: null, value: { x: ']}"' } },
      { kind: 'element', container: 'list', name: null, value: 2 },
      { kind: 'element', container: 'list', name: null, value: 't' },
      { kind: 'element', container: 'map', name: 'k', value: [1, {}] },
      { kind: 'element', container: 'map', name: 'l', value: null },
      { kind: 'value', key: 'b', value: true },
    ]);
  });

  test('reads empty containers and an empty document', async () => {
    expect(await read('{"list":[],"map":{}}')).toEqual([]);
    expect(await read('{}')).toEqual([]);
  });

  test('agrees with JSON.parse for any document and any chunking', async () => {
    const property = fc.asyncProperty(
      fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })),
      fc.array(fc.jsonValue({ maxDepth: 4 })),
      fc.integer({ min: 1, max: 40 }),
      fc.constantFrom(0, 1, 3),
      async (others, list, size, indent) => {
        const document = JSON.parse(JSON.stringify({ ...others, list })) as Record<string, unknown>;
        delete document['map'];
        // A map, because a member may be called "__proto__".
        const elements: unknown[] = [];
        const rebuilt = new Map<string, unknown>([['list', elements]]);
        for (const member of await read(JSON.stringify(document, null, indent), size, 100_000)) {
          if (member.kind === 'value') rebuilt.set(member.key, member.value);
          else elements.push(member.value);
        }
        expect(rebuilt).toEqual(new Map(Object.entries(document)));
      },
    );
    await fc.assert(property, { numRuns: 300 });
  });

  test.each([
    ['[]', 'must be a JSON object'],
    ['', 'ends too early'],
    ['{"a":1', 'ends too early'],
    ['{"list":[1', 'ends too early'],
    ['{"list":[1,', 'ends too early'],
    ['{"list":7}', 'must be an array or an object'],
    ['{"a":1,"a":2}', 'appears twice'],
    ['{"a":1}x', 'text after the document'],
    ['{"a":1,}', 'member name'],
    ['{"list":[1,]}', 'not valid JSON'],
    ['{"list":[1 2]}', '"," or the end'],
    ['{"list":[{]}}', '"," or the end'],
    ['{"a" 1}', '":" was expected'],
    ['{a:1}', 'member name'],
    [`{"a":${'['.repeat(80)}}`, 'nested deeper'],
    [`{"a":"${'x'.repeat(2000)}"}`, 'longer than'],
  ])('refuses %j', async (text, message) => {
    await expect(read(text)).rejects.toThrow(JsonMemberError);
    await expect(read(text)).rejects.toThrow(message);
  });

  test('distinguishes a truncated document from an invalid one', async () => {
    await expect(read('{"list":[1,')).rejects.toMatchObject({ truncated: true });
    await expect(read('{"list":[1,]}')).rejects.toMatchObject({ truncated: false });
  });

  test('refuses bytes that are not UTF-8', async () => {
    const bytes = Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d]);
    await expect(read(bytes)).rejects.toThrow('not valid UTF-8');
  });

  test('reads no further than its consumer, and closes its source', async () => {
    let taken = 0;
    let closed = false;
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        yield Buffer.from('{"list":[0');
        for (;;) {
          taken += 1;
          yield Buffer.from(',1');
        }
      } finally {
        closed = true;
      }
    }
    const members = readJsonMembers(endless(), { containers: new Set(['list']), maxValueBytes: 100 });
    for (let i = 0; i < 5; i += 1) await members.next();
    await members.return();
    expect(taken).toBeLessThan(10);
    expect(closed).toBe(true);
  });
});

const { boolean, int32, int64, list, map, object, text, utf16 } = memoryPack;

const READERS = {
  table: { reader: tableCatalogReader, path: 'TableBundles/TableCatalog.bytes' },
  media: { reader: mediaCatalogReader, path: 'MediaResources/Catalog/MediaCatalog.bytes' },
  packs: { reader: bundlePackingInfoReader, path: 'iOS_PatchPack/BundlePackingInfo.bytes' },
} satisfies Record<string, { reader: CatalogReader; path: string }>;

async function* inPieces(bytes: Buffer, size = 10_000): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

const TABLES: readonly StatedFile[] = [
  { name: 'Excel.zip', size: 4211, crc: 4_294_967_295 },
  { name: 'ExcelDB.db', size: 0, crc: 0 },
  { name: 'シナリオ.zip', size: 9_007_199_254_740_991, crc: 7 },
];
const PACKS: readonly StatedPack[] = [
  { name: 'Pack_000.zip', size: 10, crc: 11, inside: ['a.zip', 'b.zip'] },
  { name: 'Pack_001.zip', size: 12, crc: 13, inside: null },
];
const UPDATES: readonly StatedPack[] = [{ name: 'Update_000.zip', size: 14, crc: 15, inside: [] }];
const MEDIA: readonly StatedFile[] = [
  { name: 'GameData/Audio/JP_X.zip', size: 5, crc: 6 },
  { name: 'UIs/bg.jpg', size: 7, crc: 8 },
];

describe('the reader of MemoryPack catalogs', () => {
  /** The files of a catalog, without the places at which it lists them. */
  async function read(which: keyof typeof READERS, bytes: Buffer): Promise<CatalogFile[]> {
    const { reader, path } = READERS[which];
    const files = await collect(reader.read({ path, label: path, chunks: inPieces(bytes) }));
    return files.map(({ place: _place, ...file }) => file);
  }

  async function pathsOf(which: keyof typeof READERS, bytes: Buffer): Promise<string[]> {
    return (await read(which, bytes)).map((file) => file.destination);
  }

  describe('catalogs in MemoryPack', () => {
    test('let other work run while a large collection inside one record is read', async () => {
      const inside = Array.from({ length: 60_000 }, (_none, index) => `bundle-${index}`);
      const bytes = bundlePackingInfo([{ name: 'Pack_000.zip', size: 10, crc: 11, inside }], []);
      let turns = 0;
      let isDone = false;
      const turn = (): void => {
        turns += 1;
        if (!isDone) setImmediate(turn);
      };
      setImmediate(turn);
      expect(await pathsOf('packs', bytes)).toEqual(['iOS_PatchPack/Pack_000.zip']);
      isDone = true;
      expect(turns).toBeGreaterThan(20);
    });

    test('list tables and packs; the files inside a pack are not files of the release', async () => {
      expect(await read('table', tableCatalog(TABLES, PACKS))).toEqual([
        { destination: 'TableBundles/Excel.zip', size: 4211, digests: { crc32: '4294967295' } },
        { destination: 'TableBundles/ExcelDB.db', size: 0, digests: { crc32: '0' } },
        { destination: 'TableBundles/シナリオ.zip', size: 9_007_199_254_740_991, digests: { crc32: '7' } },
        { destination: 'TableBundles/Pack_000.zip', size: 10, digests: { crc32: '11' } },
        { destination: 'TableBundles/Pack_001.zip', size: 12, digests: { crc32: '13' } },
      ]);
    });

    test('list media with slashes, in the folder of the catalog', async () => {
      const bytes = mediaCatalog(MEDIA);
      expect(await read('media', bytes)).toEqual([
        { destination: 'MediaResources/GameData/Audio/JP_X.zip', size: 5, digests: { crc32: '6' } },
        { destination: 'MediaResources/UIs/bg.jpg', size: 7, digests: { crc32: '8' } },
      ]);
      const path = 'MediaResources-Windows/Catalog/MediaCatalog.bytes';
      const windows = await collect(
        mediaCatalogReader.read({ path, label: path, chunks: inPieces(bytes, 3) }),
      );
      expect(windows.map((file) => file.destination)).toEqual([
        'MediaResources-Windows/GameData/Audio/JP_X.zip',
        'MediaResources-Windows/UIs/bg.jpg',
      ]);
    });

    test('list full and update packs', async () => {
      expect(await read('packs', bundlePackingInfo(PACKS, UPDATES))).toEqual([
        { destination: 'iOS_PatchPack/Pack_000.zip', size: 10, digests: { crc32: '11' } },
        { destination: 'iOS_PatchPack/Pack_001.zip', size: 12, digests: { crc32: '13' } },
        { destination: 'iOS_PatchPack/Update_000.zip', size: 14, digests: { crc32: '15' } },
      ]);
    });

    test('may have null collections', async () => {
      expect(await pathsOf('table', tableCatalog(null, PACKS))).toHaveLength(2);
      expect(await pathsOf('table', tableCatalog(TABLES, null))).toHaveLength(3);
      expect(await pathsOf('packs', bundlePackingInfo(null, null))).toEqual([]);
      expect(await pathsOf('media', mediaCatalog(null))).toEqual([]);
    });

    test('may come from an older writer with fewer members', async () => {
      const record = object([text('Excel.zip'), int64(1), int64(2)]);
      expect(await pathsOf('table', object([map([['Excel.zip', record]])]))).toEqual([
        'TableBundles/Excel.zip',
      ]);
    });

    test('may write texts in UTF-16, or without their number of characters', async () => {
      const record = object([utf16('シナリオ.zip'), int64(1), int64(2)]);
      const utf8 = Buffer.from('Excel.zip');
      const unknownLength = Buffer.concat([int32(~utf8.length), int32(-1), utf8]);
      const both = object([
        map([
          ['a', record],
          ['b', object([unknownLength, int64(1), int64(2)])],
        ]),
      ]);
      expect(await pathsOf('table', both)).toEqual(['TableBundles/シナリオ.zip', 'TableBundles/Excel.zip']);
    });

    test('may have bytes and members behind the known ones', async () => {
      const trailing = Buffer.concat([tableCatalog(TABLES, PACKS), Buffer.alloc(37, 0xee)]);
      expect(await pathsOf('table', trailing)).toHaveLength(5);
      const root = [text('newer'), int64(1), list([text('x')])];
      expect(await pathsOf('table', tableCatalog(TABLES, PACKS, { root }))).toHaveLength(5);
      expect(await pathsOf('packs', bundlePackingInfo(PACKS, UPDATES, { root }))).toHaveLength(3);
    });

    const NEWER: ReadonlyArray<readonly [string, readonly Buffer[]]> = [
      ['a truth value', [boolean(false)]],
      ['a 32-bit number', [int32(1)]],
      ['a 64-bit number', [int64(0)]],
      ['a text', [text('tag')]],
      ['a null text', [text(null)]],
      ['texts', [list([text('a'), text('b')])]],
      ['two members', [int64(99), text('tag')]],
      ['three members', [boolean(true), text('x'), int32(-5)]],
    ];
    test.each(NEWER)('may have records with %s behind the known members', async (_, more) => {
      for (const newer of [{ record: more }, { inner: more }, { record: more, inner: more }]) {
        const table = await read('table', tableCatalog(TABLES, PACKS, newer));
        expect(table).toEqual(await read('table', tableCatalog(TABLES, PACKS)));
        const media = await read('media', mediaCatalog(MEDIA, newer));
        expect(media).toEqual(await read('media', mediaCatalog(MEDIA)));
        const packs = await read('packs', bundlePackingInfo(PACKS, UPDATES, newer));
        expect(packs).toEqual(await read('packs', bundlePackingInfo(PACKS, UPDATES)));
      }
      const one = tableCatalog([TABLES[0]!], [PACKS[0]!], { inner: more });
      expect(await pathsOf('table', Buffer.concat([one, Buffer.alloc(9, 0xee)]))).toHaveLength(2);
    });
  });

  describe('a damaged catalog in MemoryPack', () => {
    const cases = {
      table: tableCatalog(TABLES, PACKS),
      media: mediaCatalog(MEDIA),
      packs: bundlePackingInfo(PACKS, UPDATES),
    };

    test.each(['table', 'media', 'packs'] as const)(
      'is refused wherever it ends early: %s',
      async (which) => {
        for (let length = 0; length < cases[which].length; length += 1) {
          const error = await upstreamErrorOf(read(which, cases[which].subarray(0, length)));
          expect(error).toMatchObject({ code: 'catalog_invalid', retryable: false });
          const offset = Number(/at byte ([0-9]+)/.exec(error.message)?.[1]);
          expect(offset).toBeLessThanOrEqual(length);
          expect(error.message).toContain(READERS[which].path);
        }
      },
    );

    test('is refused with the byte of the damage', async () => {
      const record = tableBundle(TABLES[0]!, null);
      const bytes = object([map([['Excel.zip', record]])]);
      const recordAt = bytes.length - record.length;
      const damaged = async (offset: number, value: number): Promise<string> => {
        const copy = Buffer.from(bytes);
        copy.writeUInt8(value, offset);
        return (await upstreamErrorOf(read('table', copy))).message;
      };
      expect(await damaged(0, 255)).toContain('TableCatalog is null (at byte 0)');
      expect(await damaged(4, 0x7f)).toContain('(at byte 1)');
      expect(await damaged(recordAt, 255)).toContain(`Table: TableBundle 0 is null (at byte ${recordAt})`);
      expect(await damaged(recordAt, 250)).toContain(
        `250 is not the header of an object (at byte ${recordAt})`,
      );
      expect(await damaged(recordAt, 200)).toContain(`has 200 members, 8 are known (at byte ${recordAt})`);
      expect(await damaged(recordAt + 9, 0xff)).toContain(`not valid UTF-8 (at byte ${recordAt + 9})`);
      expect(await damaged(recordAt + 5, 3)).toContain(`its header states 3 (at byte ${recordAt + 1})`);
      expect(await damaged(recordAt + 34, 9)).toContain(`9 is not a truth value (at byte ${recordAt + 34})`);
      // Facts that are readable and wrong name the record.
      expect(await damaged(recordAt + 25, 0xff)).toContain(`record at byte ${recordAt}: Size: its size must`);
      expect(await damaged(recordAt + 30, 1)).toContain(`record at byte ${recordAt}: Crc: its CRC-32 must`);
    });

    test.each([
      ['a page of a web server', Buffer.from('<html><body>maintenance</body></html>')],
      ['a JSON document', Buffer.from('{"Table":{}}')],
      ['two billion records', Buffer.concat([Buffer.of(1), int32(2_147_483_647), Buffer.alloc(64)])],
      ['a negative number of records', Buffer.concat([Buffer.of(1), int32(-2), Buffer.alloc(64)])],
      [
        'a name of two gigabytes',
        Buffer.concat([Buffer.of(1), int32(1), int32(-2_147_483_648), Buffer.alloc(64)]),
      ],
      [
        'a name of two billion characters',
        Buffer.concat([Buffer.of(1), int32(1), int32(2_147_483_647), Buffer.alloc(64)]),
      ],
    ])('is refused if it is %s', async (_, bytes) => {
      for (const which of ['table', 'media'] as const) {
        expect(await upstreamErrorOf(read(which, bytes))).toMatchObject({
          code: 'catalog_invalid',
          message: expect.stringMatching(/at byte [0-9]+/) as string,
        });
      }
    });

    test.each([
      ['a path that leaves the root', '..\\..\\etc\\passwd'],
      ['an absolute path', '\\etc\\passwd'],
      ['a drive', 'C:\u0000\\x'],
    ])('is refused for %s', async (_, name) => {
      const bytes = mediaCatalog([{ name, size: 1, crc: 1 }]);
      expect(await upstreamErrorOf(read('media', bytes))).toMatchObject({ code: 'destination_invalid' });
    });

    test('never fails in another way, whatever its bytes are', async () => {
      const which = fc.constantFrom('table', 'media', 'packs');
      const change = fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }));
      await fc.assert(
        fc.asyncProperty(which, fc.array(change, { minLength: 1, maxLength: 4 }), async (which, changes) => {
          const bytes = Buffer.from(cases[which]);
          for (const [offset, value] of changes) bytes.writeUInt8(value, offset % bytes.length);
          await read(which, bytes).catch((error: unknown) => {
            expect(error).toBeInstanceOf(UpstreamError);
          });
        }),
        { numRuns: 500 },
      );
    });

    test('is refused if it is larger than 64 MiB', async () => {
      async function* large(): AsyncGenerator<Uint8Array> {
        for (let mebibyte = 0; mebibyte < 65; mebibyte += 1) yield Buffer.alloc(1024 * 1024);
      }
      const { reader, path } = READERS.media;
      const error = await upstreamErrorOf(collect(reader.read({ path, label: path, chunks: large() })));
      expect(error.code).toBe('catalog_too_large');
    });

    test('is read in bounded time when its records seem to have more members', async () => {
      const records = Array.from({ length: 20_000 }, (_, index) => ({
        name: `f${index}`,
        size: 1,
        crc: 1,
      }));
      const more = [int32(0), int32(0), int32(0)];
      const bytes = mediaCatalog(records, { record: more });
      const started = performance.now();
      const error = await upstreamErrorOf(read('media', bytes.subarray(0, -1)));
      expect(error.code).toBe('catalog_invalid');
      expect(performance.now() - started).toBeLessThan(10_000);
    });
  });
});
