import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import process from 'node:process';
import { manifestDigestOf, type SnapshotId } from '../../src/domain/release/digest.ts';
import type { Destination } from '../../src/domain/release/destination.ts';
import type { Blake3Hex, Crc64Decimal } from '../../src/domain/release/digest.ts';
import type { ManifestEntry } from '../../src/domain/release/manifest.ts';
import type { ReleaseId } from '../../src/domain/release/release-id.ts';
import { systemClock } from '../../src/platform/process/clock.ts';
import { noFailpoints } from '../../src/platform/files/failpoints.ts';
import type { ManifestIndex } from '../../src/snapshot/manifest/manifest-index.ts';
import { manifestPath } from '../../src/snapshot/volume/layout.ts';
import { loadManifest } from '../../src/snapshot/manifest/manifest-loader.ts';
import { openWriterAt } from '../support/open-writer.ts';
import type { BenchOptions, BenchRow } from './bench-row.ts';
import { median } from './statistics.ts';

const PAGE = 1000;
const PAGE_REPEATS = 100;
const LINE_FEED = 0x0a;

/**
 * A manifest of a million entries: the cost of loading, the retained memory, and whether a page costs the same
 * everywhere.
 */
export async function run({ rounds, quick, workDirectory }: BenchOptions): Promise<BenchRow[]> {
  const count = quick ? 20_000 : 1_000_000;
  const root = join(workDirectory, 'manifest');
  const snapshotId = await writeManifest(root, count);
  const measured: Measurement[] = [];
  for (let round = 0; round < rounds; round += 1) measured.push(await measure(root, snapshotId));
  const row = (
    name: string,
    unit: string,
    limit: number,
    pick: (measurement: Measurement) => number,
    note = '',
  ): BenchRow => {
    const values = measured.map(pick);
    const value = median(values);
    return {
      case: name,
      value,
      unit,
      target: `<= ${limit}`,
      pass: quick ? null : value <= limit,
      rounds: values,
      note: `${count} entries${note}`,
    };
  };
  return [
    row(
      'manifest: load against JSON.parse of every line',
      'x',
      0.8,
      ({ seconds, parseSeconds }) => seconds / parseSeconds,
      `; load ${median(measured.map(({ seconds }) => seconds)).toFixed(2)} s, with its digest and the lookup table`,
    ),
    row('manifest: memory', 'B an entry', 100, ({ rss }) => rss, ', RSS before and after'),
    row('manifest: memory of the columns', 'B an entry', 100, ({ columns }) => columns),
    row('manifest: page at 90 % against page at 0', 'x', 1.1, ({ pageRatio }) => pageRatio),
    row('manifest: longest event-loop stall while it loads', 'ms', 20, ({ stall }) => stall),
  ];
}

interface Measurement {
  readonly seconds: number;
  /** Time of `JSON.parse` of every line of the same file, on the main thread. */
  readonly parseSeconds: number;
  readonly rss: number;
  readonly columns: number;
  readonly pageRatio: number;
  /** Milliseconds. */
  readonly stall: number;
}

async function measure(root: string, snapshotId: SnapshotId): Promise<Measurement> {
  const before = process.memoryUsage.rss();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const started = performance.now();
  const { index } = await loadManifest({ root, snapshotId, checkObjects: false });
  const seconds = (performance.now() - started) / 1000;
  delay.disable();
  const rss = (process.memoryUsage.rss() - before) / index.length;
  return {
    seconds,
    parseSeconds: timeJsonParse(root, snapshotId),
    rss,
    columns: index.memoryBytes / index.length,
    pageRatio: pageRatio(index),
    stall: delay.max / 1e6,
  };
}

/** Seconds to read the manifest file and parse each line as JSON: the simplest possible loader. */
function timeJsonParse(root: string, snapshotId: SnapshotId): number {
  const digest = manifestDigestOf(snapshotId);
  if (digest === null) throw new Error(`not a snapshot id: ${snapshotId}`);
  const started = performance.now();
  const bytes = readFileSync(manifestPath(root, digest));
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(LINE_FEED, start);
    JSON.parse(bytes.toString('utf8', start, end));
    start = end + 1;
  }
  return (performance.now() - started) / 1000;
}

/**
 * The time of a page far into the list divided by the time of the first page. Each is the median of many, measured in
 * turns.
 */
function pageRatio(index: ManifestIndex): number {
  const far = Math.floor(index.length * 0.9);
  const near: number[] = [];
  const distant: number[] = [];
  const time = (offset: number): number => {
    const started = performance.now();
    if (index.entries(offset, PAGE).length !== PAGE) throw new Error('the page is short');
    return performance.now() - started;
  };
  for (let repeat = 0; repeat < PAGE_REPEATS; repeat += 1) {
    near.push(time(0));
    distant.push(time(far));
  }
  return median(distant) / median(near);
}

async function writeManifest(root: string, count: number): Promise<SnapshotId> {
  const writer = await openWriterAt({ root, failpoints: noFailpoints, clock: systemClock });
  let bytes = 0;
  for (let i = 0; i < count; i += 1) bytes += sizeOf(i);
  const header = {
    format: 'slipway-manifest',
    version: 1,
    channel: 'official',
    release_id: 'bench' as ReleaseId,
    entry_count: count,
    total_bytes: bytes,
  } as const;
  return (await writer.writeManifest('bench', header, entries(count))).snapshotId;
}

function* entries(count: number): Generator<ManifestEntry> {
  for (let i = 0; i < count; i += 1) {
    const number = String(i).padStart(7, '0');
    // Spread like digests, without the cost of a million real digests.
    const digest = BigInt.asUintN(64, BigInt(i + 1) * 0x9e37_79b9_7f4a_7c15n)
      .toString(16)
      .padStart(16, '0')
      .repeat(4);
    const size = sizeOf(i);
    yield {
      destination:
        `MediaResources/GameData/Audio/VOC_JP/Folder_${number.slice(0, 4)}/Voice_${number}.zip` as Destination,
      size,
      blake3: digest as Blake3Hex,
      crc64: String(BigInt(`0x${digest.slice(0, 16)}`)) as Crc64Decimal,
      source: 'official',
      media_type: 'application/zip',
      ...(size > 1_048_576 ? { blocks: digest as Blake3Hex } : {}),
    };
  }
}

/** One entry in twenty is larger than a block. */
function sizeOf(i: number): number {
  return i % 20 === 0 ? 2_000_000 + i : 1000 + (i % 100_000);
}
