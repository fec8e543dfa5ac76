import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import { createLoop } from '../../platform/process/loop.ts';
import { describeStorageError } from '../../engine/database/storage-failure.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Supervision } from '../supervisor/supervision.ts';
import type { ReportBodyOf } from '../../contract/reports/reports.ts';
import type { DoctorCheck, DoctorFinding, DoctorStatus, DoctorTrigger } from '../../engine/check.ts';
import { defineReport, type DefinedReport } from '../../engine/define-report.ts';
import type { StorageUse } from '../../releases/cleanup/storage-use.ts';

interface DoctorOptions {
  readonly checks: readonly DoctorCheck[];
  readonly clock: Clock;
  /** Maximum number of milliseconds that one check may take; a volume that hangs must not hang the report. Default: 3000. */
  readonly timeoutMs?: number;
  readonly logger: Logger;
}

/** The result of one check, and when its status began. */
export interface DoctorResult extends DoctorFinding {
  readonly id: string;
  /** Unix seconds. */
  readonly since: number;
  /** When the check ended, Unix seconds. */
  readonly seenAt: number;
}

/**
 * Runs the checks on request and every minute, more often while one fails, so that it notices when a status began and ended. Some
 * run at the start, too.
 */
export interface Doctor {
  /** Runs every check now. */
  examine(signal: AbortSignal): Promise<readonly DoctorResult[]>;
  /** The newest result of each check that has run. */
  latest(): readonly DoctorResult[];
  start(): void;
  stop(): Promise<void>;
}

const SEVERITY: readonly DoctorStatus[] = ['ok', 'degraded', 'failing'];
const TIMEOUT_MS = 3000;
/** Milliseconds between two runs without a request. */
const INTERVAL_MS = 60_000;
/** The same while a check is known to fail, so that the end of a fault is seen soon. */
const FAILING_INTERVAL_MS = 10_000;
const LOG_LEVELS = { ok: 'info', degraded: 'warn', failing: 'error' } as const;

/** Creates the doctor. It logs every change of a status. */
export function createDoctor({ checks, clock, timeoutMs = TIMEOUT_MS, logger }: DoctorOptions): Doctor {
  const known = new Map<string, DoctorResult>();

  const examine = async (
    signal: AbortSignal,
    trigger: DoctorTrigger,
    chosen = { checks, timeoutMs },
  ): Promise<readonly DoctorResult[]> => {
    const findings = await Promise.all(
      chosen.checks.map(async (check) => ({
        id: check.id,
        ...(await runBounded((bounded) => check.run(bounded, trigger), clock, chosen.timeoutMs, signal)),
      })),
    );
    const seenAt = unixSeconds(clock);
    // Checks that an abandoned report cut off found nothing.
    if (signal.aborted) return findings.map((finding) => ({ ...finding, since: seenAt, seenAt }));
    return findings.map((finding) => {
      const before = known.get(finding.id);
      const since = finding.since ?? (before?.status === finding.status ? before.since : seenAt);
      const result = { ...finding, since, seenAt };
      known.set(result.id, result);
      if ((before?.status ?? 'ok') !== result.status) logChange(result, logger);
      return result;
    });
  };

  const atStart = checks.filter((check) => check.atStart === true);
  let isStarting = true;
  // The start has work of its own, so that the other checks run one interval later; the state must not wait for longer.
  let ranAt = -Infinity;
  const isDue = (): boolean =>
    clock.monotonic() - ranAt >= INTERVAL_MS || [...known.values()].some(isFailing);
  const loop = createLoop({
    clock,
    turn: async (signal) => {
      if (isStarting) {
        isStarting = false;
        // The first use of a large database takes longer than others.
        await examine(signal, 'interval', { checks: atStart, timeoutMs: INTERVAL_MS });
      } else if (isDue()) {
        await examine(signal, 'interval');
        ranAt = clock.monotonic();
      }
      return FAILING_INTERVAL_MS;
    },
    onFailure: (error) => {
      logger.error({ err: error }, 'the checks of the doctor could not be run');
      return FAILING_INTERVAL_MS;
    },
  });

  return {
    examine: (signal) => examine(signal, 'request'),
    latest: () => [...known.values()],
    start: () => {
      loop.start();
    },
    stop: async () => await loop.stop(),
  };
}

function isFailing({ status }: DoctorFinding): boolean {
  return status === 'failing';
}

/** How bad a status is: 0 for ok, 1 for degraded, 2 for failing. */
export function severityOf(status: DoctorStatus): number {
  return SEVERITY.indexOf(status);
}

/**
 * The report `daemon.doctor`: runs every check and says since when each has had its status.
 *
 * @param supervision the processes before this one; `null` without a supervisor
 * @param readStorage measures the use of the snapshot volume; a standby does not know it
 */
export function doctorReport(
  doctor: Doctor,
  supervision: Supervision | null,
  readStorage: () => Promise<StorageUse | null> = () => Promise.resolve(null),
): DefinedReport {
  return defineReport('daemon.doctor', async (_query, signal) => {
    const [results, storage] = await Promise.all([doctor.examine(signal), readStorage()]);
    const worst = Math.max(0, ...results.map(({ status }) => severityOf(status)));
    return {
      status: SEVERITY[worst] ?? 'failing',
      checks: results.map(({ id, status, message, since, evaluated = true }) => ({
        id,
        status,
        message,
        since,
        evaluated,
      })),
      process: {
        supervised: supervision !== null,
        restarts: supervision?.restarts ?? 0,
        last_exit: supervision?.ends.at(-1) ?? null,
      },
      storage: storage === null ? null : storageMember(storage),
    };
  });
}

function storageMember(use: StorageUse): NonNullable<ReportBodyOf<'daemon.doctor'>['storage']> {
  return {
    measured_at: use.measuredAt,
    total_bytes: use.totalBytes,
    free_bytes: use.freeBytes,
    current_bytes: use.currentBytes,
    retained_bytes: use.retainedBytes,
    reclaimable_bytes: use.reclaimableBytes,
    quarantine_bytes: use.quarantineBytes,
  };
}

function logChange({ id, status, message }: DoctorResult, logger: DoctorOptions['logger']): void {
  logger[LOG_LEVELS[status]]({ check: id, status }, `doctor: ${id} is ${status}: ${message}`);
}

async function runBounded(
  run: DoctorCheck['run'],
  clock: Clock,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<DoctorFinding> {
  const ended = new AbortController();
  const bounded = AbortSignal.any([signal, ended.signal]);
  const late = clock.sleep(timeoutMs, bounded).then(
    (): DoctorFinding => ({ status: 'failing', message: `no answer within ${timeoutMs} ms` }),
    (): DoctorFinding => ({ status: 'failing', message: 'the report was abandoned' }),
  );
  const found = Promise.resolve()
    .then(() => run(bounded))
    .catch((error: unknown): DoctorFinding => ({
      status: 'failing',
      message: describeStorageError(error),
    }));
  try {
    return await Promise.race([found, late]);
  } finally {
    ended.abort();
  }
}
