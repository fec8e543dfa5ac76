import { join } from 'node:path';
import process from 'node:process';
import { type ProposedRecord, proposeRecords } from '../../src/localization/memory/store/memory-writer.ts';
import {
  memoryIn,
  openMainMemory,
  type MainMemory,
} from '../../src/localization/memory/store/memory-database.ts';
import {
  type MemoryLookup,
  findMatches,
  findAllMatches,
} from '../../src/localization/memory/store/memory-lookup.ts';
import type { BenchOptions, BenchRow } from './bench-row.ts';
import { createRandom, sentenceOf } from './japanese-texts.ts';
import { confirmationOf, loadRecords } from './load-records.ts';
import { median, quantile } from './statistics.ts';
import { textPeers, writeTexts } from './text-peers.ts';
import { confirmRecords } from '../../src/localization/memory/store/memory-changes.ts';
import { indexTexts } from '../../src/localization/memory/store/text-index.ts';

const PAIR = { source_language: 'ja', target_language: 'zh-Hans' };
const BATCH_RECORDS = 200;
const MEASURED_PROPOSALS = 50_000;
const INDEXED_TOGETHER = 500;
const BATCH_LOOKUPS = 500;
const EXACT_LOOKUPS = 100_000;
const FUZZY_LOOKUPS = 500;
/** One record of this many is confirmed, and looked up exactly. */
const TRUSTED_EVERY = 10;
/** Queries that RapidFuzz answers, too; each takes it some 200 ms. */
const PEER_LOOKUPS = 40;

/**
 * The Translation Memory with a million records: the rate of proposals, of exact lookups, and the time of a fuzzy one. One
 * thread, without the way between threads.
 */
export async function run({ rounds, quick, workDirectory }: BenchOptions): Promise<BenchRow[]> {
  const records = quick ? 2000 : 1_000_000;
  const path = join(workDirectory, 'memory.db');
  const measured = Math.min(records, MEASURED_PROPOSALS);
  loadRecords(path, { count: records - measured, recordOf, isTrusted });
  const database = openMainMemory(path);
  const store = memoryIn(database);
  try {
    const proposed = proposedPerSecond(store, records - measured, measured);
    const indexed = indexedPerSecond(store);
    confirmFrom(store, records - measured, records);
    const exact = Array.from({ length: rounds }, (_, round) => exactRate(store, records, round));
    const fuzzy = Array.from({ length: rounds }, (_, round) => fuzzyTimes(store, records, round));
    const peer = await againstRapidFuzz(store, records, workDirectory);
    const note = `${records} records`;
    const judged = (isMet: boolean): boolean | null => (quick ? null : isMet);
    const p95 = median(fuzzy.map(({ each }) => quantile(each, 0.95)));
    const perSecond = (rates: readonly Rate[]): number => median(rates.map((rate) => rate.perSecond));
    const processorNote = (rates: readonly Rate[]): string =>
      `${note}; ${median(rates.map((rate) => rate.processorMicroseconds)).toFixed(1)} us of processor time each`;
    return [
      {
        case: 'memory: proposals, in batches of 200',
        value: proposed.perSecond,
        unit: 'records/s',
        target: '>= 5000',
        pass: judged(proposed.perSecond >= 5000),
        rounds: [proposed.perSecond],
        note: processorNote([proposed]),
      },
      {
        case: 'memory: indexing of proposed texts, later',
        value: indexed.perSecond,
        unit: 'records/s',
        target: 'none',
        pass: null,
        rounds: [indexed.perSecond],
        note: processorNote([indexed]),
      },
      {
        case: 'memory: exact lookups',
        value: perSecond(exact),
        unit: 'lookups/s',
        target: '>= 70000',
        pass: judged(perSecond(exact) >= 70_000),
        rounds: exact.map((rate) => rate.perSecond),
        note: processorNote(exact),
      },
      {
        case: 'memory: fuzzy lookup, p95',
        value: p95,
        unit: 'ms',
        target: '<= 20',
        pass: judged(p95 <= 20),
        rounds: fuzzy.map(({ each }) => quantile(each, 0.95)),
        note: `${processorNote(fuzzy.map(({ rate }) => rate))}; median ${median(fuzzy.flatMap(({ each }) => each)).toFixed(2)} ms`,
      },
      ...peerRows(peer, quick, note),
    ];
  } finally {
    database.close();
  }
}

function peerRows(
  peer: Awaited<ReturnType<typeof againstRapidFuzz>>,
  quick: boolean,
  note: string,
): BenchRow[] {
  if (peer === null) return [];
  const { ratio, found, peerMs } = peer;
  return [
    {
      case: 'memory: fuzzy lookup against RapidFuzz',
      value: ratio,
      unit: 'x as fast',
      target: '>= 30',
      pass: quick ? null : ratio >= 30,
      rounds: [ratio],
      note: `${note}; RapidFuzz compares with every record: median ${peerMs.toFixed(0)} ms`,
    },
    {
      case: 'memory: most similar records that are found',
      value: found,
      unit: '%',
      target: '>= 98',
      pass: quick ? null : found >= 98,
      rounds: [found],
      note: `of those that RapidFuzz finds for ${PEER_LOOKUPS} sentences with one other character`,
    },
  ];
}

/** The rate of some work, and the processor time of one piece of it. */
interface Rate {
  readonly perSecond: number;
  readonly processorMicroseconds: number;
}

/** Runs `work`, which gives how many pieces it did. */
function rateOf(work: () => number): Rate {
  const [start, before] = [performance.now(), process.cpuUsage()];
  const count = work();
  const { user, system } = process.cpuUsage(before);
  return {
    perSecond: (count * 1000) / (performance.now() - start),
    processorMicroseconds: (user + system) / count,
  };
}

/** Proposals in batches of the daemon's size. */
function proposedPerSecond(store: MainMemory, first: number, count: number): Rate {
  const records = Array.from({ length: count }, (_, index) => recordOf(first + index));
  return rateOf(() => {
    for (let at = 0; at < count; at += BATCH_RECORDS)
      proposeRecords(store, records.slice(at, at + BATCH_RECORDS), 1);
    return count;
  });
}

function indexedPerSecond(store: MainMemory): Rate {
  return rateOf(() => {
    let count = 0;
    for (let step = indexTexts(store, INDEXED_TOGETHER); step > 0; step = indexTexts(store, INDEXED_TOGETHER))
      count += step;
    return count;
  });
}

function isTrusted(index: number): boolean {
  return index % TRUSTED_EVERY === 0;
}

function confirmFrom(store: MainMemory, first: number, end: number): void {
  const indexes = Array.from({ length: end - first }, (_, at) => first + at).filter(isTrusted);
  confirmRecords(
    store,
    indexes.map((index) => confirmationOf(idOf(index))),
  );
}

function exactRate(store: MainMemory, records: number, round: number): Rate {
  const random = createRandom(round);
  const lookups = Array.from({ length: EXACT_LOOKUPS }, () =>
    lookupOf(sentenceOf(Math.floor((random() * records) / TRUSTED_EVERY) * TRUSTED_EVERY), 'exact'),
  );
  return rateOf(() => {
    for (let first = 0; first < EXACT_LOOKUPS; first += BATCH_LOOKUPS) {
      const found = findAllMatches(store, lookups.slice(first, first + BATCH_LOOKUPS));
      if (found.some((matches) => matches.length === 0)) throw new Error('a record was not found');
    }
    return EXACT_LOOKUPS;
  });
}

/** The milliseconds of each lookup, and the rate of all. */
function fuzzyTimes(
  store: MainMemory,
  records: number,
  round: number,
): { readonly each: readonly number[]; readonly rate: Rate } {
  const queries = queriesOf(records, round + 100, FUZZY_LOOKUPS);
  const each: number[] = [];
  const rate = rateOf(() => {
    for (const query of queries) each.push(timedFind(store, query).ms);
    return queries.length;
  });
  return { each, rate };
}

/** Sentences of records with one other character. */
function queriesOf(records: number, seed: number, count: number): string[] {
  const random = createRandom(seed);
  return Array.from({ length: count }, () => {
    const points = Array.from(sentenceOf(Math.floor(random() * records)));
    points.splice(Math.floor(random() * points.length), 1, '変');
    return points.join('');
  });
}

function timedFind(
  store: MainMemory,
  query: string,
): { readonly ms: number; readonly ids: readonly string[] } {
  const start = performance.now();
  const matches = findMatches(store, lookupOf(query, 'all'));
  return { ms: performance.now() - start, ids: matches.map(({ record }) => record.record_id) };
}

/** The same queries for us and for RapidFuzz, which compares with every record. */
async function againstRapidFuzz(
  store: MainMemory,
  records: number,
  workDirectory: string,
): Promise<{ readonly ratio: number; readonly found: number; readonly peerMs: number } | null> {
  const peer = textPeers();
  if (peer === null) return null;
  const [sources, asked] = [join(workDirectory, 'sources.jsonl'), join(workDirectory, 'queries.jsonl')];
  const queries = queriesOf(records, 7, PEER_LOOKUPS);
  await writeTexts(sources, sentences(records));
  await writeTexts(asked, queries);
  const answers = (await peer('fuzzy', sources, asked)) as { ms: number; index: number | null }[];
  const ours = queries.map((query) => timedFind(store, query));
  const wanted = answers.flatMap(({ index }, at) => (index === null ? [] : [{ id: idOf(index), at }]));
  const found = wanted.filter(({ id, at }) => ours[at]?.ids.includes(id) === true).length;
  const peerMs = median(answers.map(({ ms }) => ms));
  return {
    ratio: peerMs / median(ours.map(({ ms }) => ms)),
    found: (100 * found) / Math.max(1, wanted.length),
    peerMs,
  };
}

function* sentences(count: number): Generator<string> {
  for (let index = 0; index < count; index += 1) yield sentenceOf(index);
}

function lookupOf(source_text: string, depth: MemoryLookup['depth']): MemoryLookup {
  return { ...PAIR, source_text, context: {}, depth, limit: 10 };
}

function idOf(index: number): string {
  return `tm_${String(index).padStart(26, '0')}`;
}

/** A record; no two have the same text. */
export function recordOf(index: number): ProposedRecord {
  const source_text = sentenceOf(index);
  const provenance = {
    provider: null,
    provider_run_id: null,
    task_id: null,
    unit_id: null,
    release_id: null,
  };
  return {
    ...PAIR,
    record_id: idOf(index),
    source_text,
    target_text: `${source_text}译`,
    context: {},
    provenance: { origin: 'worker', ...provenance },
  };
}
