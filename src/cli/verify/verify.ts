import { lstat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { loadTrustedKeys, type TrustedKey } from '../../attestation/keys.ts';
import { systemClock, type Clock } from '../../platform/process/clock.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { createHashPool } from '../../platform/hashing/hash-pool.ts';
import { ObjectLedger } from '../../snapshot/objects/object-ledger.ts';
import { renderProgress } from '../output/progress-line.ts';
import { createProgressDisplay } from '../output/progress-display.ts';
import { checkVolume } from './check-volume.ts';
import { checkMirror } from './mirror/check-mirror.ts';
import { findVolume } from './find-volume.ts';
import { readToken, type Environment } from '../read-token.ts';
import { createMirrorHttp } from './mirror/mirror-http.ts';
import { renderMirrorReport } from './mirror/mirror-report.ts';
import { startTimeLimit } from './mirror/time-limit.ts';
import {
  parseVerifyOptions,
  VERIFY_USAGE,
  type MirrorVerifyOptions,
  type VerifyOptions,
} from './verify-options.ts';
import { exitCodeOf, exitCodeOfMirror, VERIFY_EXITS } from './verify-exits.ts';
import { renderVolumeReport, type VolumeReport } from './volume-report.ts';
import { messageOf } from '../../platform/errors.ts';
import { usageError } from '../../platform/terminal/usage-error.ts';

interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

interface VerifyIo {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env?: Environment;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

const MAX_THREADS = 8;
const MIRROR_CONNECTIONS = 8;

/**
 * Runs `slipway verify`: checks a snapshot volume offline, or a running Slipway or a static mirror from outside.
 *
 * @param argv the command line after `verify`
 * @returns one of {@link VERIFY_EXITS}
 */
export async function runVerify(argv: readonly string[], io: VerifyIo): Promise<number> {
  const parsed = parseVerifyOptions(argv);
  if (!parsed.ok) return refuse(io, parsed.error);
  if (parsed.value === 'help') {
    io.stdout.write(VERIFY_USAGE);
    return VERIFY_EXITS.ok;
  }
  const options = parsed.value;
  if (options.kind === 'mirror') return await verifyMirror(options, io);
  let root: string | null;
  try {
    if (!(await isDirectory(options.root))) return refuse(io, `${options.root} is not a directory`);
    root = await findVolume(options.root);
  } catch (error) {
    io.stderr.write(`slipway verify: ${options.root} cannot be read: ${messageOf(error)}\n`);
    return VERIFY_EXITS.damaged;
  }
  if (root === null) {
    return refuse(
      io,
      `${options.root} is not a snapshot volume, and has none in snapshot/: name the snapshot volume, or the data folder of make run`,
    );
  }
  let keys: readonly TrustedKey[] | null = null;
  if (options.keys.length > 0) {
    const loaded = await loadTrustedKeys(options.keys);
    if (!loaded.ok) return refuse(io, loaded.error.join('; '));
    keys = loaded.value;
  }
  const report = await check({ ...options, root }, keys, io);
  if (report === null) return VERIFY_EXITS.damaged;
  io.stdout.write(options.json ? `${JSON.stringify(report, null, 2)}\n` : renderVolumeReport(report));
  return exitCodeOf(report);
}

async function verifyMirror(options: MirrorVerifyOptions, io: VerifyIo): Promise<number> {
  const keys = await loadTrustedKeys(options.keys);
  if (!keys.ok) return refuse(io, keys.error.join('; '));
  const token = await readToken(options.tokenFile, io.env ?? {}, 'SLIPWAY_VERIFY');
  if (!token.ok) return refuse(io, token.error);
  const againstToken = await readToken(options.againstTokenFile, {}, 'SLIPWAY_VERIFY');
  if (!againstToken.ok) return refuse(io, againstToken.error);
  const clock = io.clock ?? systemClock;
  const progress = createProgressDisplay(io.stderr, clock);
  const http = createMirrorHttp(MIRROR_CONNECTIONS, token.value, clock);
  const httpAgainst = createMirrorHttp(MIRROR_CONNECTIONS, againstToken.value, clock);
  const limit = startTimeLimit(options.timeoutSeconds, clock);
  const interruption = io.signal ?? new AbortController().signal;
  try {
    const report = await checkMirror({
      ...options,
      keys: keys.value,
      send: http.send,
      sendAgainst: httpAgainst.send,
      concurrency: MIRROR_CONNECTIONS,
      now: () => clock.now(),
      random: Math.random,
      onProgress: (done, total, phase) => {
        progress.show(renderProgress({ done, total, unit: 'bytes', phase }));
      },
      signal: AbortSignal.any([interruption, limit.signal]),
    });
    progress.end();
    io.stdout.write(options.json ? `${JSON.stringify(report, null, 2)}\n` : renderMirrorReport(report));
    return exitCodeOfMirror(report);
  } catch (error) {
    progress.end();
    io.stderr.write(
      `slipway verify: ${interruption.aborted ? 'interrupted' : `failed: ${messageOf(error)}`}\n`,
    );
    return VERIFY_EXITS.damaged;
  } finally {
    limit.clear();
    await Promise.all([http.close(), httpAgainst.close()]);
  }
}

async function check(
  options: VerifyOptions,
  keys: readonly TrustedKey[] | null,
  io: VerifyIo,
): Promise<VolumeReport | null> {
  const threads = Math.min(MAX_THREADS, availableParallelism());
  const pool = createHashPool({ threads });
  const progress = createProgressDisplay(io.stderr, io.clock ?? systemClock);
  const signal = io.signal ?? new AbortController().signal;
  try {
    return await checkVolume({
      root: options.root,
      releaseId: options.releaseId,
      quick: options.quick,
      keys,
      pool,
      // One more than there are threads, so that none waits for a file to be opened.
      concurrency: threads + 1,
      ledger: new ObjectLedger(),
      onProgress: ({ bytes }, total, release) => {
        progress.show(renderProgress({ done: bytes, total, unit: 'bytes', phase: release }));
      },
      signal,
    });
  } catch (error) {
    progress.end();
    const message = messageOf(error);
    io.stderr.write(`slipway verify: ${signal.aborted ? 'interrupted' : `failed: ${message}`}\n`);
    return null;
  } finally {
    progress.end();
    await pool.close();
  }
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await lstat(path.endsWith('/') ? path : `${path}/`)).isDirectory();
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return false;
    throw error;
  }
}

function refuse(io: VerifyIo, problem: string): number {
  io.stderr.write(usageError('slipway verify', problem));
  return VERIFY_EXITS.usage;
}
