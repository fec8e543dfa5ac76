import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import type { ParsedUnit } from '../../src/localization/parse/container/parsed-container.ts';
import type { ContentOutcome } from '../../src/localization/parse/index/index-rows.ts';
import { openParseIndex, type ParseIndex } from '../../src/localization/parse/index/parse-index.ts';
import type { UnitQuery } from '../../src/localization/parse/index/read/unit-filter.ts';
import { systemClock } from '../../src/platform/process/clock.ts';
import type { BenchOptions, BenchRow } from './bench-row.ts';
import { processorSecondsOf } from './processor-time.ts';
import { largest, median } from './statistics.ts';

const MIB = 2 ** 20;
const BATCH_UNITS = 1000;
const LEAF_UNITS = 25;
const PAGE_UNITS = 100;
const PAGE_REPEATS = 100;
const OUTCOME: ContentOutcome = {
  parseStatus: 'parsed',
  format: 'json',
  skipped: {},
  seconds: 0,
  bytes: 0,
  isReusable: true,
};

/** A release of files that have equally many units. */
interface Corpus {
  readonly files: number;
  readonly unitsOfFile: number;
  /** Every n-th text differs from the release before; 0 for none. */
  readonly changedEvery: number;
}

/**
 * The parse index of a million units: the rate of inserts, a release without a change, pages far into the list, and the
 * carry-over to a release with 1 % of changed texts, spread over all files.
 */
export async function run({ rounds, quick, workDirectory }: BenchOptions): Promise<BenchRow[]> {
  const files = quick ? 80 : 8000;
  const corpus = { files, unitsOfFile: 125, changedEvery: 0 };
  const large = { files: 1, unitsOfFile: files * corpus.unitsOfFile, changedEvery: 0 };
  await mkdir(join(workDirectory, 'parse-index'));
  const figures = measureReleases(open(join(workDirectory, 'parse-index', 'many.db')), corpus, rounds);
  const single = measureReleases(open(join(workDirectory, 'parse-index', 'one.db')), large, rounds);
  const units = files * corpus.unitsOfFile;
  const row = (
    name: string,
    values: readonly number[],
    unit: string,
    limit: { readonly atLeast: number } | { readonly atMost: number },
    note = '',
  ): BenchRow => {
    const value = median(values);
    const isMet = 'atLeast' in limit ? value >= limit.atLeast : value <= limit.atMost;
    return {
      case: `parse index: ${name}`,
      value,
      unit,
      target: 'atLeast' in limit ? `>= ${limit.atLeast}` : `<= ${limit.atMost}`,
      pass: quick ? null : isMet,
      rounds: values,
      note: `${units} units${note}`,
    };
  };
  const inFiles = ` in ${files} files`;
  const batches = `; longest batch ${largest(figures.batches).toFixed(1)} ms, 99 % of them within ${figures.batch99.toFixed(1)} ms`;
  return [
    row('insert', [figures.insertRate], 'units/s', { atLeast: 60_000 }, `${inFiles}${batches}`),
    row('insert, one file', [single.insertRate], 'units/s', { atLeast: 60_000 }),
    row('unchanged release against the first', figures.unchanged, 'x faster', { atLeast: 20 }, inFiles),
    row('page at 90 % against page at 0', figures.pages, 'x', { atMost: 1.5 }, inFiles),
    row('page at 90 % against page at 0, by destination', single.destinationPages, 'x', { atMost: 1.5 }),
    row(
      'carry-over, 1 % changed',
      [figures.carrySeconds],
      's',
      { atMost: 60 },
      `${inFiles}${stepNote(figures)}`,
    ),
    row('carry-over, 1 % changed, one file', [single.carrySeconds], 's', { atMost: 60 }, stepNote(single)),
    row('memory while carrying over', [figures.carryRss], 'MiB RSS', { atMost: 300 }, inFiles),
    row('memory while carrying over, one file', [single.carryRss], 'MiB RSS', { atMost: 300 }),
  ];
}

interface Figures {
  readonly insertRate: number;
  /** Milliseconds of each batch. */
  readonly batches: readonly number[];
  readonly batch99: number;
  /** The time of the first release divided by that of one without a change. */
  readonly unchanged: readonly number[];
  /** The time of a page at 90 % divided by that of the first page. */
  readonly pages: readonly number[];
  readonly destinationPages: readonly number[];
  readonly carrySeconds: number;
  readonly carryProcessorSeconds: number;
  readonly carryRss: number;
  /** Milliseconds of the longest step of the carry-over. */
  readonly longestStep: number;
}

function stepNote({ longestStep, carryProcessorSeconds }: Figures): string {
  return `; ${carryProcessorSeconds.toFixed(1)} s of processor time; longest step ${longestStep.toFixed(0)} ms`;
}

function measureReleases(index: ParseIndex, corpus: Corpus, rounds: number): Figures {
  const units = corpus.files * corpus.unitsOfFile;
  const first = indexRelease(index, 'release-0', corpus);
  const unchanged: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    unchanged.push(first.seconds / indexRelease(index, `release-${round}`, corpus).seconds);
  }
  const far = Math.floor(units * 0.9);
  const ratios = (filter: Omit<UnitQuery, 'offset' | 'limit'>): number[] =>
    Array.from({ length: rounds }, () => pageRatio(index, filter, far));
  const pages = ratios({});
  const destinationPages = corpus.files === 1 ? ratios({ destination: destinationOf(0) }) : [];
  const changed = indexRelease(index, 'release-changed', { ...corpus, changedEvery: 100 });
  const { carry_over: carried } = index.status();
  if (carried?.changed !== units / 100 || carried.same !== units - units / 100) {
    throw new Error(`the carry-over is wrong: ${JSON.stringify(carried)}`);
  }
  index.close();
  const sorted = first.batches.toSorted((a, b) => a - b);
  return {
    insertRate: units / first.insertSeconds,
    batches: first.batches,
    batch99: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
    unchanged,
    pages,
    destinationPages,
    carrySeconds: changed.completeSeconds,
    carryProcessorSeconds: changed.completeProcessorSeconds,
    carryRss: changed.completeRss / MIB,
    longestStep: changed.longestStep,
  };
}

interface IndexTimes {
  /** Without the time that making the units took. */
  readonly seconds: number;
  readonly insertSeconds: number;
  readonly completeSeconds: number;
  readonly completeProcessorSeconds: number;
  readonly completeRss: number;
  readonly longestStep: number;
  readonly batches: readonly number[];
}

function indexRelease(index: ParseIndex, releaseId: string, corpus: Corpus): IndexTimes {
  const rules = digestOf('rules');
  const files = Array.from({ length: corpus.files }, (_, file) => ({
    destination: destinationOf(file),
    destinationKey: destinationOf(file),
    blake3: digestOf(`${file} ${corpus.unitsOfFile} ${corpus.changedEvery}`),
    rulesDigest: rules,
    ambiguity: null,
  }));
  const begun = performance.now();
  const { indexId, toParse } = index.begin({ releaseId, parserVersion: '1', rulesDigest: rules, files });
  const beginSeconds = (performance.now() - begun) / 1000;
  const batches: number[] = [];
  let insertSeconds = 0;
  for (const file of toParse) {
    const started = performance.now();
    const contentId = index.start(indexId, file);
    insertSeconds += (performance.now() - started) / 1000;
    for (let from = 0; from < corpus.unitsOfFile; from += BATCH_UNITS) {
      const units = makeUnits(corpus, file, from);
      const before = performance.now();
      index.append(contentId, units);
      batches.push(performance.now() - before);
    }
    const ending = performance.now();
    index.finish(contentId, OUTCOME);
    insertSeconds += (performance.now() - ending) / 1000;
  }
  insertSeconds += batches.reduce((sum, each) => sum + each, 0) / 1000;
  const completion = complete(index, indexId);
  return {
    ...completion,
    seconds: beginSeconds + insertSeconds + completion.completeSeconds,
    insertSeconds,
    batches,
  };
}

function complete(
  index: ParseIndex,
  indexId: number,
): Pick<IndexTimes, 'completeSeconds' | 'completeProcessorSeconds' | 'completeRss' | 'longestStep'> {
  const steps = index.complete(indexId);
  const started = performance.now();
  let [completeRss, longestStep, before] = [0, 0, started];
  const completeProcessorSeconds = processorSecondsOf(() => {
    for (let isDone = false; !isDone;) {
      isDone = steps.next().done === true;
      const now = performance.now();
      longestStep = Math.max(longestStep, now - before);
      completeRss = Math.max(completeRss, process.memoryUsage.rss());
      before = performance.now();
    }
  });
  const completeSeconds = (performance.now() - started) / 1000;
  return { completeSeconds, completeProcessorSeconds, completeRss, longestStep };
}

/** The time of a page far into the list divided by that of the first page, each the median of many in turns. */
function pageRatio(index: ParseIndex, filter: Omit<UnitQuery, 'offset' | 'limit'>, far: number): number {
  const time = (offset: number): number => {
    const started = performance.now();
    const { items } = index.textUnits({ ...filter, offset, limit: PAGE_UNITS });
    if (items.length !== PAGE_UNITS) throw new Error('the page is short');
    return performance.now() - started;
  };
  const [near, distant]: [number[], number[]] = [[], []];
  for (let repeat = 0; repeat < PAGE_REPEATS; repeat += 1) {
    near.push(time(0));
    distant.push(time(far));
  }
  return median(distant) / median(near);
}

function makeUnits({ unitsOfFile, changedEvery }: Corpus, file: number, from: number): ParsedUnit[] {
  const count = Math.min(BATCH_UNITS, unitsOfFile - from);
  return Array.from({ length: count }, (_, offset) => {
    const ordinal = from + offset;
    const number = file * unitsOfFile + ordinal;
    const isChanged = changedEvery > 0 && number % changedEvery === 0;
    const text = `${isChanged ? '変わった' : '同じ'}台詞、${number}番目の行です。`;
    const key = `rows/[Id=${number}]/TextJp`;
    return {
      archiveEntry: `Scenario${Math.floor(ordinal / LEAF_UNITS)
        .toString()
        .padStart(6, '0')}.json`,
      pathId: null,
      classId: null,
      format: 'json',
      fieldPath: `/rows/${ordinal}/TextJp`,
      keyPath: key,
      unitId: digestOf(key).subarray(0, 16),
      sourceDigest: digestOf(text),
      sourceText: text,
      speaker: 'アロナ',
      scene: null,
    };
  });
}

function destinationOf(file: number): string {
  return `TableBundles/Scenario/Part_${file.toString().padStart(7, '0')}.zip`;
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function open(path: string): ParseIndex {
  return openParseIndex(path, systemClock);
}
