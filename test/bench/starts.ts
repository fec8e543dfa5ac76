import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { IMAGE_NODE_OPTIONS } from '../support/image-node-options.ts';
import { benchRow, type BenchOptions, type BenchRow } from './bench-row.ts';
import { startSlipwaySite, type SlipwaySite } from './bytes/slipway-site.ts';
import { secondsOf } from './elapsed.ts';
import { median } from './statistics.ts';

const PROGRAM = join(import.meta.dirname, '../../cmd/slipway.ts');
const FILES = 100;
const execute = promisify(execFile);

/** How long programs take to start, as multiples of `node --version` in the same round. */
export async function run({ rounds, quick, workDirectory }: BenchOptions): Promise<BenchRow[]> {
  const directory = join(workDirectory, 'starts');
  const files = join(directory, 'files');
  await mkdir(files, { recursive: true });
  for (let i = 0; i < FILES; i += 1) await writeFile(join(files, `${i}.bin`), `file ${i}\n`);
  const site = await startSlipwaySite(join(directory, 'slipway'), files);
  try {
    // The first start of each program compiles its modules.
    const token = join(directory, 'token');
    await writeFile(token, 'a-token-of-the-bench-that-is-long-enough\n', { mode: 0o600 });
    const serving = await site.startServer('serving', { admin: { tokenFiles: [token] } });
    const starts = startsOf(site, ['--url', serving.url('/'), '--token-file', token]);
    const times: Array<readonly number[]> = [];
    for (let round = -1; round < rounds; round += 1) {
      const milliseconds: number[] = [];
      for (const { start } of starts) milliseconds.push(1000 * (await secondsOf(start)));
      if (round >= 0) times.push(milliseconds);
    }
    const [node = []] = starts.map((_, at) => times.map((round) => round[at] ?? Number.NaN));
    return starts.slice(1).map(({ name, atMost }, at) => {
      const ours = times.map((round) => round[at + 1] ?? Number.NaN);
      return benchRow({
        name: `start: ${name}`,
        rounds: ours.map((milliseconds, round) => milliseconds / (node[round] ?? Number.NaN)),
        unit: 'x node --version',
        ...(atMost === null ? {} : { bound: { atMost } }),
        judged: !quick,
        note: `${median(ours).toFixed(0)} ms against ${median(node).toFixed(0)} ms`,
      });
    });
  } finally {
    await site.stop();
  }
}

interface Start {
  readonly name: string;
  /** Times `node --version`; `null` for what is only measured. */
  readonly atMost: number | null;
  readonly start: () => Promise<unknown>;
}

function startsOf(site: SlipwaySite, connection: readonly string[]): readonly Start[] {
  const node = async (...args: string[]): Promise<unknown> =>
    await execute(process.execPath, args, {
      env: { ...process.env, NODE_OPTIONS: IMAGE_NODE_OPTIONS },
    });
  let servers = 0;
  return [
    { name: 'node --version', atMost: null, start: async () => await node('--version') },
    { name: 'a script that does nothing', atMost: null, start: async () => await node('--eval', '0') },
    { name: 'slipway --version', atMost: 2, start: async () => await node(PROGRAM, '--version') },
    {
      name: 'slipway ctl status',
      atMost: 4,
      start: async () => await node(PROGRAM, 'ctl', ...connection, 'status'),
    },
    {
      name: `a server until it serves a release of ${FILES} files`,
      atMost: 8,
      start: async () => {
        servers += 1;
        await (await site.startServer(`server-${servers}`)).stop();
      },
    },
  ];
}
