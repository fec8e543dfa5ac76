import type { OpenChunk } from '../work/leases/free-chunks.ts';
import type { ChunkUnit } from './chunk-units.ts';
import { errorCount, judgeProposals, type JudgedProposal, type Proposal } from './judge-proposals.ts';
import type { RunSetup } from './run-world.ts';
import { lookUpOf } from './write-requests.ts';

/**
 * Finds units whose translation the Translation Memory knows: confirmed by a person for this text, and without a finding that blocks
 * it here. A memory that cannot be used knows nothing.
 */
export async function findKnown(
  world: RunSetup,
  chunk: OpenChunk,
  units: readonly ChunkUnit[],
  signal: AbortSignal,
): Promise<readonly JudgedProposal[]> {
  const proposals = await trustedOf(world, units, signal);
  const judged = await judgeProposals(world, proposals, chunk.wasProofread, signal);
  return judged.filter((proposal) => errorCount(proposal) === 0);
}

async function trustedOf(
  { memory, settings, languages, logger }: RunSetup,
  units: readonly ChunkUnit[],
  signal: AbortSignal,
): Promise<readonly Proposal[]> {
  try {
    const answers = await memory.lookUp(
      units.map((unit) => lookUpOf(unit, languages(), 'trusted', 1)),
      { path: settings.memoryPath, signal },
    );
    const known = units.flatMap((unit, index) => {
      const match = answers[index]?.matches.find(({ decision }) => decision === 'reuse');
      return match === undefined ? [] : [{ unit, match }];
    });
    const tokens = await memory.soleTokens(
      known.map(({ match }) => match.record.record_id),
      { path: settings.memoryPath, signal },
    );
    return known.map(({ unit, match }, index) => {
      const tokenId = tokens[index];
      if (tokenId === undefined) throw new Error('the Translation Memory gave fewer tokens than records');
      return {
        unit,
        text: match.proposed_text,
        author: 'memory',
        tokenId,
        providerRunId: null,
        recordId: match.record.record_id,
        copiedFrom: null,
        isRepaired: false,
      };
    });
  } catch (error) {
    signal.throwIfAborted();
    logger.warn({ err: error }, 'the Translation Memory cannot be used; the run continues without it');
    return [];
  }
}
