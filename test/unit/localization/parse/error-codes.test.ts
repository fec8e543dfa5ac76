import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { flatBuffersTable, flatBuffersTableSchema } from '../../../../demo/game/flatbuffers-table.ts';
import {
  leaf,
  list,
  object,
  REGISTRY_TYPE,
  text,
  type UnityType,
  type UnityValue,
} from '../../../../demo/game/unity/unity-type.ts';
import { writeBundle } from '../../../../demo/game/unity/write-bundle.ts';
import { writeSerializedFile, type UnityObject } from '../../../../demo/game/unity/write-serialized-file.ts';
import {
  PARSE_ERROR_CODES,
  type ParseErrorCode,
} from '../../../../src/contract/reports/parse-error-codes.ts';
import { blake3Hex } from '../../../../src/platform/hashing/blake3.ts';
import { systemClock } from '../../../../src/platform/process/clock.ts';
import { parseContainerFile } from '../../../../src/localization/parse/container/parse-container.ts';
import { createContainerParser } from '../../../../src/localization/parse/process/container-parser.ts';
import { compileRules } from '../../../../src/localization/parse/rules/compile-rules.ts';
import { rulesDigest } from '../../../../src/localization/parse/rules/load-rules.ts';
import { indexRelease } from '../../../../src/localization/parse/run/index-release.ts';
import { encryptZipEntry } from '../../../support/encrypt-zip-entry.ts';
import { openIndexInTest } from '../../../support/open-index.ts';
import { loadedRules, parseBytes, type TestRules } from '../../../support/parse-bytes.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import {
  DIALOG_FIELDS,
  DIALOG_VALUE,
  sampleBehaviour,
  sampleTextAsset,
} from '../../../support/unity-samples.ts';
import { writeZip, type ZipInput } from '../../../support/write-zip.ts';
import { zipOf } from '../../../support/zip-of.ts';

/** The codes that a container gave. */
type Codes = readonly string[];

async function codesOf(name: string, content: string | Uint8Array, rules: TestRules = {}): Promise<Codes> {
  const { outcome } = await parseBytes(name, content, {
    scratchDirectory: await temporaryDirectory(),
    ...rules,
  });
  return outcome.issues.map(({ code }) => code);
}

/** A copy with some bytes changed. */
function changed(bytes: Uint8Array, change: (copy: Buffer) => unknown): Buffer {
  const copy = Buffer.from(bytes);
  change(copy);
  return copy;
}

const serialized = (...objects: readonly UnityObject[]): Buffer =>
  writeSerializedFile({ version: 22, objects });
const STORY = serialized(sampleTextAsset(1n, 'story', 'むかしむかし'));
const FILE = { name: 'CAB-1', bytes: STORY };
const BUNDLE = writeBundle([FILE], { compression: 'lz4' });
const PLAIN_BUNDLE = writeBundle([FILE], { compression: 'none' });
const FLAGS_AT = 'UnityFS\0....5.x.x\x002022.3.10f1\0........'.length + 8;
/** Where the type tree of the first type of {@link STORY} begins. */
const TREE_AT = 48 + '2022.3.10f1\0'.length + 4 + 1 + 4 + 7 + 16;

/** An object whose type has one more field. */
function withField(field: UnityType, value: UnityValue): Buffer {
  return serialized(sampleBehaviour(1n, 'n', [field], { [field.name]: value }));
}

const STRIPPED = writeSerializedFile({
  version: 22,
  typeTrees: false,
  objects: [sampleBehaviour(1n, 'Dialog', DIALOG_FIELDS, DIALOG_VALUE)],
});

const zip = (fields: Partial<ZipInput>): Buffer =>
  writeZip([{ name: 'a.json', content: Buffer.from('["あいうえお"]'), ...fields }]);

const TABLE = Buffer.from(flatBuffersTable([{ id: 1n, speaker: 'アロナ', text: 'おはよう' }]));
const tableRules = (extra: object = {}, schema: Uint8Array = flatBuffersTableSchema()): TestRules => ({
  configuration: { rules: [{ destination: ['*.bin'], format: 'flatbuffers', schema: '/s', ...extra }] },
  files: new Map([['/s', schema]]),
});

const PASSWORD = Buffer.from('ひみつ');
const ENCRYPTED = writeZip([encryptZipEntry('a.json', Buffer.from('["あ"]'), PASSWORD)]);
const passwordRules = (password: Uint8Array): TestRules => ({
  configuration: { rules: [{ destination: ['**'], password: 'key' }] },
  secrets: new Map([['key', password]]),
});

const manyLines = (count: number): string => 'あ\n'.repeat(count);

async function nestedZip(levels: number): Promise<Buffer> {
  let content: Buffer = Buffer.from('["あ"]');
  for (let level = 0; level < levels; level += 1) {
    content = await zipOf({ [level === 0 ? 'a.json' : 'a.zip']: content });
  }
  return content;
}

const SQLITE = Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(4080, 0xa5)]);

const NEVER = new AbortController().signal;
const ignore = (): void => undefined;
/** Programs that stand in for the one that parses. */
const PROGRAMS = {
  unending: 'process.on("message", () => { for (;;); })',
  crashing: 'process.on("message", () => { throw new Error("no such thing"); })',
  // It ends before anyone can look at its memory.
  outOfMemory: 'process.on("message", () => { new ArrayBuffer(2 ** 52); })',
  outOfHeap: `process.on("message", () => {
    process.stderr.write("FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory");
    process.abort();
  })`,
} as const;

/** Parses a file in a process. */
async function codesOfWorker(
  content: string,
  {
    program,
    ...limits
  }: { readonly timeoutMs?: number; readonly memoryBytes?: number; readonly program?: keyof typeof PROGRAMS },
): Promise<Codes> {
  const directory = await temporaryDirectory();
  const path = join(directory, 'a.json');
  await writeFile(path, content);
  const programPath = join(directory, 'program.mjs');
  if (program !== undefined) await writeFile(programPath, PROGRAMS[program]);
  const worker = createContainerParser({
    rules: loadedRules(),
    processes: 1,
    scratchDirectory: directory,
    memoryBytes: 1024 * 1024 * 1024,
    timeoutMs: 60_000,
    clock: systemClock,
    ...limits,
    ...(program === undefined ? {} : { program: pathToFileURL(programPath) }),
  });
  onTestFinished(() => {
    worker.close();
  });
  const job = { path, destination: 'a.json', destinationKey: 'a.json' };
  const { status, issues } = await worker.parse(job, ignore, NEVER);
  expect(status).toBe('failed');
  return issues.map(({ code }) => code);
}

async function codesOfRelease(destinations: readonly string[]): Promise<Codes> {
  const scratchDirectory = await temporaryDirectory();
  const path = join(scratchDirectory, 'object');
  await writeFile(path, '["あ"]');
  const loaded = loadedRules();
  const rules = compileRules(loaded);
  const parser = createContainerParser({
    rules: loaded,
    processes: 1,
    scratchDirectory,
    memoryBytes: 512 * 1024 * 1024,
    timeoutMs: 60_000,
    clock: systemClock,
  });
  onTestFinished(() => parser.close());
  const index = openIndexInTest();
  const files = {
    length: destinations.length,
    at: (position: number) => {
      const destination = destinations[position] ?? '';
      return { destination, blake3: blake3Hex(Buffer.from(destination)), size: 7, path };
    },
  };
  await indexRelease(
    { index, parser, processes: 1, checkSpace: ignore },
    { releaseId: 'r1', files, stableNames: [], rules, rulesDigest: rulesDigest(loaded), full: false },
    { containers: 0, total: 0, units: 0, phase: 'parsing' },
    NEVER,
  );
  return index.errors({ offset: 0, limit: 10 }).items.map(({ code }) => code);
}

/** For each code, the inputs that give it: the format, what is wrong with the input, and a run that gives its codes. */
const CASES: Readonly<
  Record<ParseErrorCode, readonly (readonly [format: string, what: string, run: () => Promise<Codes>])[]>
> = {
  bundle_signature_unsupported: [
    [
      'unity',
      'a bundle with an old signature',
      async () => await codesOf('a', 'UnityWeb\0\0\0\0\x033.x.x\0'),
    ],
    [
      'unity',
      'a bundle of version 9',
      async () =>
        await codesOf(
          'a',
          changed(BUNDLE, (copy) => copy.writeUInt32BE(9, 8)),
        ),
    ],
  ],
  bundle_encrypted: [
    [
      'unity',
      'a bundle with the flag of an encryption',
      async () =>
        await codesOf(
          'a',
          changed(BUNDLE, (copy) => copy.writeUInt32BE(0x443, FLAGS_AT)),
        ),
    ],
  ],
  bundle_invalid: [
    ['unity', 'a bundle that is cut', async () => await codesOf('a', BUNDLE.subarray(0, BUNDLE.length - 1))],
    [
      'unity',
      'a bundle in an archive whose directory is behind its end',
      async () =>
        await codesOf(
          'a.zip',
          await zipOf({ b: changed(BUNDLE, (copy) => copy.writeUInt32BE(0x7fff_ffff, FLAGS_AT - 8)) }),
        ),
    ],
  ],
  block_decompress_failed: [
    [
      'unity',
      'a bundle with a damaged block',
      async () => {
        const bundle = writeBundle([{ name: 'CAB-1', bytes: STORY }], { compression: 'lzma' });
        return await codesOf(
          'a',
          changed(bundle, (copy) => copy.fill(0xff, copy.length - 100)),
        );
      },
    ],
    [
      'unity',
      'a bundle with an unknown compression',
      async () =>
        await codesOf(
          'a',
          changed(PLAIN_BUNDLE, (copy) => copy.writeUInt32BE(0x45, FLAGS_AT)),
        ),
    ],
  ],
  serialized_version_unsupported: [
    [
      'unity',
      'a serialized file of version 16',
      async () =>
        await codesOf(
          'a',
          changed(STORY, (copy) => copy.writeUInt32BE(16, 8)),
        ),
    ],
  ],
  serialized_invalid: [
    [
      'unity',
      'a serialized file whose metadata is larger than the file',
      async () =>
        await codesOf(
          'a',
          changed(STORY, (copy) => copy.writeUInt32BE(1 << 30, 20)),
        ),
    ],
    [
      'unity',
      'a serialized file with more types than bytes',
      async () =>
        await codesOf(
          'a',
          changed(STORY, (copy) => copy.writeInt32LE(0x7fff_ffff, TREE_AT - 27)),
        ),
    ],
  ],
  typetree_missing: [['unity', 'a stripped object of a script', async () => await codesOf('a', STRIPPED)]],
  typetree_invalid: [
    [
      'unity',
      'a type tree with a cycle',
      async () =>
        await codesOf(
          'a',
          changed(STORY, (copy) => copy.writeUInt8(0, TREE_AT + 8 + 3 * 32 + 2)),
        ),
    ],
    [
      'unity',
      'a type tree with an array without elements',
      async () => await codesOf('a', withField(object('Array', 'list', [leaf('int', 'size')]), { size: 0 })),
    ],
    [
      'unity',
      'a type tree with a name outside of its names',
      async () =>
        await codesOf(
          'a',
          changed(STORY, (copy) => copy.writeUInt32LE(0x7fff_0000, TREE_AT + 8 + 2 * 32 + 8)),
        ),
    ],
  ],
  typetree_extracted_unsupported: [
    [
      'unity',
      'a serialized file with type trees in another file',
      async () =>
        await codesOf(
          'a',
          changed(STORY, (copy) => {
            copy.writeUInt32BE(23, 8);
            copy.fill(0, TREE_AT + 16, TREE_AT + 20);
          }),
        ),
    ],
  ],
  typetree_size_mismatch: [
    [
      'unity',
      'a string that is longer than its object',
      async () =>
        await codesOf(
          'a',
          changed(STORY, (copy) => copy.writeInt32LE(0x7fff_ffff, copy.indexOf('むか') - 4)),
        ),
    ],
    [
      'unity',
      'an object that is longer than its type',
      async () =>
        await codesOf(
          'a',
          changed(STORY, (copy) => copy.writeInt32LE(3, copy.indexOf('むか') - 4)),
        ),
    ],
  ],
  typetree_managed_reference_unsupported: [
    [
      'unity',
      'an object with a managed reference',
      async () =>
        await codesOf(
          'a',
          withField(REGISTRY_TYPE, {
            version: 2,
            RefIds: [{ rid: 1n, type: { class: 'A', ns: '', asm: 'B' }, data: {} }],
          }),
        ),
    ],
  ],
  zip_invalid: [
    [
      'zip',
      'an encrypted entry whose data are damaged',
      async () =>
        await codesOf(
          'a.zip',
          changed(ENCRYPTED, (copy) => {
            const at = 30 + 'a.json'.length + 12;
            copy[at] = (copy[at] ?? 0) ^ 1;
          }),
          passwordRules(PASSWORD),
        ),
    ],
    ['zip', 'an archive that is cut', async () => await codesOf('a.zip', zip({}).subarray(0, 60))],
    ['zip', 'an entry with a wrong checksum', async () => await codesOf('a.zip', zip({ crc32: 1 }))],
    [
      'zip',
      'an entry whose local header has another name',
      async () => await codesOf('a.zip', zip({ local: { name: 'b.json' } })),
    ],
    [
      'zip',
      'an entry outside of the archive',
      async () => await codesOf('a.zip', zip({ localOffset: 5000 })),
    ],
    [
      'zip',
      'an entry that is longer than it says',
      async () => await codesOf('a.zip', zip({ uncompressedSize: 3 })),
    ],
  ],
  zip_encrypted: [
    ['zip', 'an encrypted entry without a password', async () => await codesOf('a.zip', ENCRYPTED)],
  ],
  zip_password_wrong: [
    [
      'zip',
      'an encrypted entry with another password',
      async () => await codesOf('a.zip', ENCRYPTED, passwordRules(Buffer.from('other'))),
    ],
  ],
  zip_method_unsupported: [
    ['zip', 'an entry with an unknown compression', async () => await codesOf('a.zip', zip({ method: 93 }))],
  ],
  zip_limit_exceeded: [
    [
      'zip',
      'an entry that is 1000 times its data',
      async () => await codesOf('a.zip', await zipOf({ 'a.json': Buffer.alloc(4_000_000, 0x20) })),
    ],
    [
      'zip',
      'a ratio bomb in an archive',
      async () =>
        await codesOf(
          'a.zip',
          await zipOf({ 'b.zip': await zipOf({ 'a.json': Buffer.alloc(4_000_000, 0x20) }) }),
        ),
    ],
    [
      'zip',
      'an entry of more than 512 MiB',
      async () => await codesOf('a.zip', zip({ uncompressedSize: 512 * 1024 * 1024 + 1 })),
    ],
  ],
  json_invalid: [
    ['json', 'JSON that is cut', async () => await codesOf('a.json', '{"a":"あ"')],
    [
      'json',
      'JSON that is cut, in an archive',
      async () => await codesOf('a.zip', await zipOf({ 'a.json': '["あ",' })),
    ],
  ],
  csv_invalid: [
    ['csv', 'a quote that is not closed', async () => await codesOf('a.csv', 'k,t\n1,"あ')],
    ['csv', 'a row with another number of cells', async () => await codesOf('a.csv', 'k,t\n1,あ\n2,い,う\n')],
    ['tsv', 'a row of TSV with another number of cells', async () => await codesOf('a.tsv', 'k\tt\n1\n')],
  ],
  script_invalid: [
    ['strings', 'a quote that is not closed', async () => await codesOf('a.strings', '"k" = "あ;\n')],
  ],
  xml_invalid: [
    ['xml', 'an element that is not closed', async () => await codesOf('a.xml', '<a><b>あ</a>')],
    ['resx', 'an entity of its own', async () => await codesOf('a.resx', '<root>&own;</root>')],
  ],
  po_invalid: [['po', 'a line without a keyword', async () => await codesOf('a.po', 'msgid "a"\nあ\n')]],
  compression_invalid: [
    ['gzip', 'a file that is cut', async () => await codesOf('a.gz', gzipSync('あ').subarray(0, 15))],
    [
      'gzip',
      'two files in one',
      async () => await codesOf('a', Buffer.concat([gzipSync('あ'), gzipSync('い')])),
    ],
    [
      'zlib',
      'bytes behind the file',
      async () => await codesOf('a', Buffer.concat([deflateSync('あ'.repeat(99)), Buffer.from('x')])),
    ],
  ],
  not_writable: [
    [
      'sqlite',
      'a table with a trigger',
      async () => {
        const path = join(await temporaryDirectory(), 'a.db');
        const database = new DatabaseSync(path);
        database.exec(
          "CREATE TABLE t (x); CREATE TRIGGER r AFTER UPDATE ON t BEGIN DELETE FROM t; END; INSERT INTO t VALUES ('あ')",
        );
        database.close();
        return await codesOf('a.db', readFileSync(path));
      },
    ],
  ],
  sqlite_invalid: [
    ['sqlite', 'a database with a damaged header', async () => await codesOf('a.db', SQLITE)],
    ['sqlite', 'a database of its signature alone', async () => await codesOf('a.db', 'SQLite format 3\0')],
  ],
  flatbuffers_invalid: [
    [
      'flatbuffers',
      'a table with an offset behind its end',
      async () =>
        await codesOf(
          'a.bin',
          changed(TABLE, (copy) => copy.writeUInt32LE(0x7fff_ffff, 0)),
          tableRules(),
        ),
    ],
    ['flatbuffers', 'a table of no bytes', async () => await codesOf('a.bin', '', tableRules())],
  ],
  schema_invalid: [
    [
      'flatbuffers',
      'a schema that is cut',
      async () => await codesOf('a.bin', TABLE, tableRules({}, flatBuffersTableSchema().subarray(0, 40))),
    ],
    [
      'unity',
      'a file of type trees that is not JSON',
      async () =>
        await codesOf('a', STRIPPED, {
          configuration: { rules: [{ destination: ['**'], typeTrees: '/t' }] },
          files: new Map([['/t', Buffer.from('{')]]),
        }),
    ],
  ],
  encoding_invalid: [
    [
      'text',
      'a text with a byte that UTF-8 does not have',
      async () => await codesOf('a.txt', Buffer.of(0x61, 0xff)),
    ],
    [
      'json',
      'JSON with half a surrogate pair',
      async () => await codesOf('a.json', String.raw`{"a":"あ\ud800"}`),
    ],
    [
      'flatbuffers',
      'a string of a table that is not UTF-8',
      async () =>
        await codesOf(
          'a.bin',
          changed(TABLE, (copy) => copy.writeUInt8(0xff, copy.indexOf('おはよう'))),
          tableRules(),
        ),
    ],
  ],
  codec_mismatch: [
    [
      'flatbuffers',
      'a string that is not base64',
      async () => await codesOf('a.bin', TABLE, tableRules({ codec: 'base64' })),
    ],
  ],
  field_too_large: [
    ['text', 'a line of more than 1 MiB', async () => await codesOf('a.txt', 'あ'.repeat(400_000))],
    [
      'json',
      'a string of more than 1 MiB',
      async () => await codesOf('a.json', JSON.stringify(['あ'.repeat(400_000)])),
    ],
    [
      'unity',
      'a string of an object of more than 1 MiB',
      async () => await codesOf('a', withField(text('t'), 'あ'.repeat(400_000))),
    ],
  ],
  nesting_too_deep: [
    [
      'json',
      'JSON of 65 levels',
      async () => await codesOf('a.json', `${'['.repeat(65)}"あ"${']'.repeat(65)}`),
    ],
    ['zip', 'a file in five archives', async () => await codesOf('a.zip', await nestedZip(5))],
  ],
  nesting_unsupported: [
    [
      'unity',
      'an archive in a field of JSON in a TextAsset',
      async () =>
        await codesOf('a.bundle', serialized(sampleTextAsset(1n, 'n', '{"Pack":"PKあ","Text":"はい"}')), {
          configuration: { rules: [{ destination: ['**'], nested: { m_Script: 'auto', Pack: 'zip' } }] },
        }),
    ],
  ],
  container_limit_exceeded: [
    ['text', 'a text of 1,000,001 lines', async () => await codesOf('a.txt', manyLines(1_000_001))],
    [
      'json',
      'an array of 1,000,001 elements',
      async () => await codesOf('a.json', `[${'1,'.repeat(1_000_000)}1]`),
    ],
    ['csv', 'a table of 1,000,001 rows', async () => await codesOf('a.csv', `t\n${manyLines(1_000_001)}`)],
    [
      'unity',
      'an object with an array of 1,000,001 elements',
      async () =>
        await codesOf(
          'a',
          withField(
            list('l', text('data')),
            Array.from({ length: 1_000_001 }, () => ''),
          ),
        ),
    ],
    [
      'unity',
      'a bundle that claims 300 times its bytes',
      async () =>
        await codesOf(
          'a',
          writeBundle([{ name: 'b', bytes: Buffer.alloc(8_000_000) }], { compression: 'lzma' }),
        ),
    ],
  ],
  duplicate_key: [
    ['json', 'an object with a key twice', async () => await codesOf('a.json', '{"a":"あ","a":"い"}')],
  ],
  duplicate_unit_key: [
    [
      'csv',
      'two rows with one key',
      async () => await codesOf('a.csv', 'Id,Text\n1,あ\n1,い\n2,う\n3,え\n4,お\n'),
    ],
    [
      'any',
      'two files whose names differ by their hashes',
      async () => await codesOfRelease(['a_0f3cab12e9d84c7b.json', 'a_1f3cab12e9d84c7b.json']),
    ],
  ],
  deadline_exceeded: [
    [
      'any',
      'a container that does not end',
      async () => await codesOfWorker('[]', { timeoutMs: 500, program: 'unending' }),
    ],
  ],
  memory_exceeded: [
    [
      'any',
      'a container that needs more memory than the limit',
      async () => await codesOfWorker(`[${'"あ",'.repeat(999_999)}"あ"]`, { memoryBytes: 128 * 1024 * 1024 }),
    ],
    [
      'any',
      'a container that needs more bytes than can be allocated',
      async () => await codesOfWorker('[]', { program: 'outOfMemory' }),
    ],
    [
      'any',
      'a container that needs more heap than the limit',
      async () => await codesOfWorker('[]', { program: 'outOfHeap' }),
    ],
  ],
  process_failed: [
    ['any', 'a process that ends', async () => await codesOfWorker('[]', { program: 'crashing' })],
  ],
  file_unreadable: [
    [
      'any',
      'a file that is not there',
      async () => await codesOfFile(join(await temporaryDirectory(), 'missing')),
    ],
    ['any', 'a folder in place of a file', async () => await codesOfFile(await temporaryDirectory())],
  ],
};

async function codesOfFile(path: string): Promise<Codes> {
  const job = { path, destination: 'a.json', destinationKey: 'a.json', scratchDirectory: '/nowhere' };
  const { issues } = await parseContainerFile(job, compileRules(loadedRules()), async () => undefined);
  return issues.map(({ code }) => code);
}

const ROWS = Object.entries(CASES).flatMap(([code, cases]) =>
  cases.map(([format, what, run]) => ({ code, format, what, run })),
);

describe('an error code of the parser', () => {
  it.each(ROWS)('$code, $format: $what', async ({ code, run }) => {
    expect(new Set(await run())).toEqual(new Set([code]));
  });

  it('has a case, and no case has another code', () => {
    expect(Object.keys(CASES).toSorted()).toEqual(Object.keys(PARSE_ERROR_CODES).toSorted());
    expect(Object.entries(CASES).filter(([, cases]) => cases.length === 0)).toEqual([]);
  });
});
