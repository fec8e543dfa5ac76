import type { AnswersSoFar } from '../../../domain/translation/machine-flaws.ts';
import { splitIntoBatches } from '../../../domain/translation/batches.ts';
import { unixSeconds } from '../../../platform/process/clock.ts';
import { PROVIDER_FAILURES, isOfProvider, type ProviderFailureCode } from '../providers/provider-failure.ts';
import type { ChunkEnd, Lease } from '../work/leases/chunk-leases.ts';
import { groupRepetitions, readChunk } from './chunk-units.ts';
import { findKnown, storeProposals } from './judge-proposals.ts';
import type { ChunkFailure } from './run-tally.ts';
import type { RunWorld } from './run-world.ts';
import { translateBatch, type BatchFailure, type ChunkSignals } from './translate-batch.ts';
import { backoffMs } from '../../../platform/process/backoff.ts';
import { countText } from '../../../domain/count-text.ts';

/**
 * Translates the units of a leased chunk. Everything is stored as soon as it is judged, so that a run that ends early loses one
 * batch at most.
 *
 * @returns how the lease is to be ended, how many units of the chunk needed a target, and how many of them have got none
 * @throws LeaseLostError; the reason of a signal; errors of the parse index, the Glossary and translation.db
 */
export async function translateChunk(
  world: RunWorld,
  lease: Lease,
  signals: ChunkSignals,
): Promise<DecidedEnd & { readonly units: number; readonly left: number }> {
  const units = await readChunk(world.units, lease, signals.work);
  const known = await findKnown(world, lease, units, signals.work);
  let written = await storeProposals(world, lease, known);
  let settled = known.length;
  const knownKeys = new Set(known.map(({ unit }) => unit.key));
  const open = groupRepetitions(units.filter(({ key }) => !knownKeys.has(key)));
  const failures: ChunkFailure[] = [];
  const answers: AnswersSoFar = new Map();
  for (const batch of splitIntoBatches(open, world.provider.stepSize)) {
    signals.work.throwIfAborted();
    const translated = await translateBatch(world, lease, batch, { units, answers }, signals);
    written += await storeProposals(world, lease, translated.proposals);
    settled += translated.proposals.length;
    failures.push(...translated.failures.map((failure) => noted(world, failure)));
    // The next batch would meet the same trouble.
    if (translated.failures.some(({ failure }) => isOfProvider(failure.code))) break;
  }
  const failed = new Set(failures.map(({ unitId }) => unitId));
  for (const { key } of units) if (!failed.has(key)) world.counts.delete(key);
  const { settings, clock, random } = world;
  const decided = decideEnd(failures, {
    attempt: written > 0 ? 1 : lease.attempt,
    maxAttempts: settings.maxAttempts,
    retryBackoffSeconds: settings.retryBackoffSeconds,
    now: unixSeconds(clock),
    random: random(),
  });
  return { ...decided, units: units.length, left: units.length - settled };
}

function noted({ tally }: RunWorld, { repetition, failure }: BatchFailure): ChunkFailure {
  tally.failure(failure.code);
  return { ...failure, units: 1 + repetition.followers.length };
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
  /** Trouble of the provider itself; several chunks with it in a row stop the run. */
  readonly trouble: StopReason | null;
  /** Why units of the chunk are left to another try; `null` when none are. */
  readonly delay: StopReason | null;
  /** When the run may try the chunk again, Unix seconds; `null` when it is not to. */
  readonly retryAt: number | null;
  /** The failures of units that this run asks for no more. */
  readonly failed: readonly ChunkFailure[];
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
 * Decides how the work on a chunk ends. Failures of the provider count as no attempt: those that every other request would meet stop
 * the run, and after the others the chunk is free for every run. Units that the provider does not translate by its nature stay open.
 * Every other failure is retried until the attempts are used up, or until the run has asked often enough.
 */
function decideEnd(failures: readonly ChunkFailure[], situation: EndSituation): DecidedEnd {
  const of = (disposition: string): readonly ChunkFailure[] =>
    failures.filter(({ code }) => PROVIDER_FAILURES[code] === disposition);
  const ended = { stop: null, trouble: null, delay: null, retryAt: null, failed: [] };
  const [stop] = of('stop');
  if (stop !== undefined) {
    const end = { kind: stop.code === 'cap_reached' ? 'left' : 'cancelled' } as const;
    return { ...ended, end, stop, delay: stop };
  }
  const [trouble] = of('retry');
  const { attempt, maxAttempts, now } = situation;
  if (trouble !== undefined) {
    const reason = describe(of('retry'));
    const end = { kind: 'retry', reason, nextAttemptAt: now, isCounted: false } as const;
    return { ...ended, end, trouble, delay: trouble, retryAt: now + waitSeconds(of('retry'), situation) };
  }
  const counted = of('unit');
  const [first] = counted;
  if (first === undefined) return { ...ended, end: { kind: failures.length === 0 ? 'done' : 'left' } };
  const reason = describe(counted);
  if (attempt >= maxAttempts || counted.every(({ isFinal }) => isFinal)) {
    return { ...ended, end: { kind: 'failed', reason }, failed: counted };
  }
  const retryAt = now + waitSeconds(counted, situation);
  const end = { kind: 'retry', reason, nextAttemptAt: retryAt, isCounted: true } as const;
  return { ...ended, end, delay: first, retryAt };
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
