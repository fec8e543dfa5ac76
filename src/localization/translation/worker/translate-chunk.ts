import { splitIntoBatches } from '../../../domain/translation/batches.ts';
import { unixSeconds } from '../../../platform/process/clock.ts';
import { PROVIDER_FAILURES } from '../providers/provider-failure.ts';
import type { Lease } from '../work/leases/chunk-leases.ts';
import { decideEnd, type ChunkFailure, type DecidedEnd } from './chunk-end.ts';
import { groupRepetitions, readChunk } from './chunk-units.ts';
import { findKnown } from './reuse-known.ts';
import type { RunWorld } from './run-world.ts';
import { storeProposals } from './store-proposals.ts';
import { translateBatch, type BatchFailure, type ChunkSignals } from './translate-batch.ts';

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
