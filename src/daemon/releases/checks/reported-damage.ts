import type { ReportedObject } from '../../../contract/formats/damage-report.ts';
import type { Blake3Hex } from '../../../domain/release/digest.ts';
import type { Logger } from '../../../platform/logging/logging.ts';
import type { DamageIntake } from '../../api/ports.ts';
import type { Attestor } from '../attest/attestor.ts';
import type { ObjectRegistry } from '../records/object-registry.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import type { ReleaseRow } from '../records/release-row.ts';
import type { ObjectInspector } from './object-inspector.ts';
import type { ReleaseDamage } from './release-damage.ts';
import { describeFailure, failureOf } from './release-failure.ts';

/** Most objects that wait to be checked. A server sends the others again later. */
export const REPORTED_OBJECTS_MAX = 10_000;
/** Objects checked at the same time. */
const CONCURRENCY = 2;

/** Checks the damage that servers report. */
export interface ReportedDamage {
  /** Queues reported objects to be checked; each object is queued once. */
  readonly take: DamageIntake;
  /** Resolves when the checks in progress have ended; waiting ones are dropped. */
  stop(): Promise<void>;
}

/** Collaborators of the check. */
export interface ReportedDamageOptions {
  readonly inspector: Pick<ObjectInspector, 'inspect'>;
  readonly releases: ReleaseRepository;
  readonly objects: Pick<ObjectRegistry, 'get'>;
  readonly damage: Pick<ReleaseDamage, 'report'>;
  readonly attestor: Pick<Attestor, 'issue'>;
  readonly logger: Logger;
}

/**
 * Creates the check. A report is a reason to look at an object, never a finding: the daemon hashes the object itself, and
 * only what it finds withdraws a release.
 */
export function createReportedDamage(options: ReportedDamageOptions): ReportedDamage {
  const { inspector, releases, objects, damage, logger } = options;
  const stopping = new AbortController();
  const waiting = new Map<Blake3Hex, ReportedObject>();
  const running = new Map<Blake3Hex, Promise<void>>();
  /** Whether damage was recorded that the newest attestation does not count yet. */
  let isUncounted = false;

  const attest = async (cause: string): Promise<void> => {
    isUncounted = false;
    try {
      await options.attestor.issue(cause);
    } catch (error) {
      isUncounted = true;
      throw error;
    }
  };

  const logWithdrawal = (release: ReleaseRow, report: ReportedObject): void => {
    const now = releases.get(release.channel, release.release_id) ?? release;
    logger.error(
      {
        channel: release.channel,
        release_id: release.release_id,
        blake3: report.blake3,
        found_by: 'server',
        detail: report.message,
      },
      `release withdrawn: ${describeFailure(now, failureOf(releases, now))}; run repair`,
    );
  };

  const check = async (report: ReportedObject): Promise<void> => {
    const { blake3, destination, message } = report;
    const status = await inspector.inspect(blake3, stopping.signal);
    if (status === null || status === 'ok') {
      logger.info(
        { blake3, destination, detail: message },
        'a server reported damage, but the object is sound',
      );
      return;
    }
    const withdrawn = await damage.report([{ blake3, status }], 'server');
    isUncounted = true;
    for (const release of withdrawn) logWithdrawal(release, report);
    if (withdrawn.length > 0) await attest('damage reported by a server');
  };

  const run = async (report: ReportedObject): Promise<void> => {
    const { blake3, destination } = report;
    try {
      await check(report);
      const isLast = waiting.size === 0 && running.size === 1;
      if (isLast && isUncounted) await attest('further damage reported by a server');
    } catch (error) {
      if (!stopping.signal.aborted) {
        logger.warn({ err: error, blake3, destination }, 'reported damage could not be checked or attested');
      }
    }
    running.delete(blake3);
    startNext();
  };

  const startNext = (): void => {
    for (const [blake3, report] of waiting) {
      if (running.size >= CONCURRENCY || stopping.signal.aborted) return;
      waiting.delete(blake3);
      running.set(blake3, run(report));
    }
  };

  const isAccepted = (report: ReportedObject): boolean => {
    const { blake3 } = report;
    if (releases.holders(blake3).length === 0) return false;
    if (waiting.has(blake3) || running.has(blake3) || objects.get(blake3)?.sound === false) return true;
    if (waiting.size >= REPORTED_OBJECTS_MAX) return false;
    waiting.set(blake3, report);
    return true;
  };

  return {
    take: (reports) => {
      const accepted = reports.filter(isAccepted).length;
      startNext();
      return { accepted, ignored: reports.length - accepted };
    },
    stop: async () => {
      stopping.abort(new Error('the daemon is stopping'));
      waiting.clear();
      await Promise.all(running.values());
    },
  };
}
