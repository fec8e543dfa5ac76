import { splitIntoBatches } from '../../../domain/translation/batches.ts';
import type { AnswersSoFar } from '../../../domain/translation/machine-flaws.ts';
import { TaskError, type TaskResult } from '../../../engine/tasks/task.ts';
import { unitIdText } from '../../unit-id-text.ts';
import type { RunContext } from '../run-context.ts';
import type { UnitToTranslate } from '../providers/provider.ts';
import { groupRepetitions, readChunk } from './chunk-units.ts';
import type { JudgedProposal } from './judge-proposals.ts';
import type { RunWorld } from './run-world.ts';
import { MOST_UNITS } from './suggested-units.ts';
import { translateBatch } from './translate-batch.ts';
import { writeUnits } from './write-requests.ts';

/** UTF-16 code units of all targets in the result, which the recorded task keeps. */
const MOST_CHARACTERS = 200_000;

/**
 * Asks the provider for targets that a person may take or leave: nothing is stored, and nobody holds the units.
 *
 * @param unitIds empty: the first units that need a target
 * @returns the suggestions, each with what the checks found and the reasons: its terms and the examples that it follows
 * @throws TaskError with the code of the provider's failure when there is no suggestion; the reason of the signal
 */
export async function suggestTargets(
  world: RunWorld,
  unitIds: readonly Uint8Array[],
  { signal, progress }: RunContext,
): Promise<TaskResult> {
  const { provider, tally, settings, thread } = world;
  const chunk = await thread.suggestedChunk({ taskId: settings.taskId ?? '', unitIds, limit: MOST_UNITS });
  if (chunk === null) throw new TaskError('unknown_translation_task', SUPERSEDED);
  const units = await readChunk(world.units, chunk, signal);
  const open = groupRepetitions(units);
  const answers: AnswersSoFar = new Map();
  const proposals: JudgedProposal[] = [];
  const known = new Set(units.map(({ key }) => key));
  const failures: FailedSuggestion[] = unitIds
    .map(unitIdText)
    .flatMap((unitId) => (known.has(unitId) ? [] : [{ ...UNKNOWN_UNIT, unitId }]));
  const asked = new Map<string, UnitToTranslate>();
  provider.beginRun();
  provider.fallback?.beginRun();
  for (const batch of splitIntoBatches(open, provider.stepSize)) {
    signal.throwIfAborted();
    progress(proposals.length, units.length, 'units', 'suggesting');
    const leaders = batch.map(({ leader }) => leader);
    for (const unit of await writeUnits(world, leaders, chunk.wasProofread, signal))
      asked.set(unit.unitId, unit);
    const signals = { work: signal, lost: signal };
    const translated = await translateBatch(world, chunk, batch, { units, answers }, signals);
    proposals.push(...translated.proposals);
    for (const { repetition, failure } of translated.failures)
      for (const { key } of [repetition.leader, ...repetition.followers])
        failures.push({ ...failure, unitId: key });
  }
  progress(units.length, units.length, 'units', 'suggesting');
  const shown = withinBound(proposals);
  for (const { unit } of proposals.slice(shown.length)) failures.push({ ...TOO_LARGE, unitId: unit.key });
  const [first] = failures;
  const { usage } = tally.report(units.length, 0) as { readonly usage?: object };
  const result = {
    provider: provider.name,
    model: provider.model,
    worker_id: settings.owner,
    only_suggests: true,
    suggestions: reported(shown, asked),
    failed_units: failures.map(({ unitId, code, message }) => ({ unit_id: unitId, code, message })),
    usage,
  };
  if (shown.length > 0 || first === undefined) return result;
  throw new TaskError(first.code, first.message, { details: result });
}

interface FailedSuggestion {
  readonly unitId: string;
  readonly code: string;
  readonly message: string;
}

const SUPERSEDED =
  'a newer release has replaced the translation task; take the task of the same file from translation.tasks';
const UNKNOWN_UNIT = { code: 'unknown_unit', message: 'the translation task does not have this unit' };
const TOO_LARGE = {
  code: 'answer_too_large',
  message: `all suggestions together have more than ${MOST_CHARACTERS} characters; ask for this unit alone`,
};

/** The first proposals that the result has room for; one has it always. */
function withinBound(proposals: readonly JudgedProposal[]): readonly JudgedProposal[] {
  let characters = 0;
  const end = proposals.findIndex(({ text }, at) => (characters += text.length) > MOST_CHARACTERS && at > 0);
  return end === -1 ? proposals : proposals.slice(0, end);
}

function reported(
  proposals: readonly JudgedProposal[],
  asked: ReadonlyMap<string, UnitToTranslate>,
): readonly object[] {
  return proposals.map(({ unit, text, judgement, copiedFrom, maker }) => {
    const { constraints = [], examples = [] } = asked.get((copiedFrom ?? unit).key) ?? {};
    return {
      unit_id: unit.key,
      source_text: unit.source.unit.sourceText,
      source_digest: Buffer.from(unit.source.unit.sourceDigest).toString('hex'),
      target_text: text,
      provider: maker?.name ?? null,
      model: maker?.model ?? null,
      findings: judgement.findings.map(({ check, severity, message }) => ({ check, severity, message })),
      terms: constraints.map(({ source, recommended }) => ({ source, target: recommended })),
      examples: examples.map(({ source, target }) => ({ source, target })),
    };
  });
}
