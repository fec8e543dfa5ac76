import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createRandom, type Random } from '../../demo/game/seeded-random.ts';
import { stringTable } from '../../demo/game/unity/string-table.ts';
import { writeBundle } from '../../demo/game/unity/write-bundle.ts';
import { writeSerializedFile } from '../../demo/game/unity/write-serialized-file.ts';
import { zipOf } from './zip-of.ts';

const FORMATS = ['json', 'csv', 'zip', 'unity'] as const;
type TextFormat = (typeof FORMATS)[number];

const WORDS =
  '私 今日 明日 学校 友達 行く 食べる 先輩 。 、 「 」 は が を に それ ありがとう ございます 先生 {0} 走る 見つけ どこ いつ なぜ 石 光 闇 夜明け 海 空'.split(
    ' ',
  );
const WORDS_OF_TEXT = 14;
const ENTRIES_OF_ZIP = 5;
/** The first container of each format has this share of all units, so that large containers are part of the release. */
const LARGE_SHARE = 0.025;
const SPEAKER = 'Hoshino';

/** Size of a release to write. */
export interface TextReleaseSize {
  /** A multiple of the number of formats. */
  readonly containers: number;
  readonly units: number;
}

/** The counts that the index of the release must have. */
export interface TextReleaseCounts {
  readonly containers: number;
  readonly units: number;
  readonly byFormat: Readonly<Record<TextFormat, number>>;
  /** Strings without a character of the source script: the key and the speaker of each row, and names of string tables. */
  readonly noSourceScript: number;
}

interface Row {
  readonly number: number;
  readonly text: string;
}

interface Container {
  readonly destination: string;
  readonly bytes: Buffer;
  readonly noSourceScript: number;
}

/**
 * Writes a release of Unity bundles, zip archives, JSON and CSV, equally many of each. Every text is there once, because
 * it has its number in it. The same size gives the same bytes. One container is in memory at a time.
 *
 * @throws RangeError when the containers are not equally many of each format
 */
export async function writeTextRelease(
  directory: string,
  { containers, units }: TextReleaseSize,
): Promise<TextReleaseCounts> {
  if (containers % FORMATS.length !== 0 || containers <= FORMATS.length) {
    throw new RangeError(`${containers} containers are not equally many of ${FORMATS.length} formats`);
  }
  for (const format of FORMATS) await mkdir(join(directory, format), { recursive: true });
  const random = createRandom(41);
  let [written, noSourceScript] = [0, 0];
  for (let container = 0; container < containers; container += 1) {
    const rows = makeRows(random, written, unitsOf(container, written, { containers, units }));
    const format = FORMATS[container % FORMATS.length] ?? 'json';
    const made = await makeContainer(format, container, rows);
    await writeFile(join(directory, made.destination), made.bytes);
    written += rows.length;
    noSourceScript += made.noSourceScript;
  }
  const each = containers / FORMATS.length;
  return {
    containers,
    units: written,
    byFormat: { json: each, csv: each, zip: each, unity: each },
    noSourceScript,
  };
}

/** Writes a release of one JSON file. Its text units are those of one translation task. */
export async function writeLongText(directory: string, units: number): Promise<void> {
  await mkdir(join(directory, 'json'), { recursive: true });
  const { destination, bytes } = await makeContainer('json', 0, makeRows(createRandom(41), 0, units));
  await writeFile(join(directory, destination), bytes);
}

/** The first container of each format is large; the others share the rest. */
function unitsOf(container: number, written: number, { containers, units }: TextReleaseSize): number {
  if (container < FORMATS.length) return Math.floor(units * LARGE_SHARE);
  return Math.floor((units - written) / (containers - container));
}

function makeRows(random: Random, first: number, count: number): Row[] {
  return Array.from({ length: count }, (_, offset) => ({
    number: first + offset,
    text: `${Array.from({ length: WORDS_OF_TEXT }, () => random.pick(WORDS)).join('')}第${first + offset}話`,
  }));
}

async function makeContainer(
  format: TextFormat,
  container: number,
  rows: readonly Row[],
): Promise<Container> {
  const name = `${format}/${String(container).padStart(6, '0')}`;
  switch (format) {
    case 'json':
      return {
        destination: `${name}.json`,
        bytes: Buffer.from(jsonOf(rows)),
        noSourceScript: 2 * rows.length,
      };
    case 'csv':
      return {
        destination: `${name}.csv`,
        bytes: Buffer.from(
          `Key,Speaker,Text\r\n${rows.map(({ number, text }) => `${keyOf(number)},${SPEAKER},${text}\r\n`).join('')}`,
        ),
        noSourceScript: 2 * rows.length,
      };
    case 'zip':
      return {
        destination: `${name}.zip`,
        bytes: await zipOf(entriesOf(rows)),
        noSourceScript: 2 * rows.length,
      };
    case 'unity':
      return { destination: `${name}.bundle`, bytes: bundleOf(container, rows), noSourceScript: 2 };
  }
}

function jsonOf(rows: readonly Row[]): string {
  return JSON.stringify(
    rows.map(({ number, text }) => ({ Key: keyOf(number), Speaker: SPEAKER, Text: text })),
  );
}

function entriesOf(rows: readonly Row[]): Record<string, string> {
  const size = Math.ceil(rows.length / ENTRIES_OF_ZIP);
  return Object.fromEntries(
    Array.from({ length: ENTRIES_OF_ZIP }, (_, entry) => [
      `Scenario${entry}.json`,
      jsonOf(rows.slice(entry * size, (entry + 1) * size)),
    ]),
  );
}

function bundleOf(container: number, rows: readonly Row[]): Buffer {
  const table = stringTable(
    `Table${container}_ja`,
    'ja',
    BigInt(container + 1),
    rows.map(({ number, text }) => ({ id: BigInt(number + 1) * 65_536n, text })),
  );
  const bytes = writeSerializedFile({ version: 22, objects: [table], externals: ['archive:/scripts'] });
  return writeBundle([{ name: `CAB-${String(container).padStart(32, '0')}`, bytes }]);
}

function keyOf(number: number): string {
  return `line_${number}`;
}
