import type { ScheduleIntervals } from '../../engine/schedules/configured-schedules.ts';
import type { LocalizationSettings } from '../../localization/localization.ts';
import type { ReleasesConfiguration } from '../../releases/releases-configuration.ts';
import { originOfLocalized } from '../../upstream/upstream-config.ts';
import { verifyIntervalSeconds, type DaemonConfiguration } from './config.ts';
import type { DaemonSettings } from './daemon-settings.ts';
import { exchangeRootOf } from './exchange-config.ts';

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
