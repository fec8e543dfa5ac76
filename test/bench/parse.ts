import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { writeBundle } from '../../demo/game/unity/write-bundle.ts';
import { bytesSource } from '../../src/formats/byte-source.ts';
import { openBundle } from '../../src/formats/unity/bundle.ts';
import { openSerializedFile } from '../../src/formats/unity/serialized-file.ts';
import { visitObject } from '../../src/formats/unity/visit-object.ts';
import { READ_LIMITS, type ValueVisitor } from '../../src/formats/value-visitor.ts';
import { pythonProgram } from '../support/python-tools.ts';
import { ROWS_OF_TABLE, stringTables } from './string-tables.ts';
import type { BenchOptions, BenchRow } from './bench-row.ts';
import { medianOf, runPairedRounds } from './paired-rounds.ts';

const SCRIPT = resolve(import.meta.dirname, '../support/read-unity-bundles.py');

/** Processor time of one reading, and the texts that it found. */
interface Reading {
  readonly seconds: number;
  readonly texts: number;
}

/**
 * Reads every text of a bundle of string tables, from the compressed bytes to strings, against UnityPy. Both are measured in
 * processor time of one thread; the start of the processes does not count.
 */
export async function run({ rounds, quick, workDirectory }: BenchOptions): Promise<BenchRow[]> {
  const program = pythonProgram('unity-tools', null);
  if (program === null) return [];
  const python = async (...words: string[]): Promise<string> =>
    (await promisify(execFile)(program, [SCRIPT, ...words])).stdout;
  const files = { lz4: join(workDirectory, 'parse-lz4'), lzma: join(workDirectory, 'parse-lzma') };
  const texts = quick ? 2 * ROWS_OF_TABLE : 20 * ROWS_OF_TABLE;
  const file = stringTables(texts);
  await writeFile(files.lz4, writeBundle([{ name: 'CAB-tables', bytes: file }]));
  await python('pack', files.lz4, files.lzma);
  const rows: BenchRow[] = [];
  for (const { name, path, target } of [
    { name: 'LZ4', path: files.lz4, target: 5 },
    { name: 'LZMA', path: files.lzma, target: 1.3 },
  ]) {
    const { pairs, noisyRounds, isConclusive } = await runPairedRounds<Reading>({
      rounds,
      quick,
      ours: async () => await Promise.resolve(readTexts(path)),
      theirs: async () => JSON.parse(await python('time', path)) as Reading,
    });
    for (const { ours, theirs } of pairs) {
      if (ours.texts !== texts || theirs.texts !== texts) throw new Error('a reader found other texts');
    }
    const [ours, theirs] = [medianOf(pairs, 'ours', speed), medianOf(pairs, 'theirs', speed)];
    const ratios = pairs.map((pair) => pair.theirs.seconds / pair.ours.seconds);
    const value =
      medianOf(pairs, 'theirs', ({ seconds }) => seconds) / medianOf(pairs, 'ours', ({ seconds }) => seconds);
    rows.push({
      case: `texts of a Unity bundle, ${name}, ${texts} rows`,
      value,
      unit: 'x UnityPy',
      target: `>= ${target}`,
      pass: isConclusive ? value >= target : null,
      rounds: ratios,
      noisyRounds,
      note: `${ours.toFixed(0)} MB/s against ${theirs.toFixed(0)} MB/s of decompressed data`,
    });
  }
  return rows;

  function speed({ seconds }: Reading): number {
    return file.length / seconds / 1e6;
  }
}

function readTexts(path: string): Reading {
  const before = process.cpuUsage();
  const counter = textCounter();
  const bundle = openBundle(bytesSource(readFileSync(path)), READ_LIMITS);
  for (const node of bundle.nodes) {
    const file = openSerializedFile(bundle.open(node), { limits: READ_LIMITS });
    for (const object of file.objects) visitObject(file, object, counter.visitor, READ_LIMITS);
  }
  const { user, system } = process.cpuUsage(before);
  return { seconds: (user + system) / 1e6, texts: counter.count() };
}

function textCounter(): { readonly visitor: ValueVisitor; readonly count: () => number } {
  let field = '';
  let count = 0;
  const ignore = (): void => undefined;
  const visitor: ValueVisitor = {
    beginObject: ignore,
    endObject: ignore,
    beginArray: ignore,
    endArray: ignore,
    field: (name) => {
      field = name;
    },
    element: ignore,
    text: (value) => {
      if (field === 'm_Localized' && value !== '') count += 1;
    },
    bytes: ignore,
    integer: ignore,
    label: ignore,
    other: ignore,
  };
  return { visitor, count: () => count };
}
