import { splitIntoBatches } from '../../../domain/translation/batches.ts';
import { unixSeconds } from '../../../platform/process/clock.ts';
import { PROVIDER_FAILURES, type ProviderFailureCode } from '../providers/provider-failure.ts';
import type { ChunkEnd, Lease } from '../work/leases/chunk-leases.ts';
import { groupRepetitions, readChunk } from './chunk-units.ts';
import { findKnown, storeProposals } from './judge-proposals.ts';
import type { RunWorld } from './run-world.ts';
import { translateBatch, type BatchFailure, type ChunkSignals } from './translate-batch.ts';
import { backoffMs } from '../../../platform/process/backoff.ts';
import { countText } from '../../../domain/count-text.ts';

/**
 * Translates the units of a leased chunk. Everything is stored as soon as it is judged, so that a run that ends early loses one
 * batch at most.
 *
 * @returns how the lease is to be ended, and how many units of the chunk needed a target
 * @throws LeaseLostError; the reason of a signal; errors of the parse index, the Glossary and translation.db
 */
export async function translateChunk(
  world: RunWorld,
  lease: Lease,
  signals: ChunkSignals,
): Promise<DecidedEnd & { readonly units: number }> {
  const units = await readChunk(world.units, lease, signals.work);
  const known = await findKnown(world, lease, units, signals.work);
  let written = await storeProposals(world, lease, known);
  const knownKeys = new Set(known.map(({ unit }) => unit.key));
  const open = groupRepetitions(units.filter(({ key }) => !knownKeys.has(key)));
  const failures: ChunkFailure[] = [];
  for (const batch of splitIntoBatches(open, world.provider.stepSize)) {
    signals.work.throwIfAborted();
    const translated = await translateBatch(world, lease, batch, units, signals);
    written += await storeProposals(world, lease, translated.proposals);
    failures.push(...translated.failures.map((failure) => noted(world, failure)));
    // The next batch would meet the same trouble.
    if (
      translated.failures.some(({ failure }) => ['stop', 'retry'].includes(PROVIDER_FAILURES[failure.code]))
    )
      break;
  }
  const { settings, clock, random } = world;
  const decided = decideEnd(failures, {
    attempt: written > 0 ? 1 : lease.attempt,
    maxAttempts: settings.maxAttempts,
    retryBackoffSeconds: settings.retryBackoffSeconds,
    now: unixSeconds(clock),
    random: random(),
  });
  return { ...decided, units: units.length };
}

function noted({ tally }: RunWorld, { repetition, failure }: BatchFailure): ChunkFailure {
  tally.failure(failure.code);
  return { ...failure, units: 1 + repetition.followers.length };
}

/** A failure of some units of a chunk. */
interface ChunkFailure {
  readonly code: ProviderFailureCode;
  readonly message: string;
  readonly retryAfterMs: number | null;
  /** Units without a translation because of it. */
  readonly units: number;
}

/** Why no other chunk of the run can succeed. */
export interface StopReason {
  readonly code: ProviderFailureCode;
  readonly message: string;
}

/** How a chunk ended, and what follows for its run. */
export interface DecidedEnd {
  readonly end: ChunkEnd;
  readonly stop: StopReason | null;
  /** Trouble of the provider itself; many chunks with it in a row stop the run. */
  readonly trouble: StopReason | null;
  /** Units that failed for good. */
  readonly failedUnits: number;
}

interface EndSituation {
  /** Of the chunk, 1 for the first. It is 1 again when something was stored. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly retryBackoffSeconds: number;
  /** Unix seconds. */
  readonly now: number;
  /** In [0, 1). */
  readonly random: number;
}

const LONGEST_BACKOFF_SECONDS = 3600;
const REASON_CHARACTERS = 500;

/**
 * Decides how the work on a chunk ends. A failure that every other request would meet stops the run and does not count as an attempt. Units that
 * the provider does not translate by its nature stay open. Every other failure is retried until the attempts are used up.
 */
function decideEnd(failures: readonly ChunkFailure[], situation: EndSituation): DecidedEnd {
  const of = (disposition: string): ChunkFailure | undefined =>
    failures.find(({ code }) => PROVIDER_FAILURES[code] === disposition);
  const stop = of('stop');
  if (stop !== undefined) {
    const { code, message } = stop;
    const end = { kind: code === 'cap_reached' ? 'left' : 'cancelled' } as const;
    return { end, stop: { code, message }, trouble: null, failedUnits: 0 };
  }
  const counted = failures.filter(({ code }) => PROVIDER_FAILURES[code] !== 'leave');
  if (counted.length === 0) {
    const kind = failures.length === 0 ? 'done' : 'left';
    return { end: { kind }, stop: null, trouble: null, failedUnits: 0 };
  }
  const trouble = of('retry') ?? null;
  const reason = describe(counted);
  const { attempt, maxAttempts } = situation;
  if (attempt >= maxAttempts) {
    const failedUnits = counted.reduce((sum, { units }) => sum + units, 0);
    return { end: { kind: 'failed', reason }, stop: null, trouble, failedUnits };
  }
  const nextAttemptAt = situation.now + waitSeconds(counted, situation);
  return { end: { kind: 'retry', reason, nextAttemptAt }, stop: null, trouble, failedUnits: 0 };
}

function waitSeconds(
  failures: readonly ChunkFailure[],
  { attempt, retryBackoffSeconds, random }: EndSituation,
): number {
  const asked = Math.max(0, ...failures.map(({ retryAfterMs }) => retryAfterMs ?? 0));
  const limits = {
    baseMs: retryBackoffSeconds * 1000,
    capMs: Math.max(LONGEST_BACKOFF_SECONDS, retryBackoffSeconds) * 1000,
  };
  return Math.ceil(backoffMs(attempt, limits, random, asked === 0 ? null : asked) / 1000);
}

function describe(failures: readonly ChunkFailure[]): string {
  const counts = new Map<string, number>();
  for (const { code, units } of failures) counts.set(code, (counts.get(code) ?? 0) + units);
  const summary = [...counts].map(([code, units]) => `${code}: ${countText(units, 'unit')}`).join(', ');
  const [first] = failures;
  return `${summary}; ${first?.message ?? ''}`.slice(0, REASON_CHARACTERS).toWellFormed();
}
