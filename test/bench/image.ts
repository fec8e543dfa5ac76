import { join } from 'node:path';
import { buildImage, makeBaseImage } from '../support/container-image.ts';
import { startDocker, type Docker } from '../support/docker.ts';
import type { BenchOptions, BenchRow } from './bench-row.ts';
import { median } from './statistics.ts';

const MEBIBYTE = 1024 * 1024;
const BASE = 'slipway-bench-base:1';
const IMAGE = 'slipway-bench:1';

/** Runs in the container: loads the server with and without the compile cache of the image, in turns. */
const STARTS = `
import { spawnSync } from 'node:child_process';
const start = (cache) => {
  const began = performance.now();
  const { stderr } = spawnSync('busybox', ['time', '-v', 'node', 'cmd/server.ts', '--help'], {
    encoding: 'utf8', env: { ...process.env, NODE_COMPILE_CACHE: cache },
  });
  const kibibytes = /Maximum resident set size \\(kbytes\\): ([0-9]+)/.exec(stderr);
  return [performance.now() - began, Number(kibibytes[1]) / 1024];
};
const rounds = [];
for (let round = -1; round < Number(process.argv[1]); round += 1) {
  const pair = { with: start(process.env.NODE_COMPILE_CACHE), without: start('') };
  if (round >= 0) rounds.push(pair);
}
console.log(JSON.stringify(rounds));
`;

interface Pair {
  /** Milliseconds and MiB. */
  readonly with: readonly [number, number];
  readonly without: readonly [number, number];
}

/** The size that the image adds to its base image, and the time that its compile cache saves. */
export async function run({ rounds, workDirectory }: BenchOptions): Promise<BenchRow[]> {
  const docker = await startDocker();
  if (docker === null) return [];
  try {
    await makeBaseImage(docker, BASE, join(workDirectory, 'base'));
    buildImage(docker, BASE, IMAGE);
    const added = (sizeOf(docker, IMAGE) - sizeOf(docker, BASE)) / MEBIBYTE;
    const network = ['run', '--rm', '--network=none', '--read-only', IMAGE];
    const script = ['--input-type=module', '-e', STARTS, String(rounds)];
    const pairs = JSON.parse(docker.run(...network, ...script)) as readonly Pair[];
    const times = pairs.map((pair) => pair.with[0] / pair.without[0]);
    const memory = pairs.map((pair) => pair.without[1] - pair.with[1]);
    const milliseconds = (side: 'with' | 'without'): string =>
      median(pairs.map((pair) => pair[side][0])).toFixed(0);
    return [
      {
        case: 'image: what it adds to its base',
        value: added,
        unit: 'MiB',
        target: '<= 40',
        pass: added <= 40,
        rounds: [added],
        note: 'packages, sources and compile cache; the base is that of NODE_IMAGE',
      },
      {
        case: 'image: loading the server with its compile cache against without',
        value: median(times),
        unit: 'ratio',
        target: '<= 0.8',
        pass: median(times) <= 0.8,
        rounds: times,
        note: `${milliseconds('with')} ms against ${milliseconds('without')} ms`,
      },
      {
        case: 'image: memory that the compile cache saves at the start',
        value: median(memory),
        unit: 'MiB',
        target: '>= 10',
        pass: median(memory) >= 10,
        rounds: memory,
        note: 'peak resident memory',
      },
    ];
  } finally {
    for (const image of [IMAGE, BASE]) docker.tryRun('image', 'rm', '--force', image);
    await docker.stop();
  }
}

function sizeOf(docker: Docker, image: string): number {
  return Number(docker.run('image', 'inspect', '--format={{.Size}}', image));
}
