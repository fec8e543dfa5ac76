import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { createRandom } from '../../demo/game/seeded-random.ts';
import { makeAttestedStore } from '../support/bundles.ts';
import type { BenchOptions, BenchRow } from './bench-row.ts';
import { median } from './statistics.ts';

const MIB = 1024 * 1024;
const MEAN_BYTES = 4096;
/** The memory that a command may take, MiB: Node itself, a pack, and the digests of 200,000 objects. */
const MEMORY_MIB = 250;
const PROGRAM = resolve(import.meta.dirname, '../../cmd/slipway.ts');
/** Time between two looks at the memory of a command. */
const LOOK_MS = 20;

interface Run {
  readonly seconds: number;
  /** Largest resident memory, bytes. */
  readonly peak: number;
}

/** Export and import of a release of many small files: time against tar and sha256sum, and memory. */
export async function run(options: BenchOptions): Promise<BenchRow[]> {
  const entries = options.quick ? 2000 : 200_000;
  const folder = join(options.workDirectory, 'bundles');
  const store = await makeAttestedStore(folder);
  await store.release({ releaseId: 'r1', files: smallFiles(entries) });
  const [bundle, packed] = [join(folder, 'r1.tar'), join(folder, 'packed.tar')];
  const commands = {
    export: [process.execPath, PROGRAM, 'export', 'r1', '--data', store.root, '-o', bundle],
    check: [process.execPath, PROGRAM, 'import', bundle, '--keys', store.keyFile, '--check'],
  };
  const peers = { export: ['tar', '-cf', packed, '-C', store.root, 'objects'], check: ['sha256sum', bundle] };
  const rows: BenchRow[] = [];
  for (const name of ['export', 'check'] as const) {
    const [ours, theirs]: [Run[], Run[]] = [[], []];
    // The first round fills the page cache for both.
    for (let round = -1; round < Math.min(options.rounds, 3); round += 1) {
      const [mine, other] = [await runToEnd(commands[name]), await runToEnd(peers[name])];
      if (round >= 0) {
        ours.push(mine);
        theirs.push(other);
      }
    }
    const size = `${entries} objects, ${((await stat(bundle)).size / MIB).toFixed(0)} MiB`;
    const [seconds, peaks] = [ours.map((each) => each.seconds), ours.map(({ peak }) => peak / MIB)];
    rows.push(
      {
        case: TITLES[name],
        value: median(seconds),
        unit: 's',
        target: 'none',
        pass: null,
        rounds: seconds,
        note: `${size}; ${PEERS[name]} ${median(theirs.map((each) => each.seconds)).toFixed(1)} s`,
      },
      {
        case: `${TITLES[name]}: peak RSS`,
        value: median(peaks),
        unit: 'MiB',
        target: `<= ${MEMORY_MIB}`,
        pass: median(peaks) <= MEMORY_MIB,
        rounds: peaks,
        note: size,
      },
    );
  }
  return rows;
}

const TITLES = { export: 'slipway export', check: 'slipway import --check' } as const;
const PEERS = { export: 'tar of the same objects', check: 'sha256sum of the bundle' } as const;

function smallFiles(count: number): Record<string, Buffer> {
  const random = createRandom(4711);
  const names = Array.from({ length: count }, (_, at) => `Bundles/${at % 997}/resource-${at}.bundle`);
  return Object.fromEntries(
    names.map((name) => [
      name,
      random.bytes(Math.floor(MEAN_BYTES * (0.1 + (1.8 * random.below(1000)) / 999))),
    ]),
  );
}

/** Runs a command to its end, which must be a success. */
async function runToEnd([program = '', ...argv]: readonly string[]): Promise<Run> {
  const started = performance.now();
  const child = spawn(program, argv, { stdio: ['ignore', 'ignore', 'pipe'] });
  let text = '';
  child.stderr.on('data', (bytes: Buffer) => (text += bytes.toString()));
  const ended = once(child, 'exit');
  let peak = 0;
  while (child.exitCode === null) {
    // A process that has just ended has no memory.
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
    peak = Math.max(peak, Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024);
    await Promise.race([ended, setTimeout(LOOK_MS)]);
  }
  const [code] = (await ended) as [number | null];
  if (code !== 0) throw new Error(`${program} ended with ${String(code)}: ${text}`);
  return { seconds: (performance.now() - started) / 1000, peak };
}
