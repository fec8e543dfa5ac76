import type { ScheduleIntervals } from '../../engine/schedules/configured-schedules.ts';
import type { LocalizationSettings } from '../../localization/localization.ts';
import type { ReleasesConfiguration } from '../../releases/releases-configuration.ts';
import { originOfLocalized } from '../../upstream/upstream-config.ts';
import { type DaemonConfiguration, exchangeRootOf, verifyIntervalSeconds } from './config.ts';
import type { DaemonSettings } from './daemon-settings.ts';
import type { OpenFilesNeed } from '../../platform/process/open-files.ts';

// What each module works with, out of the configuration of the daemon.

/** The settings of releases. */
export function releasesSettings({ configuration }: DaemonSettings): ReleasesConfiguration {
  const { attestation, retention, upstream, verify, repair, snapshot, releases } = configuration;
  return {
    attestationTtlSeconds: attestation.ttlSeconds,
    maxVerifyAgeSeconds: attestation.maxVerifyAgeSeconds,
    // Early enough that the new verification ends before the old one expires.
    verifyAtBootAfterSeconds: Math.floor(attestation.maxVerifyAgeSeconds / 2),
    retention: {
      retained: retention.retainedCount,
      maxAgeSeconds: retention.retainedSeconds,
      keep: retention.keep,
      graceSeconds: retention.graceSeconds,
    },
    downloadConcurrency: upstream.concurrency,
    verifyConcurrency: verify.concurrency,
    reserveBytes: snapshot.reserveBytes,
    announceSeconds: releases.announceSeconds,
    switchLeadSeconds: releases.switchLeadSeconds,
    automaticRepair: repair.automatic,
  };
}

/** The settings of localization. */
export function localizationSettings({ configuration }: DaemonSettings): LocalizationSettings {
  const { parse, memory, glossary, translation, localized, exchange, data, upstream } = configuration;
  const exchangeRoot = exchangeRootOf(exchange, data.dir);
  return {
    parse,
    memory,
    glossary,
    translation,
    localized,
    exchangeRoot,
    mirroredFrom: originOfLocalized(upstream),
  };
}

/** The intervals of the schedules that a configuration asks for. */
export function scheduleIntervals(configuration: DaemonConfiguration): ScheduleIntervals {
  const { sync, retention, backup, upstream } = configuration;
  return {
    syncSeconds: upstream.kind === 'none' || sync.intervalSeconds === 0 ? null : sync.intervalSeconds,
    verifySeconds: verifyIntervalSeconds(configuration),
    cleanupSeconds: retention.cleanupIntervalSeconds === 0 ? null : retention.cleanupIntervalSeconds,
    backupSeconds: backup.intervalSeconds === 0 ? null : backup.intervalSeconds,
  };
}

/** The databases with their logs, the threads beside those that hash, the API, the log and the lease. */
const BASE = 128;
/** What a thread or a child process of Node holds: its event loop and its pipes. */
const OF_THREAD = 8;
/** A connection, the file that it fills, and its side file. */
const OF_DOWNLOAD = 3;
/** Files that are flushed to the disk, connections to the API, and connections to a provider of translations. */
const AT_THE_SAME_TIME = 16 + 256 + 64;

/** How many files a daemon with these settings has open. */
export function daemonOpenFiles({ hashing, parse, upstream, verify }: DaemonConfiguration): OpenFilesNeed {
  const minimum = BASE + OF_THREAD * (hashing.threads + parse.processes);
  return {
    minimum,
    recommended: minimum + OF_DOWNLOAD * upstream.concurrency + verify.concurrency + AT_THE_SAME_TIME,
  };
}
