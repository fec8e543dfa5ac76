/**
 * The releases and the localized part of a daemon, without its API: recovers, runs jobs, and prints the attested releases
 * after the recovery, after the job that a kill had interrupted, and after each of its own jobs. It prints `tmp` with the
 * temporary files of the store before its jobs begin.
 *
 * node test/support/localized-daemon-child.ts FOLDER JOB[,JOB...]|none [FAILPOINT]
 *
 * FOLDER is that of `openReleaseDaemon`. It has `next.json`, the texts of these jobs, and `texts.json`, those of the job before,
 * which continues if it was killed. A JOB is sync, localized-publish, localized-follow or localized-rollback. When the last job
 * reaches the failpoint, the process kills itself with SIGKILL, which no handler sees.
 */
import { readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { openLocalized } from '../../src/localization/localized/localized.ts';
import { noReleaseUnits } from '../../src/domain/translation/expected-outcomes.ts';
import { noUnits } from '../../src/domain/translation/unit-state.ts';
import { createSilentLogger } from '../../src/platform/logging/logging.ts';
import { systemClock as clock } from '../../src/platform/process/clock.ts';
import { openReleaseDaemon } from './release-daemon.ts';
import { createScriptedTexts, scriptedFreezer, textBuilders } from './scripted-texts.ts';

const [folder = '', kinds = 'none', place = ''] = process.argv.slice(2);
let armed = false;
const failpoints = {
  hit: (name: string): void => {
    if (armed && name === place) process.kill(process.pid, 'SIGKILL');
  },
};
const daemon = await openReleaseDaemon(folder, { failpoints });
const { engine, releases } = daemon;
const texts = createScriptedTexts();
const readTexts = async (): Promise<void> => {
  Object.assign(texts, JSON.parse(await readFile(join(folder, 'texts.json'), 'utf8')));
};
await readTexts();
const localized = openLocalized({
  mirroredFrom: () => null,
  ...daemon,
  ...releases,
  clock,
  failpoints,
  releases: releases.repository,
  dataDirectory: folder,
  exchangeRoot: () => folder,
  patchRoot: () => folder,
  isPreparing: () => false,
  policy: () => ({ minState: 'proofread', include: [], exclude: [], minCoverage: 0 }),
  configuration: () => ({ auto: true }),
  work: () => {
    const releaseId = releases.repository.current('official')?.release_id ?? '';
    return {
      built: { releaseId, generation: 1 },
      index: { release_id: releaseId, generation: 1 },
      units: { ...noReleaseUnits(), units: { ...noUnits(), proofread: 2 } },
    };
  },
  refreshTexts: async () => undefined,
  triggers: [],
  edits: [],
  logger: createSilentLogger(),
  freezer: scriptedFreezer(texts, []),
  openBuilders: async () => textBuilders(texts),
  texts: {
    hold: async () => 1,
    countHolds: async () => 1,
    compare: async () => null,
    markPublished: async () => undefined,
  },
});
engine.jobs.register(...[...releases.jobs, ...localized.jobs].map((job) => ({ ...job, maxAttempts: 1 })));
// The timers of the daemon alone do not keep a process alive.
const alive = setInterval(() => undefined, 1000);
await daemon.start();
daemon.printAttested();
// The job that was killed continues, without another kill.
engine.start();
await daemon.settle();
daemon.printAttested();
process.stdout.write(`tmp ${JSON.stringify(await readdir(join(daemon.root, 'tmp')))}\n`);
if (kinds !== 'none') {
  await rename(join(folder, 'next.json'), join(folder, 'texts.json'));
  await readTexts();
  const jobs = kinds.split(',');
  for (const [at, kind] of jobs.entries()) {
    armed = at === jobs.length - 1;
    // A rollback of the round before can have withdrawn the channel.
    const args = kind === 'localized-publish' ? { from_worker: true, resume: true } : {};
    const task = await daemon.run({ kind, args: engine.jobs.find(kind)?.arguments.parse(args) ?? {} });
    armed = false;
    // Without a localized release there is nothing to roll back.
    if (task.status !== 'succeeded' && task.failure_code !== 'nothing_to_roll_back')
      throw new Error(`${task.failure_code}: ${task.failure_reason}`);
    daemon.printAttested();
  }
}
await daemon.stop();
clearInterval(alive);
