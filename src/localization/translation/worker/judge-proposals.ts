import type { Judgement } from '../judge/target-judge.ts';
import type { JudgedBy } from '../work/store/target-rows.ts';
import type { ChunkUnit } from './chunk-units.ts';
import type { RunSetup } from './run-world.ts';

/** A translation of a unit, before anybody has judged it. */
export interface Proposal {
  readonly unit: ChunkUnit;
  readonly text: string;
  readonly author: 'machine' | 'memory';
  /** The token that alone stands for the record of the memory; `null` for a machine. */
  readonly tokenId: string | null;
  readonly providerRunId: string | null;
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
