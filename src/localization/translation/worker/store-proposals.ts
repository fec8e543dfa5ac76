import type { Lease } from '../work/leases/chunk-leases.ts';
import { isWritten, type WorkerResult } from '../work/leases/lease-results.ts';
import { NO_PROVENANCE } from '../work/store/target-rows.ts';
import type { JudgedProposal } from './judge-proposals.ts';
import { LeaseLostError } from './held-lease.ts';
import type { RunWorld } from './run-world.ts';
import type { UnitOutcome } from './run-tally.ts';

/**
 * Stores translations as drafts, or as blocked ones, in one transaction. In the Translation Memory, a new
 * translation becomes a candidate then, and the use of a known one is counted.
 *
 * @returns how many were written
 * @throws LeaseLostError when nothing was written because the lease was lost
 */
export async function storeProposals(
  world: RunWorld,
  lease: Lease,
  proposals: readonly JudgedProposal[],
): Promise<number> {
  if (proposals.length === 0) return 0;
  const { thread, provider, tally } = world;
  const { isHeld, outcomes } = await thread.storeResults({
    token: lease.token,
    results: proposals.map((proposal) => resultOf(proposal, provider.name)),
    provenance: {
      ...NO_PROVENANCE,
      model: provider.model,
      promptDigest: provider.promptDigest,
      taskId: lease.taskId,
      releaseId: lease.releaseId,
    },
  });
  if (!isHeld) throw new LeaseLostError();
  for (const [index, proposal] of proposals.entries()) {
    const stored = outcomes[index] ?? 'skipped';
    // The end of the run counts those that the job `propagate` has given a target.
    if (stored !== 'repeated') tally.unit(lease.taskId, stored === 'draft' ? outcomeOf(proposal) : stored);
  }
  await offerToMemory(
    world,
    lease,
    proposals.filter((_, index) => outcomes[index] === 'draft'),
  );
  return outcomes.filter(isWritten).length;
}

function resultOf(proposal: JudgedProposal, provider: string): WorkerResult {
  const { unit, text, author, tokenId, judgement, judgedBy, copiedFrom, providerRunId } = proposal;
  const { unitId, sourceDigest, revision } = unit.leased;
  const isMachine = author === 'machine';
  return {
    revision,
    judgedBy,
    target: {
      unitId,
      text,
      sourceText: unit.source.unit.sourceText,
      sourceDigest,
      authorKind: author,
      tokenId,
      provider: isMachine ? provider : null,
      providerRunId: isMachine ? providerRunId : null,
      findings: judgement.findings,
      qaIdentity: judgement.qaIdentity,
      propagatedFrom: copiedFrom?.leased.unitId ?? null,
    },
  };
}

function outcomeOf({ author, copiedFrom, isRepaired }: JudgedProposal): UnitOutcome {
  if (author === 'memory') return 'reused';
  if (copiedFrom !== null) return 'propagated';
  return isRepaired ? 'repaired' : 'translated';
}

async function offerToMemory(
  { offers, memory, provider, logger }: RunWorld,
  { taskId, releaseId }: Lease,
  stored: readonly JudgedProposal[],
): Promise<void> {
  const made = stored.filter(({ author }) => author === 'machine');
  const offered = made.map(({ unit, text, providerRunId }) => ({
    source: unit.source,
    unitId: unit.key,
    targetText: text,
    author: { kind: 'machine' as const, tokenId: null },
    provider: provider.name,
    provider_run_id: providerRunId,
    task_id: taskId,
  }));
  await offers.offer(offered, 'worker', releaseId);
  const used = stored.flatMap(({ recordId }) => (recordId === null ? [] : [recordId]));
  if (used.length === 0) return;
  try {
    await memory.countUse(used);
  } catch (error) {
    logger.warn({ err: error }, 'the Translation Memory did not count the use of its records');
  }
}
