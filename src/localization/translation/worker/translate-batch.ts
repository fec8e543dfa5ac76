import { machineFlaws, type AnswersSoFar } from '../../../domain/translation/machine-flaws.ts';
import { askWithFallback } from '../providers/fallback.ts';
import type { FailedUnit } from '../providers/provider-failure.ts';
import type { OpenChunk } from '../work/leases/free-chunks.ts';
import type { TranslationOutcome, TranslationProvider, UnitToTranslate } from '../providers/provider.ts';
import type { ChunkUnit, Repetition } from './chunk-units.ts';
import {
  errorCount,
  judgeProposals,
  repairableFindings,
  type JudgedProposal,
  type Proposal,
} from './judge-proposals.ts';
import type { RunWorld } from './run-world.ts';
import { charactersAround, usesContext, writeUnits } from './write-requests.ts';

/** The translations of a batch, the copies for repetitions among them, and the units without one. */
interface TranslatedBatch {
  readonly proposals: readonly JudgedProposal[];
  readonly failures: readonly BatchFailure[];
}

/** Why a group of repetitions has no translation. */
export interface BatchFailure {
  readonly repetition: Repetition;
  readonly failure: FailedUnit;
}

/** What the batches of a chunk share. */
interface ChunkWork {
  /** All units of the chunk, for the characters of the scene. */
  readonly units: readonly ChunkUnit[];
  /** The translations of the chunk so far. */
  readonly answers: AnswersSoFar;
}

/** The signals of the work on a chunk. */
export interface ChunkSignals {
  /** Aborted when the run is cancelled or the lease is lost. */
  readonly work: AbortSignal;
  /** Aborted when the lease is lost. Finished translations are stored until then. */
  readonly lost: AbortSignal;
}

/**
 * Translates a batch: asks the provider, judges, asks once more about findings that it may repair, and gives repetitions the same text.
 *
 * @throws the reason of a signal; the errors of the Glossary
 */
export async function translateBatch(
  world: RunWorld,
  lease: OpenChunk,
  batch: readonly Repetition[],
  { units: chunk, answers }: ChunkWork,
  signals: ChunkSignals,
): Promise<TranslatedBatch> {
  const { wasProofread } = lease;
  const judge = async (proposals: readonly Proposal[]): Promise<readonly JudgedProposal[]> => {
    const judged = await judgeProposals(world, proposals, wasProofread, signals.lost);
    return withFlaws(world, judged, answers);
  };
  const leaders = batch.map(({ leader }) => leader);
  const asked = await writeUnits(world, leaders, wasProofread, signals.work);
  const ask = createAsk(world, lease, leaders, chunk, signals.work);
  const outcome = await ask(asked);
  const byKey = new Map(batch.map((repetition) => [repetition.leader.key, repetition]));
  const first = proposalsOf(outcome.results, byKey, false);
  const judged = await judge(first);
  const again = world.provider.promptDigest !== null ? await askAgain(judged, asked, ask, signals) : [];
  const repaired = await judge(proposalsOf(again, byKey, true));
  const chosen = better(judged, repaired);
  const copies = chosen.flatMap((proposal) => copiesOf(proposal, byKey));
  const judgedCopies = await judge(copies);
  return {
    proposals: [...chosen, ...judgedCopies],
    failures: outcome.failures.flatMap((failure) => {
      const repetition = byKey.get(failure.unitId);
      return repetition === undefined ? [] : [{ repetition, failure }];
    }),
  };
}

/** Adds what only programs do wrong to the findings of their translations. */
function withFlaws(
  { languages, provider }: RunWorld,
  judged: readonly JudgedProposal[],
  answers: AnswersSoFar,
): readonly JudgedProposal[] {
  // The translations of a file are prepared by people.
  if (provider.kind === 'fixture') return judged;
  const texts = judged.map(({ unit: { key, source }, text }) => ({
    key,
    source: source.unit.sourceText,
    target: text,
  }));
  const flaws = machineFlaws(texts, languages(), answers);
  return judged.map((proposal) => {
    const own = (flaws.get(proposal.unit.key) ?? []).map((flaw) => ({ ...flaw, origin: 'target' as const }));
    const { judgement } = proposal;
    return { ...proposal, judgement: { ...judgement, findings: [...judgement.findings, ...own] } };
  });
}

/** An outcome whose translations name their provider. */
interface Asked {
  readonly results: readonly MadeUnit[];
  readonly failures: TranslationOutcome['failures'];
}

type MadeUnit = TranslationOutcome['results'][number] & { readonly maker: TranslationProvider };

type Ask = (units: readonly UnitToTranslate[]) => Promise<Asked>;

function createAsk(
  world: RunWorld,
  { taskId, destination }: OpenChunk,
  leaders: readonly ChunkUnit[],
  chunk: readonly ChunkUnit[],
  signal: AbortSignal,
): Ask {
  const { provider, languages, spending, tally, counts, terms } = world;
  const { sourceLanguage, targetLanguage } = languages();
  const characters = usesContext(provider) ? charactersAround(world, leaders, chunk) : [];
  const about = world.about(destination);
  const askOf = async (maker: TranslationProvider, units: readonly UnitToTranslate[]): Promise<Asked> => {
    const request = { sourceLanguage, targetLanguage, characters, about, spending, counts, terms, signal };
    const hasFallback = maker.fallback !== null;
    const { results, failures, usage } = await maker.translateBatch({ ...request, hasFallback, units });
    tally.usage(taskId, usage);
    return { results: results.map((result) => ({ ...result, maker })), failures };
  };
  const { fallback } = provider;
  return async (units) => {
    const outcomes = await askWithFallback(
      units,
      async (some) => await askOf(provider, some),
      fallback === null ? null : async (some) => await askOf(fallback, some),
    );
    return {
      results: outcomes.flatMap(({ results }) => results),
      failures: outcomes.flatMap(({ failures }) => failures),
    };
  };
}

/** Asks once more about translations with errors. When that fails, the first translations stay. */
async function askAgain(
  judged: readonly JudgedProposal[],
  asked: readonly UnitToTranslate[],
  ask: Ask,
  { work, lost }: ChunkSignals,
): Promise<Asked['results']> {
  const findings = new Map(judged.map((proposal) => [proposal.unit.key, repairableFindings(proposal)]));
  const again = asked.flatMap((unit) => {
    const wrong = findings.get(unit.unitId) ?? [];
    return wrong.length === 0 ? [] : [{ ...unit, findings: wrong }];
  });
  if (again.length === 0) return [];
  try {
    const { results } = await ask(again);
    return results;
  } catch (error) {
    lost.throwIfAborted();
    // A cancelled run keeps what it has.
    if (work.aborted) return [];
    throw error;
  }
}

function proposalsOf(
  results: Asked['results'],
  byKey: ReadonlyMap<string, Repetition>,
  isRepaired: boolean,
): readonly Proposal[] {
  return results.flatMap(({ unitId, translatedText, providerRunId, maker }) => {
    const repetition = byKey.get(unitId);
    if (repetition === undefined) return [];
    return {
      unit: repetition.leader,
      text: translatedText,
      author: 'machine',
      tokenId: null,
      providerRunId,
      maker,
      recordId: null,
      copiedFrom: null,
      isRepaired,
    };
  });
}

/** Of two translations of a unit the one with fewer errors; the first one when they are equal. */
function better(
  first: readonly JudgedProposal[],
  second: readonly JudgedProposal[],
): readonly JudgedProposal[] {
  const byKey = new Map(second.map((proposal) => [proposal.unit.key, proposal]));
  return first.map((proposal) => {
    const other = byKey.get(proposal.unit.key);
    return other !== undefined && errorCount(other) < errorCount(proposal) ? other : proposal;
  });
}

function copiesOf(proposal: JudgedProposal, byKey: ReadonlyMap<string, Repetition>): readonly Proposal[] {
  const { judgement: _judgement, judgedBy: _judgedBy, ...translation } = proposal;
  const { followers = [], leader = proposal.unit } = byKey.get(proposal.unit.key) ?? {};
  return followers.map((unit) => ({ ...translation, unit, copiedFrom: leader }));
}
