import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { writeBundle } from '../../demo/game/unity/write-bundle.ts';
import type { FrozenEdit } from '../../src/localization/localized/freeze/frozen-release.ts';
import { editLines, editOf } from '../support/frozen-edits.ts';
import { parseBytes } from '../support/parse-bytes.ts';
import { pythonProgram } from '../support/python-tools.ts';
import { textsOfBundle } from '../support/unity-texts.ts';
import type { BenchOptions, BenchRow } from './bench-row.ts';
import { medianOf, runPairedRounds } from './paired-rounds.ts';
import { ROWS_OF_TABLE, stringTables } from './string-tables.ts';

import process from 'node:process';

const PEER = resolve(import.meta.dirname, '../support/read-unity-bundles.py');
const CHILD = resolve(import.meta.dirname, 'unity-patch-child.ts');
const FASTER = 3;
const MOST_EXTRA_BYTES = 150 * 1024 * 1024;

/** The environment and the options of a process that patches. */
const ENVIRONMENT = {
  ...process.env,
  UV_THREADPOOL_SIZE: '16',
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '262144',
};
const OPTIONS = ['--expose-gc', '--max-semi-space-size=16'];

/** One patching. */
interface Patching {
  /** Processor time. */
  readonly seconds: number;
  /** The same with the self-check; of Slipway only. */
  readonly checkedSeconds?: number;
  /** Resident memory beyond that of the process at rest; of Slipway only. */
  readonly extraBytes?: number;
}

/**
 * Patches every text of a bundle of string tables, from file to file, against UnityPy. Both are measured in processor time
 * of one process; the start of the processes does not count. Both read the same file of edits. The self-check of Slipway is
 * in the memory and in the note, and not in the speed: the peer checks nothing.
 */
export async function run({ rounds, quick, workDirectory }: BenchOptions): Promise<BenchRow[]> {
  const program = pythonProgram('unity-tools', null);
  if (program === null) return [];
  const measure = async (file: string, words: readonly string[]): Promise<Patching> =>
    JSON.parse((await promisify(execFile)(file, words, { env: ENVIRONMENT })).stdout) as Patching;
  const [input, edits, ours, theirs] = ['input', 'edits', 'ours', 'theirs'].map((name) =>
    join(workDirectory, `patch-${name}`),
  ) as [string, string, string, string];
  const rows = quick ? 2 * ROWS_OF_TABLE : 20 * ROWS_OF_TABLE;
  const bytes = stringTables(rows);
  const bundle = writeBundle([{ name: 'CAB-tables', bytes }]);
  await writeFile(input, bundle);
  await writeFile(edits, editLines(await editsOf(bundle)));
  const { pairs, noisyRounds, isConclusive } = await runPairedRounds<Patching>({
    rounds,
    quick,
    ours: async () => await measure(process.execPath, [...OPTIONS, CHILD, input, edits, ours]),
    theirs: async () => await measure(program, [PEER, 'patch', input, edits, theirs]),
  });
  checkSame(ours, theirs, rows);
  const extra = pairs.map((pair) => pair.ours.extraBytes ?? 0);
  const seconds = (side: 'ours' | 'theirs'): number => medianOf(pairs, side, (each) => each.seconds);
  const value = seconds('theirs') / seconds('ours');
  const checked = medianOf(pairs, 'ours', (each) => each.checkedSeconds ?? 0);
  const speed = (side: 'ours' | 'theirs'): string => (bytes.length / seconds(side) / 1e6).toFixed(0);
  const mebibytes = extra.map((each) => each / 2 ** 20);
  const most = Math.max(...mebibytes);
  return [
    {
      case: `patch a Unity bundle, LZ4, ${rows} rows`,
      value,
      unit: 'x UnityPy',
      target: `>= ${FASTER}`,
      pass: isConclusive ? value >= FASTER : null,
      rounds: pairs.map((pair) => pair.theirs.seconds / pair.ours.seconds),
      noisyRounds,
      note: `${speed('ours')} MB/s against ${speed('theirs')} MB/s of decompressed data; with the self-check ${checked.toFixed(1)} s instead of ${seconds('ours').toFixed(1)} s`,
    },
    {
      case: `memory to patch a Unity bundle, LZ4, ${rows} rows`,
      value: most,
      unit: 'MiB more than at rest',
      target: `< ${MOST_EXTRA_BYTES / 2 ** 20}`,
      pass: quick ? null : most * 2 ** 20 < MOST_EXTRA_BYTES,
      rounds: mebibytes,
      note: 'peak of resident memory, with the self-check',
    },
  ];
}

/** The edits that a translation of every row gives. */
async function editsOf(bundle: Buffer): Promise<readonly FrozenEdit[]> {
  const { units } = await parseBytes('a.bundle', bundle);
  return units.map((unit) => editOf(unit, `${unit.sourceText} translated`));
}

/** Both have to write the same texts, or the times mean nothing. */
function checkSame(ours: string, theirs: string, rows: number): void {
  const [left, right] = [ours, theirs].map((path) =>
    textsOfBundle(readFileSync(path)).texts.map(
      ({ pathId, path: field, text }) => `${pathId} ${field} ${text}`,
    ),
  );
  const changed = left?.filter((line) => line.endsWith(' translated')).length;
  if (changed !== rows || left?.join('\n') !== right?.join('\n')) {
    throw new Error('the patched bundles have other texts');
  }
}
