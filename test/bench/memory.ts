import { join } from 'node:path';
import type { ProposedRecord } from '../../src/daemon/memory/store/memory-writer.ts';
import type { Database } from '../../src/daemon/database/sqlite-database.ts';
import { openMainMemory } from '../../src/daemon/memory/store/memory-database.ts';
import type { MemoryLookup } from '../../src/daemon/memory/store/memory-lookup.ts';
import { createWritableStore, type WritableStore } from '../../src/daemon/memory/store/memory-store.ts';
import type { BenchOptions, BenchRow } from './bench-row.ts';
import { median, quantile } from './statistics.ts';

const PAIR = { source_language: 'ja', target_language: 'zh-Hans' };
const BATCH_RECORDS = 200;
const BATCH_LOOKUPS = 500;
const EXACT_LOOKUPS = 100_000;
const FUZZY_LOOKUPS = 500;
/** One record of this many is confirmed, and looked up exactly. */
const TRUSTED_EVERY = 10;
const WORDS = 5000;
const ENDINGS = [
  'ですね。',
  'ます。',
  'だよ!',
  'でしょうか?',
  'なの……',
  'してください。',
  'ました。',
  'だと思う。',
];

/**
 * The Translation Memory with a million records: the rate of proposals, of exact lookups, and the time of a fuzzy one. One
 * thread, without the way between threads.
 */
export async function run({ rounds, quick, workDirectory }: BenchOptions): Promise<BenchRow[]> {
  const records = quick ? 2000 : 1_000_000;
  const database = openMainMemory(join(workDirectory, 'memory.db'));
  const store = createWritableStore(database);
  try {
    const proposed = fill(database, store, records);
    const exact = Array.from({ length: rounds }, (_, round) => exactRate(store, records, round));
    const fuzzy = Array.from({ length: rounds }, (_, round) => fuzzyTimes(store, records, round));
    const note = `${records} records`;
    const judged = (isMet: boolean): boolean | null => (quick ? null : isMet);
    const p95 = median(fuzzy.map((times) => quantile(times, 0.95)));
    return [
      {
        case: 'memory: proposals, in batches of 200',
        value: proposed,
        unit: 'records/s',
        target: '>= 5000',
        pass: judged(proposed >= 5000),
        rounds: [proposed],
        note,
      },
      {
        case: 'memory: exact lookups',
        value: median(exact),
        unit: 'lookups/s',
        target: '>= 70000',
        pass: judged(median(exact) >= 70_000),
        rounds: exact,
        note,
      },
      {
        case: 'memory: fuzzy lookup, p95',
        value: p95,
        unit: 'ms',
        target: '<= 20',
        pass: judged(p95 <= 20),
        rounds: fuzzy.map((times) => quantile(times, 0.95)),
        note: `${note}; median ${median(fuzzy.flat()).toFixed(2)} ms`,
      },
    ];
  } finally {
    database.close();
  }
}

/** Proposes all records and confirms some; gives the proposals per second. */
function fill(database: Database, store: WritableStore, records: number): number {
  let proposing = 0;
  for (let first = 0; first < records; first += BATCH_RECORDS) {
    const batch = Array.from({ length: Math.min(BATCH_RECORDS, records - first) }, (_, index) =>
      recordOf(first + index),
    );
    const start = performance.now();
    store.propose(batch, 1);
    proposing += performance.now() - start;
    database.transaction(() => {
      for (const { record_id } of batch.filter((_, index) => index % TRUSTED_EVERY === 0))
        confirm(store, record_id);
    });
  }
  return (records * 1000) / proposing;
}

function confirm(store: WritableStore, record_id: string): void {
  const confirmed = store.confirm({
    record_id,
    supersede_record_id: null,
    force: false,
    reviewer: 'bench',
    reason: null,
    at: 1,
  });
  if (!confirmed.ok) throw new Error(confirmed.error.message);
}

function exactRate(store: WritableStore, records: number, round: number): number {
  const random = createRandom(round);
  const lookups = Array.from({ length: EXACT_LOOKUPS }, () =>
    lookupOf(textOf(Math.floor((random() * records) / TRUSTED_EVERY) * TRUSTED_EVERY), 'exact'),
  );
  const start = performance.now();
  for (let first = 0; first < EXACT_LOOKUPS; first += BATCH_LOOKUPS) {
    const found = store.findAll(lookups.slice(first, first + BATCH_LOOKUPS));
    if (found.some((matches) => matches.length === 0)) throw new Error('a record was not found');
  }
  return (EXACT_LOOKUPS * 1000) / (performance.now() - start);
}

function fuzzyTimes(store: WritableStore, records: number, round: number): number[] {
  const random = createRandom(round + 100);
  return Array.from({ length: FUZZY_LOOKUPS }, () => {
    const points = Array.from(textOf(Math.floor(random() * records)));
    points.splice(Math.floor(random() * points.length), 1, '変');
    const lookup = lookupOf(points.join(''), 'all');
    const start = performance.now();
    store.find(lookup);
    return performance.now() - start;
  });
}

function lookupOf(source_text: string, depth: MemoryLookup['depth']): MemoryLookup {
  return { ...PAIR, source_text, context: {}, depth, limit: 10 };
}

function recordOf(index: number): ProposedRecord {
  const source_text = textOf(index);
  const provenance = {
    provider: null,
    provider_run_id: null,
    task_id: null,
    unit_id: null,
    release_id: null,
  };
  return {
    ...PAIR,
    record_id: `tm_${String(index).padStart(26, '0')}`,
    source_text,
    target_text: `${source_text}译`,
    context: {},
    provenance: { origin: 'worker', ...provenance },
  };
}

/** A sentence of three to eight words, frequent ones more often, and a frequent ending. */
function textOf(index: number): string {
  const random = createRandom(index + 1);
  let text = '';
  for (let word = 3 + Math.floor(random() * 6); word > 0; word -= 1)
    text += wordOf(Math.floor(random() ** 3 * WORDS));
  // No two texts are equal.
  const mark = String.fromCodePoint(0x4e_00 + (index % 1000), 0x4e_00 + Math.floor(index / 1000));
  return `${text}${mark}${index % 10}${ENDINGS[index % ENDINGS.length] ?? ''}`;
}

/** A word of two to four kana or kanji. */
function wordOf(index: number): string {
  const random = createRandom(index * 31 + 7);
  const isKana = random() < 0.5;
  let word = '';
  for (let left = 2 + Math.floor(random() * 3); left > 0; left -= 1) {
    word += String.fromCodePoint(
      isKana ? 0x30_42 + Math.floor(random() * 80) : 0x4e_00 + Math.floor(random() * 2000),
    );
  }
  return word;
}

function createRandom(seed: number): () => number {
  let state = Math.imul(seed + 1, 2_654_435_761) >>> 0;
  return () => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
