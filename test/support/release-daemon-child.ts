/**
 * The releases part of a daemon, without its API: recovers, ends the sync that a kill had interrupted, and syncs the next
 * release. It prints the attested releases after each of the three. Before the last it prints `left`: the temporary files of the
 * store, and the jobs `note`, each of which runs after a release became current.
 *
 * node test/support/release-daemon-child.ts FOLDER [FAILPOINT recovery|sync]
 *
 * FOLDER is that of `openReleaseDaemon`. The next release is in its folder `next`, which becomes `upstream`; without it, nothing
 * is synced. When the recovery or the sync of the next release reaches the failpoint, the process kills itself with SIGKILL,
 * which no handler sees.
 */
import { existsSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { z } from 'zod';
import { subscriber } from '../../src/engine/events/event-subscriber.ts';
import { SYNC_JOB } from '../../src/releases/jobs/release-jobs.ts';
import { callOf, implementJob, type JobDefinition } from '../../src/engine/tasks/job.ts';
import { openReleaseDaemon } from './release-daemon.ts';

const [folder = '', failpoint, phase] = process.argv.slice(2);
let armed = phase === 'recovery';
const failpoints = {
  hit: (name: string): void => {
    if (armed && name === failpoint) process.kill(process.pid, 'SIGKILL');
  },
};
const NOTE_JOB = {
  kind: 'note',
  summary: 'Does nothing with the release that became current.',
  lane: 'i18n',
  scope: 'operate',
  groups: [],
  arguments: z.strictObject({ release_id: z.string() }),
  resumable: true,
  maxAttempts: 1,
  storeLock: 'none',
} as const satisfies JobDefinition;
const subscribers = [subscriber('note', NOTE_JOB, ({ release_id }) => ({ release_id }))];
const daemon = await openReleaseDaemon(folder, { failpoints, subscribers });
daemon.engine.jobs.register(
  ...daemon.releases.jobs.map((job) => ({ ...job, maxAttempts: 1 })),
  implementJob(NOTE_JOB, () => Promise.resolve({})),
);
// The timers of the daemon alone do not keep a process alive.
const alive = setInterval(() => undefined, 1000);
await daemon.start();
daemon.printAttested();
armed = false;
daemon.engine.start();
await daemon.settle();
daemon.printAttested();
const notes = daemon.database
  .prepare("SELECT args_json, status FROM task WHERE kind = 'note' ORDER BY seq")
  .all()
  .map(({ args_json: args, status }) => [
    NOTE_JOB.arguments.parse(JSON.parse(String(args))).release_id,
    status,
  ]);
process.stdout.write(
  `left ${JSON.stringify({ temporary: await readdir(join(daemon.root, 'tmp')), notes })}\n`,
);
const next = join(folder, 'next');
if (existsSync(next)) {
  const upstream = join(folder, 'upstream');
  await rm(upstream, { recursive: true, force: true });
  await rename(next, upstream);
  armed = phase === 'sync';
  const task = await daemon.run(callOf(SYNC_JOB, {}));
  if (task.status !== 'succeeded') throw new Error(`${task.failure_code}: ${task.failure_reason}`);
  // Every queued note ends, too.
  await daemon.settle();
  daemon.printAttested();
}
await daemon.stop();
clearInterval(alive);
