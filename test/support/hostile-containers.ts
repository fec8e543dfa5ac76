import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { flatBuffersTable, flatBuffersTableSchema } from '../../demo/game/flatbuffers-table.ts';
import type { DialogRow } from '../../demo/game/dialog-row.ts';
import { writeSqliteTable } from '../../demo/game/sqlite-table.ts';
import { writeBundle, type BundleOptions } from '../../demo/game/unity/write-bundle.ts';
import { writeSerializedFile, type UnityObject } from '../../demo/game/unity/write-serialized-file.ts';
import { encryptZipEntry } from './encrypt-zip-entry.ts';
import type { TestRules } from './parse-bytes.ts';
import { sampleObjects, sampleTextAsset } from './unity-samples.ts';
import { writeZip } from './write-zip.ts';
import { zipOf } from './zip-of.ts';

/** A container in which a part can be damaged before the files around it are written. */
export interface HostileContainer {
  readonly destination: string;
  /** The part to damage. */
  readonly bytes: Buffer;
  /** Writes the container around the part. */
  readonly wrap: (bytes: Buffer) => Promise<Buffer> | Buffer;
}

const PASSWORD = Buffer.from('ひみつ');
const ROWS: readonly DialogRow[] = Array.from({ length: 20 }, (_, line) => ({
  id: BigInt(line),
  speaker: 'アロナ',
  text: `${line}行目、「先生」`,
}));
const JSON_TEXT = Buffer.from(
  JSON.stringify({ DataList: ROWS.map(({ id, ...row }) => ({ Id: Number(id), ...row })) }),
);
const CSV_TEXT = Buffer.from(
  `Id,Speaker,Text\r\n${ROWS.map(({ id, text }) => `${id},アロナ,"${text}"\r\n`).join('')}`,
);

const bundle = (objects: readonly UnityObject[], options?: BundleOptions, version = 22): Buffer =>
  writeBundle(
    [{ name: 'CAB-0f3cab12e9d84c7b95a1e0d2c3b4a596', bytes: writeSerializedFile({ version, objects }) }],
    options,
  );

const whole = (bytes: Buffer): Buffer => bytes;
const inZip =
  (name: string) =>
  async (bytes: Buffer): Promise<Buffer> =>
    await zipOf({ [name]: bytes, 'z.txt': 'おわり\n' });
const inAsset = (bytes: Buffer): Buffer => bundle([sampleTextAsset(1n, 'asset', bytes)]);

/** The rules that {@link hostileContainers} need. */
export const HOSTILE_RULES: TestRules = {
  configuration: {
    rules: [
      { destination: ['*.bin'], format: 'flatbuffers', schema: '/schema' },
      { destination: ['tables.zip'], entry: ['*.bin'], format: 'flatbuffers', schema: '/schema' },
      { destination: ['**'], password: 'key' },
    ],
  },
  secrets: new Map([['key', PASSWORD]]),
  files: new Map([['/schema', flatBuffersTableSchema()]]),
};

/**
 * Containers of every format and of the usual nestings, each with a part that can be damaged.
 *
 * @param directory an empty folder
 */
export async function hostileContainers(directory: string): Promise<readonly HostileContainer[]> {
  const databasePath = join(directory, 'sample.db');
  await writeSqliteTable(databasePath, ROWS);
  const database = await readFile(databasePath);
  const table = Buffer.from(flatBuffersTable(ROWS));
  const behaviours = sampleObjects();
  const file = (destination: string, bytes: Buffer): HostileContainer => ({
    destination,
    bytes,
    wrap: whole,
  });
  const inside = (destination: string, bytes: Buffer, wrap: HostileContainer['wrap']): HostileContainer => ({
    destination,
    bytes,
    wrap,
  });
  return [
    file('a.json', JSON_TEXT),
    file('a.csv', CSV_TEXT),
    file('a.tsv', Buffer.from('Id\tText\n1\tはい\n2\tいいえ\n')),
    file('a.txt', Buffer.from('\uFEFFむかし\nむかし\n', 'utf16le')),
    file('a.bin', table),
    file('a.db', database),
    file('a.zip', await zipOf({ 'a.json': JSON_TEXT, 'b.csv': CSV_TEXT })),
    file('crypt.zip', writeZip([encryptZipEntry('a.json', Buffer.from('["はい","いいえ"]'), PASSWORD)])),
    file('a.assets', writeSerializedFile({ version: 22, objects: behaviours })),
    file('old.assets', writeSerializedFile({ version: 17, littleEndian: false, objects: behaviours })),
    file('stripped.assets', writeSerializedFile({ version: 20, typeTrees: false, objects: behaviours })),
    file('plain.bundle', bundle(behaviours, { compression: 'none' })),
    file('lz4.bundle', bundle(behaviours, { compression: 'lz4', infoAtEnd: true, blockBytes: 512 })),
    file('lzma.bundle', bundle(behaviours, { compression: 'lzma' }, 19)),
    inside('a.zip', database, inZip('a.db')),
    inside('tables.zip', table, inZip('a.bin')),
    inside('a.bundle', JSON_TEXT, inAsset),
    inside('a.bundle', CSV_TEXT, inAsset),
    inside('a.zip', JSON_TEXT, async (bytes) => await inZip('a.bundle')(inAsset(bytes))),
    inside(
      'a.zip',
      writeSerializedFile({ version: 22, objects: behaviours }),
      async (bytes) => await inZip('a.bundle')(writeBundle([{ name: 'CAB-1', bytes }])),
    ),
    inside(
      'a.zip',
      bundle(behaviours),
      async (bytes) => await inZip('in.zip')(await inZip('a.bundle')(bytes)),
    ),
    inside('a.bundle', await zipOf({ 'a.json': JSON_TEXT }), inAsset),
    inside('crypt.zip', Buffer.from('Id,Text\n1,はい\n'), (bytes) =>
      writeZip([encryptZipEntry('a.csv', bytes, PASSWORD)]),
    ),
  ];
}
