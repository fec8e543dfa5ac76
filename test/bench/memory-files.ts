import { execFile } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { memoryIn, openMainMemory } from '../../src/localization/memory/store/memory-database.ts';
import { MEMORY_FORMATS } from '../../src/exchange/memory/memory-formats.ts';
import type { ReadMemoryRecord } from '../../src/exchange/tmx/tmx-record.ts';
import { memoryRecord } from '../support/memory-records.ts';
import { pythonProgram } from '../support/python-tools.ts';
import type { BenchOptions, BenchRow } from './bench-row.ts';
import { sentenceOf } from './japanese-texts.ts';
import { medianOf, runPairedRounds } from './paired-rounds.ts';
import { ownSeconds } from './processor-time.ts';
import { importRecords } from '../../src/localization/memory/store/memory-import.ts';
import { indexTexts } from '../../src/localization/memory/store/text-index.ts';

const SCRIPT = resolve(import.meta.dirname, '../support/translate-files.py');
const RECORDS = 50_000;
const BATCH_RECORDS = 200;
const INDEXED_TOGETHER = 500;
const MEBIBYTE = 2 ** 20;

/** A TMX file: parsing alone against translate-toolkit, and parsing with every record stored and indexed, in processor time. */
export async function run({ rounds, quick, workDirectory }: BenchOptions): Promise<BenchRow[]> {
  const path = join(workDirectory, 'memory.tmx');
  const records = quick ? 500 : RECORDS;
  await writeFile(path, tmxFile(records));
  const mebibytes = (await stat(path)).size / MEBIBYTE;
  const program = pythonProgram('translation-tools', null);
  const theirs = async (): Promise<number> => {
    if (program === null) return Number.NaN;
    const { stdout } = await promisify(execFile)(program, [SCRIPT, 'time', path]);
    return mebibytes / Number((JSON.parse(stdout) as number[])[0]);
  };
  const ours = async (): Promise<number> => mebibytes / (await parse(path, records));
  const { pairs, isConclusive, noisyRounds } = await runPairedRounds({ rounds, quick, ours, theirs });
  const [our, their] = [
    medianOf(pairs, 'ours', (value) => value),
    medianOf(pairs, 'theirs', (value) => value),
  ];
  const stored = mebibytes / (await store(path, workDirectory));
  const note = `${records} records, ${mebibytes.toFixed(0)} MiB`;
  return [
    {
      case: 'memory-files: parsing TMX against translate-toolkit',
      value: our / their,
      unit: 'x as fast',
      target: '>= 4',
      pass: isConclusive && program !== null ? our / their >= 4 : null,
      rounds: pairs.map((pair) => pair.ours / pair.theirs),
      note: `${note}; ${our.toFixed(1)} MiB/s against ${their.toFixed(1)}`,
      noisyRounds,
    },
    {
      case: 'memory-files: TMX with every record stored and indexed',
      value: stored,
      unit: 'MiB/s',
      target: 'none',
      pass: null,
      rounds: [stored],
      note,
    },
  ];
}

/** Processor seconds that reading the file takes. */
async function parse(path: string, records: number): Promise<number> {
  const start = ownSeconds(process.pid);
  let count = 0;
  for await (const _record of readRecords(path)) count += 1;
  if (count !== records) throw new Error(`${count} records were read`);
  return ownSeconds(process.pid) - start;
}

/** Processor seconds that reading the file, and storing and indexing its records, take. */
async function store(path: string, workDirectory: string): Promise<number> {
  const database = openMainMemory(join(workDirectory, 'import.db'));
  const memory = memoryIn(database);
  const note = { reviewer: '', reason: 'bench', at: 1 };
  try {
    const start = ownSeconds(process.pid);
    let batch: ReadMemoryRecord[] = [];
    let made = 0;
    const flush = (): void => {
      const imported = batch.map(({ provenance, record_id: _id, ...record }) => ({
        ...record,
        record_id: `tm_${String((made += 1)).padStart(26, '0')}`,
        provenance: { ...provenance, origin: 'import' as const },
        isTrusted: false,
      }));
      importRecords(memory, { records: imported, note, isDryRun: false });
      batch = [];
    };
    for await (const record of readRecords(path)) {
      batch.push(record);
      if (batch.length === BATCH_RECORDS) flush();
    }
    flush();
    while (indexTexts(memory, INDEXED_TOGETHER) > 0);
    return ownSeconds(process.pid) - start;
  } finally {
    database.close();
  }
}

async function* readRecords(path: string): AsyncGenerator<ReadMemoryRecord> {
  const reader = MEMORY_FORMATS.tmx.createReader('ja');
  for await (const piece of createReadStream(path)) {
    for (const unit of reader.write(piece as Buffer)) if (unit.kind === 'records') yield* unit.records;
  }
  reader.end();
}

function tmxFile(records: number): string {
  const writer = MEMORY_FORMATS.tmx.createWriter('ja', 'bench');
  const parts = [writer.begin()];
  for (let index = 0; index < records; index += 1) {
    const source_text = sentenceOf(index);
    parts.push(
      writer.write({
        ...memoryRecord(),
        record_id: `tm_${index}`,
        source_text,
        target_text: `${source_text}译`,
        context: { speaker: 'アロナ', field_path: `lines[${index}].text` },
        provenance: {
          origin: 'worker',
          provider: 'fixture',
          provider_run_id: null,
          task_id: 'tt_1',
          unit_id: `tu1_${index}`,
          release_id: 'r1',
        },
        created_at: 1_700_000_000,
      }),
    );
  }
  parts.push(writer.end());
  return parts.join('');
}
