import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { manifestDigestOf } from '../../../domain/release/digest.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import { pause } from '../../../platform/process/pause.ts';
import { createLoop } from '../../../platform/process/loop.ts';
import { errorCode } from '../../../platform/files/error-code.ts';
import type { Logger } from '../../../platform/logging/logging.ts';
import { manifestPath } from '../../../snapshot/volume/layout.ts';
import type { Attestor } from '../attest/attestor.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import type { ReleaseRow } from '../records/release-row.ts';
import { describe, isSound, type ReleaseCheck } from './release-check.ts';

/** Milliseconds between two looks. */
export const STORE_WATCH_MS = 10_000;

/** Notices manifests and whole folders that are lost while the daemon runs. */
export interface StoreWatch {
  /** Starts to look regularly at the manifests and the folder of objects; costs one lookup for each release. */
  start(): void;
  /**
   * Looks at the manifests, and at the presence of every object of the current releases. Concurrent calls share one
   * look. Resolves after at most `withinMs`, even when the look takes longer.
   *
   * @param maxAgeMs a look that ended at most this long ago is enough, milliseconds
   */
  look(withinMs: number, maxAgeMs: number): Promise<void>;
  stop(): Promise<void>;
}

export interface StoreWatchOptions {
  readonly root: string;
  readonly releases: Pick<ReleaseRepository, 'kept' | 'get' | 'pointer'>;
  readonly check: Pick<ReleaseCheck, 'look' | 'record'>;
  readonly attestor: Pick<Attestor, 'issue'>;
  /** Writes FORMAT again when it is lost and the volume is provably this store. */
  readonly restoreFormat: () => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Creates the watch. Damage that it finds is recorded and attested as if `refresh` had found it. */
export function createStoreWatch(options: StoreWatchOptions): StoreWatch {
  const { releases, clock, logger } = options;
  const stopping = new AbortController();
  let deepLook: Promise<void> | null = null;
  let deepLookAt: number | null = null;
  let isFailing = false;

  /** The releases that are not known to be damaged; the others are checked by their repair. */
  const sound = (): readonly ReleaseRow[] => releases.kept().filter(({ state }) => state !== 'damaged');

  const lookShallow = async (): Promise<void> => {
    await options.restoreFormat();
    const all = sound();
    if (all.length > 0 && (await isNoDirectory(join(options.root, 'objects')))) {
      await checkReleases(options, stopping.signal, all);
      return;
    }
    const suspects: ReleaseRow[] = [];
    for (const release of all) {
      const digest = release.snapshot_id === null ? null : manifestDigestOf(release.snapshot_id);
      if (digest !== null && (await isMissing(manifestPath(options.root, digest)))) suspects.push(release);
    }
    await checkReleases(options, stopping.signal, suspects);
  };

  const lookDeep = async (): Promise<void> => {
    await lookShallow();
    const current = sound().filter(
      ({ channel, release_id: id }) => releases.pointer(channel)?.release_id === id,
    );
    await checkReleases(options, stopping.signal, current);
    deepLookAt = clock.monotonic();
  };

  /** Runs a look; an error is logged when it is the first after a success. */
  const guarded = async (look: () => Promise<void>): Promise<void> => {
    try {
      await look();
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
      await guarded(lookShallow);
      return STORE_WATCH_MS;
    },
    onFailure: () => STORE_WATCH_MS,
  });

  return {
    start: () => {
      loop.start();
    },
    look: async (withinMs, maxAgeMs) => {
      if (deepLookAt !== null && clock.monotonic() - deepLookAt < maxAgeMs) return;
      deepLook ??= guarded(lookDeep).finally(() => {
        deepLook = null;
      });
      const late = new AbortController();
      const wait = pause(clock, withinMs, AbortSignal.any([late.signal, stopping.signal]));
      await Promise.race([deepLook, wait]);
      late.abort();
    },
    stop: async () => {
      stopping.abort();
      await loop.stop();
      await deepLook;
    },
  };
}

/** Looks at releases, records their damage and attests it. */
async function checkReleases(
  { releases, check, attestor, logger }: StoreWatchOptions,
  signal: AbortSignal,
  suspects: readonly ReleaseRow[],
): Promise<void> {
  let isChanged = false;
  for (const suspect of suspects) {
    const findings = await check.look(suspect, signal);
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
