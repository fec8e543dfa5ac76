import type { ReleaseParts } from '../release-parts.ts';
import { manifestDigestOf } from '../../domain/release/digest.ts';
import { pause } from '../../platform/process/pause.ts';
import { createLoop } from '../../platform/process/loop.ts';
import { errorCode } from '../../platform/files/error-code.ts';
import { manifestPath } from '../../snapshot/volume/layout.ts';
import type { ReleaseRow } from '../records/release-row.ts';
import { describe, isSound } from './release-check.ts';
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';

export const STORE_WATCH_MS = 10_000;

interface StoreWatch {
  /** Starts to check the manifests and the folder of objects regularly; costs one lookup for each release. */
  start(): void;
  /**
   * Checks the manifests, and the presence of every object of the current releases. Concurrent calls share one
   * check. Resolves after at most `withinMs`, even when the check takes longer.
   *
   * @param maxAgeMs a check that ended at most this long ago is enough, milliseconds
   */
  check(withinMs: number, maxAgeMs: number): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Creates the watch. Damage that it finds is recorded and attested as if `refresh` had found it.
 *
 * @param restoreFormat writes FORMAT again when it is lost and the volume is provably this store
 */
export function createStoreWatch(parts: ReleaseParts, restoreFormat: () => Promise<void>): StoreWatch {
  const { releases, clock, logger } = parts;
  const stopping = new AbortController();
  let fullCheck: Promise<void> | null = null;
  let fullCheckAt: number | null = null;
  let isFailing = false;

  /** The releases that are not known to be damaged; the others are checked by their repair. */
  const sound = (): readonly ReleaseRow[] => releases.kept().filter(({ state }) => state !== 'damaged');

  const checkManifests = async (): Promise<void> => {
    await restoreFormat();
    const all = sound();
    if (all.length > 0 && (await isNoDirectory(join(parts.root, 'objects')))) {
      await checkReleases(parts, stopping.signal, all);
      return;
    }
    const suspects: ReleaseRow[] = [];
    for (const release of all) {
      const digest = release.snapshot_id === null ? null : manifestDigestOf(release.snapshot_id);
      if (digest !== null && (await isMissing(manifestPath(parts.root, digest)))) suspects.push(release);
    }
    await checkReleases(parts, stopping.signal, suspects);
  };

  const checkAll = async (): Promise<void> => {
    await checkManifests();
    const current = sound().filter(
      ({ channel, release_id: id }) => releases.pointer(channel)?.release_id === id,
    );
    await checkReleases(parts, stopping.signal, current);
    fullCheckAt = clock.monotonic();
  };

  /** Runs a check; an error is logged when it is the first after a success. */
  const guarded = async (check: () => Promise<void>): Promise<void> => {
    try {
      await check();
      isFailing = false;
    } catch (error) {
      if (!isFailing && !stopping.signal.aborted) {
        logger.warn({ err: error }, 'the files of the releases could not be looked at; retrying');
      }
      isFailing = true;
    }
  };

  const loop = createLoop({
    clock,
    firstWaitMs: STORE_WATCH_MS,
    turn: async () => {
      await guarded(checkManifests);
      return STORE_WATCH_MS;
    },
    onFailure: () => STORE_WATCH_MS,
  });

  return {
    start: () => {
      loop.start();
    },
    check: async (withinMs, maxAgeMs) => {
      if (fullCheckAt !== null && clock.monotonic() - fullCheckAt < maxAgeMs) return;
      fullCheck ??= guarded(checkAll).finally(() => {
        fullCheck = null;
      });
      const late = new AbortController();
      const wait = pause(clock, withinMs, AbortSignal.any([late.signal, stopping.signal]));
      await Promise.race([fullCheck, wait]);
      late.abort();
    },
    stop: async () => {
      stopping.abort();
      await loop.stop();
      await fullCheck;
    },
  };
}

async function checkReleases(
  { releases, check, attestor, logger }: ReleaseParts,
  signal: AbortSignal,
  suspects: readonly ReleaseRow[],
): Promise<void> {
  let isChanged = false;
  for (const suspect of suspects) {
    const findings = await check.quick(suspect, signal);
    const release = releases.get(suspect.channel, suspect.release_id);
    if (isSound(findings) || release?.state !== suspect.state) continue;
    const hasChanged = await check.record(release, findings, { bytes: false, finder: 'refresh' });
    isChanged ||= hasChanged;
    const { channel, release_id } = suspect;
    logger.error({ channel, release_id }, `a release is damaged on the volume: ${describe(findings)}`);
  }
  if (isChanged) await attestor.issue('files were lost');
}

async function isNoDirectory(path: string): Promise<boolean> {
  return (await isMissing(path)) || !(await lstat(path)).isDirectory();
}

async function isMissing(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return false;
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return true;
    throw error;
  }
}
