import type { DevIo } from './dev-options.ts';
import { Readable } from 'node:stream';
import { REPORTS } from '../src/contract/reports/reports.ts';
import { z } from 'zod';
import { parseJsonExact } from '../src/contract/json/json-exact.ts';
import { runCtl } from '../src/cli/ctl/ctl.ts';
import type { DemoReleaseId } from './game/demo-story.ts';
import { waitForRelease } from './daemon-progress.ts';
import type { DemoUpstream } from './demo-upstream.ts';

/** A running system. */
export interface RunningService {
  readonly serverUrl: string;
  /** File with the admin token. */
  readonly tokenFile: string;
  readonly adminToken: string;
}

const POLL_MS = 250;

const TASK = REPORTS['task.status'].answer.schema;
const STATUS = REPORTS['parse.status'].answer.schema;
const SYNCED = z.looseObject({ release_id: z.string() });

/** How the text of a release follows that of the previous one; `null` for the first one. */
export type CarryOver = ReturnType<typeof STATUS.parse>['carry_over'];

/** A release that is served, with its text. */
export interface IndexedRelease {
  /** The id that the daemon gave it. It has a suffix when another release had the id before. */
  readonly releaseId: string;
  readonly carryOver: CarryOver;
}

/**
 * Offers a demo release to a running system: syncs it, and returns when it is served and its text is indexed. The text of
 * the served release is indexed first, because a release is compared with the one that was indexed last.
 *
 * @throws Error with the output of the step that failed; the signal's reason
 */
export async function playRelease(
  upstream: DemoUpstream,
  next: DemoReleaseId,
  service: RunningService,
  io: DevIo,
): Promise<IndexedRelease> {
  const served = await waitForRelease(service, io);
  await waitForIndex(service, served.releaseId, io);
  await upstream.offer(next);
  const output = await callCtl(service, ['run', 'sync', '--wait', '--output', 'json'], io);
  const { release_id: releaseId } = SYNCED.parse(TASK.parse(parseJsonExact(output)).task.result);
  await waitForRelease({ ...service, releaseId }, io);
  return await waitForIndex(service, releaseId, io);
}

/**
 * Waits until the reports show the text of a release, which the daemon indexes when it becomes current.
 *
 * @throws Error when it is not indexed; the signal's reason
 */
export async function waitForIndex(
  service: RunningService,
  releaseId: string,
  io: DevIo,
): Promise<IndexedRelease> {
  for (;;) {
    const report = await callCtl(service, ['report', 'parse.status', '--output', 'json'], io);
    const {
      release_id: indexed,
      carry_over: carryOver,
      last_run: run,
    } = STATUS.parse(parseJsonExact(report));
    if (indexed === releaseId) return { releaseId, carryOver };
    if (run?.status === 'failed' || run?.status === 'cancelled') {
      throw new Error(`the text of ${releaseId} was not indexed; see "slipway ctl task show ${run.task_id}"`);
    }
    await io.clock.sleep(POLL_MS, io.signal);
  }
}

/**
 * Calls `slipway ctl` on a running system.
 *
 * @returns its output
 * @throws Error with its output when it fails; the signal's reason
 */
export async function callCtl(
  { serverUrl, tokenFile }: RunningService,
  words: readonly string[],
  { clock, signal }: DevIo,
): Promise<string> {
  const printed = { output: '', errors: '' };
  const collect = (stream: keyof typeof printed): { write(text: string | Uint8Array): void } => ({
    write: (text) => {
      printed[stream] += typeof text === 'string' ? text : Buffer.from(text).toString();
    },
  });
  const code = await runCtl(
    [...words, '--url', serverUrl, '--token-file', tokenFile],
    {
      stdout: collect('output'),
      stderr: collect('errors'),
      stdin: Readable.from([]),
      env: {},
      clock,
      signal,
    },
    { name: 'slipway ctl', plugin: false, version: 'dev' },
  );
  signal.throwIfAborted();
  if (code === 0) return printed.output;
  throw new Error(`"slipway ctl ${words.join(' ')}" failed: ${(printed.output + printed.errors).trim()}`);
}
