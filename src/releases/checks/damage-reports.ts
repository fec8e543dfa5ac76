import type { ReportedObject } from '../../contract/formats/damage-report.ts';
import { snapshotIdOf, type Blake3Hex } from '../../domain/release/digest.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { ReleaseRepository } from '../records/release-repository.ts';
import type { ReleaseRow } from '../records/release-row.ts';
import type { DamageAttestation, ReleaseDamage } from './release-damage.ts';
import type { StoredObjectInspector } from './stored-object-inspector.ts';
import { isSound, type ReleaseCheck } from './release-check.ts';
import { describeFailure, failureOf } from '../records/release-failure.ts';

/** Maximum number of waiting objects. A server sends the others again later. */
const REPORTED_OBJECTS_MAX = 10_000;
const CONCURRENCY = 2;

/** Accepts the objects that a server found missing or damaged on the volume. Returns before they are checked. */
export type ReportDamage = (reports: readonly ReportedObject[]) => {
  /** Objects that will be checked or are already known to be damaged. */
  readonly accepted: number;
  /** Objects that no kept release contains, or that did not fit into the queue. */
  readonly ignored: number;
};

export interface DamageReports {
  /** Queues a check of the reported objects, each object once. */
  readonly take: ReportDamage;
  stop(): Promise<void>;
}

interface DamageReportsOptions {
  readonly inspector: StoredObjectInspector;
  readonly releases: ReleaseRepository;
  readonly damage: ReleaseDamage;
  readonly check: ReleaseCheck;
  readonly attestation: DamageAttestation;
  readonly logger: Logger;
}

/**
 * Creates the check. A report is only a reason to check an object or a manifest: the daemon reads it itself, and only
 * its own finding withdraws a release.
 */
export function createDamageReports(options: DamageReportsOptions): DamageReports {
  const { inspector, releases, damage, logger } = options;
  let isUncounted = false;

  const attest = async (cause: string): Promise<void> => {
    isUncounted = false;
    await options.attestation.issue(cause);
  };

  const checkManifest = async (
    release: ReleaseRow,
    report: ReportedObject,
    signal: AbortSignal,
  ): Promise<void> => {
    const findings = await options.check.quick(release, signal);
    if (isSound(findings)) {
      const { channel, release_id } = release;
      logger.info({ channel, release_id }, 'a server reported a damaged manifest, but the manifest is sound');
      return;
    }
    const isChanged = await options.check.record(release, findings, { bytes: false, finder: 'server' });
    if (!isChanged) return;
    logWithdrawal(options, release, report);
    await attest('damage of a manifest reported by a server');
  };

  const check = async (report: ReportedObject, signal: AbortSignal): Promise<void> => {
    const { blake3, destination, message } = report;
    const named = releases.withSnapshot(snapshotIdOf(blake3));
    for (const release of named) await checkManifest(release, report, signal);
    if (named.length > 0) return;
    const status = await inspector.inspect(blake3, signal);
    if (status === null || status === 'ok') {
      logger.info(
        { blake3, destination, detail: message },
        'a server reported damage, but the object is sound',
      );
      return;
    }
    const withdrawn = await damage.report([{ blake3, status }], 'server');
    isUncounted = true;
    for (const release of withdrawn) logWithdrawal(options, release, report);
    if (withdrawn.length > 0) await attest('damage reported by a server');
  };

  const queue = createObjectQueue<ReportedObject>(async (report, signal) => {
    try {
      await check(report, signal);
      if (queue.size === 1 && isUncounted) await attest('further damage reported by a server');
    } catch (error) {
      if (signal.aborted) return;
      const { blake3, destination } = report;
      logger.warn({ err: error, blake3, destination }, 'reported damage could not be checked or attested');
    }
  });

  const isAccepted = (report: ReportedObject): boolean => {
    const { blake3 } = report;
    const named = releases.withSnapshot(snapshotIdOf(blake3));
    if (named.length === 0 && releases.holders(blake3).length === 0) return false;
    if (queue.has(blake3)) return true;
    if (named.length > 0) {
      return named.every(({ damage_message: known }) => known !== null) || queue.offer(blake3, report);
    }
    return damage.isKnown(blake3) || queue.offer(blake3, report);
  };

  return {
    take: (reports) => {
      const accepted = reports.filter(isAccepted).length;
      return { accepted, ignored: reports.length - accepted };
    },
    stop: async () => await queue.stop(),
  };
}

function logWithdrawal(
  { releases, logger }: DamageReportsOptions,
  { channel, release_id }: ReleaseRow,
  report: ReportedObject,
): void {
  const now = releases.get(channel, release_id);
  if (now === null) return;
  logger.error(
    { channel, release_id, blake3: report.blake3, found_by: 'server', detail: report.message },
    `release withdrawn: ${describeFailure(now, failureOf(releases, now))}`,
  );
}

interface ObjectQueue<Item> {
  has(blake3: Blake3Hex): boolean;
  offer(blake3: Blake3Hex, item: Item): boolean;
  readonly size: number;
  stop(): Promise<void>;
}

/** @param work must not reject; the signal is aborted by `stop` */
function createObjectQueue<Item>(
  work: (item: Item, signal: AbortSignal) => Promise<void>,
): ObjectQueue<Item> {
  const stopping = new AbortController();
  const waiting = new Map<Blake3Hex, Item>();
  const running = new Map<Blake3Hex, Promise<void>>();

  const run = async (blake3: Blake3Hex, item: Item): Promise<void> => {
    await work(item, stopping.signal);
    running.delete(blake3);
    startNext();
  };

  const startNext = (): void => {
    for (const [blake3, item] of waiting) {
      if (running.size >= CONCURRENCY || stopping.signal.aborted) return;
      waiting.delete(blake3);
      running.set(blake3, run(blake3, item));
    }
  };

  return {
    get size() {
      return waiting.size + running.size;
    },
    has: (blake3) => waiting.has(blake3) || running.has(blake3),
    offer: (blake3, item) => {
      if (waiting.size >= REPORTED_OBJECTS_MAX) return false;
      waiting.set(blake3, item);
      startNext();
      return true;
    },
    stop: async () => {
      stopping.abort(new Error('the daemon is stopping'));
      waiting.clear();
      await Promise.all(running.values());
    },
  };
}
