import process from 'node:process';
import { readCsv } from '../../src/formats/csv/read-csv.ts';
import { readJson } from '../../src/formats/json/read-json.ts';
import { readPo } from '../../src/formats/po/read-po.ts';
import { readScript } from '../../src/formats/script/read-script.ts';
import { scriptPreset } from '../../src/formats/script/script-presets.ts';
import { decodeText, type DecodedText, type NamedEncoding } from '../../src/formats/text/decode-text.ts';
import { readLines, type ReadTarget } from '../../src/formats/text/report-text.ts';
import { tableEncoding } from '../../src/formats/text/table-encoding.ts';
import { READ_LIMITS, visitorOf } from '../../src/formats/value-visitor.ts';
import { readXml } from '../../src/formats/xml/read-xml.ts';
import type { BenchOptions, BenchRow } from './bench-row.ts';
import { medianOf, runPairedRounds } from './paired-rounds.ts';

const LINES = 60_000;
const QUICK_LINES = 2000;

interface TextCase {
  readonly name: string;
  /** The least speed, as a share of that of JSON. */
  readonly target: number;
  readonly encoding?: NamedEncoding;
  readonly write: (lines: readonly string[]) => string;
  readonly read: (decoded: DecodedText, target: ReadTarget) => void;
}

const JSON_CASE: TextCase = {
  name: 'JSON',
  target: 1,
  write: (lines) => JSON.stringify(lines.map((text, id) => ({ id, speaker: 'アロナ', text }))),
  read: readJson,
};

const CASES: readonly TextCase[] = [
  {
    name: 'PO',
    target: 1,
    write: (lines) => lines.map((text, id) => `msgid "line_${id}"\nmsgstr "${text}"\n`).join('\n'),
    read: readPo,
  },
  {
    name: 'XML',
    target: 0.5,
    write: (lines) =>
      `<resources>${lines.map((text, id) => `<string name="line_${id}">${text}</string>\n`).join('')}</resources>`,
    read: readXml,
  },
  {
    name: "script, Ren'Py",
    target: 0.05,
    write: (lines) => lines.map((text) => `    a happy "${text}"\n`).join(''),
    read: (decoded, target) => readScript(decoded, scriptPreset('renpy'), target),
  },
  {
    name: 'script, Tyrano',
    target: 0.05,
    write: (lines) => lines.map((text) => `#アロナ\n${text}[p]\n`).join(''),
    read: (decoded, target) => readScript(decoded, scriptPreset('tyrano'), target),
  },
  {
    name: 'CSV with the delimiter `auto`',
    target: 2,
    write: (lines) => `id;speaker;text\n${lines.map((text, id) => `${id};アロナ;"${text}"\n`).join('')}`,
    read: (decoded, target) => readCsv(decoded, { delimiter: 'auto', header: true }, target),
  },
  ...(['cp932', 'gb18030'] as const).map((encoding) => ({
    name: `lines in ${encoding}`,
    target: 1,
    encoding,
    write: (lines: readonly string[]) => lines.join('\n'),
    read: readLines,
  })),
];

/** Reads the same texts in each format of text files, from bytes to strings, against JSON in the same run, in processor time. */
export async function run({ rounds, quick }: BenchOptions): Promise<BenchRow[]> {
  const lines = Array.from(
    { length: quick ? QUICK_LINES : LINES },
    (_, id) => `先生、おはようございます！ ${id}回目の補習授業を始めましょう。`,
  );
  const json = bytesOf(JSON_CASE, lines);
  const rows: BenchRow[] = [];
  for (const each of CASES) {
    const bytes = bytesOf(each, lines);
    const { pairs, noisyRounds, isConclusive } = await runPairedRounds<number>({
      rounds,
      quick,
      ours: async () => await Promise.resolve(speed(each, bytes, lines.length)),
      theirs: async () => await Promise.resolve(speed(JSON_CASE, json, lines.length)),
    });
    const [ours, theirs] = [medianOf(pairs, 'ours', same), medianOf(pairs, 'theirs', same)];
    rows.push({
      case: `${each.name} against JSON, ${lines.length} texts`,
      value: ours / theirs,
      unit: 'x JSON',
      target: `>= ${each.target}`,
      pass: isConclusive ? ours / theirs >= each.target : null,
      rounds: pairs.map((pair) => pair.ours / pair.theirs),
      noisyRounds,
      note: `${ours.toFixed(1)} MB/s against ${theirs.toFixed(1)} MB/s`,
    });
  }
  return rows;
}

function same(figure: number): number {
  return figure;
}

function bytesOf({ write, encoding }: TextCase, lines: readonly string[]): Buffer {
  const text = write(lines);
  if (encoding !== 'cp932' && encoding !== 'gb18030') return Buffer.from(text);
  return tableEncoding(encoding).encode(text, (character) => {
    throw new Error(`${encoding} has no ${character}`);
  });
}

/** Megabytes of the file for each second of processor time. */
function speed({ read, encoding }: TextCase, bytes: Buffer, least: number): number {
  let texts = 0;
  const visitor = visitorOf({
    text: () => {
      texts += 1;
    },
  });
  const before = process.cpuUsage();
  read(decodeText(bytes, encoding), {
    visitor,
    limits: READ_LIMITS,
    reportPartError: (error) => {
      throw error;
    },
  });
  const { user, system } = process.cpuUsage(before);
  if (texts < least) throw new Error(`the reader found ${texts} texts of ${least}`);
  return bytes.length / (user + system);
}
