/**
 * The releases part of a daemon, without its API: recovers, syncs once, and prints the attested releases after each. A
 * job `note` runs after a release became current.
 *
 * node test/support/release-daemon-child.ts FOLDER [FAILPOINT recovery|sync]
 *
 * FOLDER is that of `openReleaseDaemon`. When the recovery or the sync reaches the failpoint, the process kills itself with
 * SIGKILL, which no handler sees.
 */
import process from 'node:process';
import { z } from 'zod';
import { subscriber } from '../../src/daemon/events/event-subscriber.ts';
import { SYNC_JOB } from '../../src/daemon/releases/jobs/release-jobs.ts';
import { callOf, implementJob, type JobDefinition } from '../../src/daemon/tasks/job.ts';
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
await daemon.start();
daemon.printAttested();
armed = true;
// Joins the sync that an earlier process left behind.
const task = await daemon.run(callOf(SYNC_JOB, {}));
if (task.status !== 'succeeded') throw new Error(`${task.failure_code}: ${task.failure_reason}`);
daemon.printAttested();
// Every queued note ends, too.
await daemon.settle();
await daemon.stop();
