import type { TranslationProvider } from '../providers/provider.ts';
import type { Judgement } from '../judge/target-judge.ts';
import { NO_PROVENANCE, type JudgedBy } from '../work/store/target-rows.ts';
import type { ChunkUnit } from './chunk-units.ts';
import type { RunSetup, RunWorld } from './run-world.ts';
import type { OpenChunk } from '../work/leases/free-chunks.ts';
import { lookUpOf } from './write-requests.ts';
import type { Lease } from '../work/leases/chunk-leases.ts';
import { isWritten, type WorkerResult } from '../work/leases/lease-results.ts';
import { LeaseLostError } from './held-lease.ts';
import type { UnitOutcome } from './run-tally.ts';

/** A translation of a unit, before anybody has judged it. */
export interface Proposal {
  readonly unit: ChunkUnit;
  readonly text: string;
  readonly author: 'machine' | 'memory';
  /** The token that alone stands for the record of the memory; `null` for a machine. */
  readonly tokenId: string | null;
  readonly providerRunId: string | null;
  /** The provider that made it; `null` for one of the memory. */
  readonly maker: TranslationProvider | null;
  /** The record of the memory that it was taken from. */
  readonly recordId: string | null;
  /** The unit that it was translated for, when that is another one. */
  readonly copiedFrom: ChunkUnit | null;
  readonly isRepaired: boolean;
}

/** A translation with what is wrong with it. */
export interface JudgedProposal extends Proposal {
  readonly judgement: Judgement;
  readonly judgedBy: JudgedBy;
}

/** Judges translations of one container. */
export async function judgeProposals(
  { judge, settings }: RunSetup,
  proposals: readonly Proposal[],
  wasProofread: boolean,
  signal: AbortSignal,
): Promise<readonly JudgedProposal[]> {
  if (proposals.length === 0) return [];
  const texts = proposals.map(({ unit: { source }, text }) => ({
    place: source.unit,
    sourceText: source.unit.sourceText,
    targetText: text,
  }));
  const { glossaryPath } = settings;
  const { by, judgements } = await judge.judge(texts, { wasProofread, glossaryPath, signal });
  return proposals.map((proposal, index) => {
    const judgement = judgements[index];
    if (judgement === undefined) throw new Error('the judge gave fewer judgements than targets');
    return { ...proposal, judgement, judgedBy: by };
  });
}

/** Findings that another translation cannot repair: the Glossary contradicts itself. */
const OF_THE_SOURCE: ReadonlySet<string> = new Set(['ambiguous_term']);

/** The errors of a target that another translation may repair, as texts for the provider. */
export function repairableFindings({ judgement }: JudgedProposal): readonly string[] {
  return judgement.findings
    .filter(({ severity, check }) => severity === 'error' && !OF_THE_SOURCE.has(check))
    .map(({ message }) => message);
}

/** How many findings block a target, if nobody accepts them. */
export function errorCount({ judgement }: JudgedProposal): number {
  return judgement.findings.filter(({ severity }) => severity === 'error').length;
}

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
        maker: null,
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
  let written = 0;
  for (const [maker, made] of Map.groupBy(proposals, (proposal) => proposal.maker)) {
    written += await storeMade(world, lease, made, maker);
  }
  return written;
}

async function storeMade(
  world: RunWorld,
  lease: Lease,
  proposals: readonly JudgedProposal[],
  maker: TranslationProvider | null,
): Promise<number> {
  const { thread, tally } = world;
  const { isHeld, outcomes } = await thread.storeResults({
    token: lease.token,
    results: proposals.map(resultOf),
    provenance: {
      ...NO_PROVENANCE,
      model: maker?.model ?? null,
      promptDigest: maker?.promptDigest ?? null,
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

function resultOf(proposal: JudgedProposal): WorkerResult {
  const { unit, text, author, tokenId, judgement, judgedBy, copiedFrom, providerRunId, maker } = proposal;
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
      provider: maker?.name ?? null,
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
  { offers, memory, logger }: RunWorld,
  { taskId, releaseId }: Lease,
  stored: readonly JudgedProposal[],
): Promise<void> {
  const made = stored.filter(({ author }) => author === 'machine');
  const offered = made.map(({ unit, text, providerRunId, maker }) => ({
    source: unit.source,
    unitId: unit.key,
    targetText: text,
    author: { kind: 'machine' as const, tokenId: null },
    provider: maker?.name ?? null,
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
