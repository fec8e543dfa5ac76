import { spawnSync } from 'node:child_process';
import { randomFillSync } from 'node:crypto';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createHashPool } from '../../src/platform/hashing/hash-pool.ts';
import type { HashPool } from '../../src/platform/hashing/digests.ts';
import type { BenchOptions, BenchRow } from './bench-row.ts';
import { median } from './statistics.ts';

const MIB = 1024 * 1024;
const FILE_BYTES = 64 * MIB;

/**
 * BLAKE3 of files by the hash pool against b3sum, with the files in the page cache. The threads of the pool already
 * run, as in a daemon and a server; the note reports the cost of their start. The order of the two sides changes from
 * round to round.
 */
export async function run({ rounds, quick, workDirectory }: BenchOptions): Promise<BenchRow[]> {
  const paths = await writeFiles(workDirectory, quick ? 2 : 16);
  const bytes = paths.length * FILE_BYTES;
  const rows: BenchRow[] = [];
  for (const { threads, target, peer } of [
    { threads: 1, target: 0.9, peer: ['--num-threads', '1', '--no-mmap'] },
    { threads: 2, target: 0.85, peer: ['--num-threads', '2'] },
  ]) {
    const hasPeer = spawnSync('b3sum', ['--version']).status === 0;
    const ours: number[] = [];
    const theirs: number[] = [];
    const ratios: number[] = [];
    const pool = createHashPool({ threads });
    const startedAt = performance.now();
    await Promise.all(paths.slice(0, threads).map(async (path) => await poolDigests(pool, [path])));
    // The first file of each thread: the start of the thread and that file together, minus the time of a later file.
    const first = (performance.now() - startedAt) / 1000;
    // One round warms the page cache and checks that both sides agree.
    const expected = hasPeer ? peerDigests(peer, paths).digests : null;
    const found = (await poolDigests(pool, paths)).digests;
    if (expected !== null && expected.join() !== found.join()) throw new Error('b3sum gives other digests');
    for (let round = 0; round < rounds; round += 1) {
      const before = round % 2 === 0 ? (await poolDigests(pool, paths)).seconds : null;
      const other = hasPeer ? peerDigests(peer, paths).seconds : Number.NaN;
      const mine = before ?? (await poolDigests(pool, paths)).seconds;
      ours.push(bytes / mine / 1e9);
      theirs.push(bytes / other / 1e9);
      ratios.push(other / mine);
    }
    await pool.close();
    const start = Math.max(0, first * 1000 - (threads * FILE_BYTES) / median(ours) / 1e6);
    const value = median(ratios);
    rows.push({
      case: `BLAKE3 of files, ${threads} running thread${threads === 1 ? '' : 's'}`,
      value,
      unit: 'x b3sum',
      target: `>= ${target}`,
      pass: hasPeer && !quick ? value >= target : null,
      rounds: ratios,
      note: hasPeer
        ? `${median(ours).toFixed(2)} GB/s against ${median(theirs).toFixed(2)} GB/s of b3sum ${peer.join(' ')}; starting the threads takes ${start.toFixed(0)} ms once`
        : `${median(ours).toFixed(2)} GB/s; b3sum is not installed`,
    });
  }
  return rows;
}

async function writeFiles(directory: string, count: number): Promise<string[]> {
  const bytes = Buffer.allocUnsafe(FILE_BYTES);
  const paths: string[] = [];
  for (let i = 0; i < count; i += 1) {
    randomFillSync(bytes);
    const path = join(directory, `hashing-${i}`);
    await writeFile(path, bytes);
    paths.push(path);
  }
  return paths;
}

interface Measured {
  readonly seconds: number;
  readonly digests: readonly string[];
}

async function poolDigests(pool: HashPool, paths: readonly string[]): Promise<Measured> {
  const files = await Promise.all(paths.map(async (path) => await open(path)));
  const started = performance.now();
  const digests = await Promise.all(
    files.map(async ({ fd }) => (await pool.hashContent(fd, { blocks: false, fromDisk: false })).blake3),
  );
  const seconds = (performance.now() - started) / 1000;
  await Promise.all(files.map(async (file) => await file.close()));
  return { seconds, digests };
}

function peerDigests(options: readonly string[], paths: readonly string[]): Measured {
  const started = performance.now();
  const { stdout, status } = spawnSync('b3sum', [...options, '--no-names', ...paths], { encoding: 'utf8' });
  const seconds = (performance.now() - started) / 1000;
  if (status !== 0) throw new Error(`b3sum ended with ${status}`);
  return { seconds, digests: stdout.trim().split('\n') };
}
