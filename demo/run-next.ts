import { resolve } from 'node:path';
import { readFile } from 'node:fs/promises';
import { messageOf } from '../src/platform/errors.ts';
import { keepAlive } from '../src/platform/process/keep-alive.ts';
import { parseOptions } from '../src/platform/terminal/parse-options.ts';
import { usageError } from '../src/platform/terminal/usage-error.ts';
import { DEFAULT_DATA } from '../src/cli/bundle/find-store.ts';
import type { DevIo } from './dev-options.ts';
import { createDemoUpstream } from './demo-upstream.ts';
import { devLayout } from './dev-files.ts';
import { findRunningDev, noteCurrentRelease } from './dev-summary.ts';
import { currentLocalized, waitForLocalized } from './play-localized.ts';
import { playRelease, type RunningService } from './play-release.ts';
import { renderChanges } from './render-changes.ts';

const NEXT_USAGE = `Usage: slipway dev next [--data ${DEFAULT_DATA}]

Plays the next demo release on a running "slipway dev": offers it to the daemon, syncs it and prints what changed.

  --data DIR      the folder of the running one
`;

/**
 * Runs `slipway dev next`.
 *
 * @param args the command line after `dev next`
 * @returns the exit code: 0 when the release is served, 1 when it cannot be played, 2 for wrong arguments
 */
export async function runNext(args: readonly string[], io: DevIo): Promise<number> {
  if (args.includes('--help')) {
    io.stdout.write(NEXT_USAGE);
    return 0;
  }
  const parsed = parseOptions({
    args: [...args],
    options: { data: { type: 'string', default: DEFAULT_DATA } },
  });
  if (!parsed.ok) {
    io.stderr.write(usageError('slipway dev next', parsed.error));
    return 2;
  }
  try {
    await keepAlive(async () => {
      await playNext(parsed.value.values.data, io);
    });
    return 0;
  } catch (error) {
    if (!io.signal.aborted) io.stderr.write(`slipway dev next: ${messageOf(error)}\n`);
    return 1;
  }
}

async function playNext(data: string, io: DevIo): Promise<void> {
  const layout = devLayout(resolve(data));
  const running = await findRunningDev(layout.summary, io.clock.now());
  if (running === null) {
    throw new Error(
      `nothing runs on the folder ${data}; start it in another terminal: make run (--data DIR)`,
    );
  }
  if (running.release_id === null) {
    throw new Error('the release before is not served yet; wait until "slipway dev" prints its commands');
  }
  const service: RunningService = {
    serverUrl: running.server_url,
    tokenFile: layout.adminToken,
    adminToken: (await readFile(layout.adminToken, 'utf8')).trim(),
  };
  if (running.upstream !== 'demo') {
    throw new Error('"slipway dev" does not run on the demo releases; run it without an upstream');
  }
  const upstream = createDemoUpstream(layout.upstream);
  const [before, after] = [await upstream.offered(), await upstream.following()];
  if (before === null || after === null) {
    throw new Error(
      `${before ?? 'no release'} is the last demo release; to see them again, use another folder (make run DATA=DIR)`,
    );
  }
  io.stdout.write(`playing the demo release ${after} after ${before}\n`);
  const isLocalized = (await currentLocalized(service, running.release_id, io)) !== null;
  const played = await playRelease(upstream, after, service, io);
  await noteCurrentRelease(layout.summary, running.pid, played.releaseId);
  const localized = isLocalized ? await followLine(service, played.releaseId, io) : null;
  const address = { ...service, programDirectory: io.programDirectory };
  io.stdout.write(renderChanges({ ...played, before, after, localized, address }));
}

/** Says which localized release was published, or why none was: the official one is served anyway. */
async function followLine(service: RunningService, releaseId: string, io: DevIo): Promise<string> {
  try {
    const localized = await waitForLocalized(service, releaseId, io);
    return `The localized release ${localized.releaseId} was published automatically.`;
  } catch (error) {
    io.signal.throwIfAborted();
    const reason = messageOf(error);
    return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`;
  }
}
