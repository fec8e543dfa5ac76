import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import process from 'node:process';
import { createHttpClient } from '../src/platform/http/http-client.ts';
import type { DevUpstream } from './dev-upstream.ts';

const ANSWER_TIMEOUT_MS = 2_000;
const ANSWER_MAX_BYTES = 64 * 1024;
/** A run that is younger may not answer yet. */
const START_MS = 60_000;

/** The content of `dev.json`: where a run of `slipway dev` is. */
export interface DevSummary {
  /** Process id of `slipway dev`. */
  readonly pid: number;
  readonly server_url: string;
  readonly daemon_url: string;
  readonly metrics_url: string;
  /** The metrics of the daemon. */
  readonly daemon_metrics_url: string;
  readonly admin_token_file: string;
  readonly daemon_token_file: string;
  /** The first part of the paths of files; `null` until the first release is served. */
  readonly cdn_host: string | null;
  /** The kind of upstream. */
  readonly upstream: DevUpstream['kind'];
  /** The release that the start or the last `dev next` made current; `null` until the first one is served. */
  readonly release_id: string | null;
}

/** The part of the summary of a run that others use. */
interface RunningDev {
  readonly pid: number;
  readonly server_url: string;
  readonly upstream: DevUpstream['kind'];
  readonly release_id: string | null;
}

/** Writes the summary; a reader finds the old or the new one, never a part. */
export async function writeDevSummary(file: string, summary: DevSummary): Promise<void> {
  await writeFile(`${file}.new`, `${JSON.stringify(summary, null, 2)}\n`);
  await rename(`${file}.new`, file);
}

/**
 * Writes the release that is current now to the summary of a run.
 *
 * @param pid of the run; nothing is written when it has ended meanwhile, and its summary with it
 */
export async function noteCurrentRelease(file: string, pid: number, releaseId: string): Promise<void> {
  const text = await readFile(file, 'utf8').catch(() => '{}');
  const summary = JSON.parse(text) as Partial<DevSummary>;
  if (summary.pid === pid) await writeDevSummary(file, { ...(summary as DevSummary), release_id: releaseId });
}

/**
 * Finds the run of `slipway dev` that uses the data folder of a summary.
 *
 * @param now Unix milliseconds
 * @returns `null` when none runs; a summary of a run that was killed counts as none
 */
export async function findRunningDev(file: string, now: number): Promise<RunningDev | null> {
  let summary: Partial<DevSummary>;
  let writtenAt: number;
  try {
    summary = JSON.parse(await readFile(file, 'utf8')) as Partial<DevSummary>;
    writtenAt = (await stat(file)).mtimeMs;
  } catch {
    return null;
  }
  const { pid, server_url, upstream = 'demo', release_id = null } = summary;
  if (!Number.isSafeInteger(pid) || pid === undefined || pid === process.pid || !isAlive(pid)) return null;
  if (typeof server_url !== 'string') return null;
  // The system may have given the id of a killed run to another process.
  return now - writtenAt < START_MS || (await answers(server_url))
    ? { pid, server_url, upstream, release_id }
    : null;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function answers(serverUrl: string): Promise<boolean> {
  const client = createHttpClient({ connections: 1, keepAlive: false });
  try {
    await client.send({
      url: `${serverUrl}/healthz`,
      timeoutMs: ANSWER_TIMEOUT_MS,
      maxBytes: ANSWER_MAX_BYTES,
    });
    return true;
  } catch {
    return false;
  } finally {
    client.close();
  }
}
