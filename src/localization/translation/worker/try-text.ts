import { TaskError, type TaskResult } from '../../../engine/tasks/task.ts';
import type { GlossaryTerms } from '../providers/provider.ts';
import { createSpending } from '../providers/spending.ts';
import { reportedUsage } from './run-tally.ts';
import type { RunSetup } from './run-world.ts';

const TRIED = 'tried';

/**
 * Lets a provider translate one line, as a run would, and stores nothing. A provider that was out is asked without a wait.
 *
 * @throws TaskError with the code of the provider's failure; the reason of the signal
 */
export async function tryText(
  { provider, settings, languages, clock }: RunSetup,
  terms: GlossaryTerms,
  text: string,
  signal: AbortSignal,
): Promise<TaskResult> {
  const unit = { speaker: null, kind: null, scene: null, place: 0, around: [], maxLength: null };
  const nothing = { constraints: [], examples: [], findings: [] };
  const { sourceLanguage, targetLanguage } = languages();
  provider.beginRun();
  const began = clock.monotonic();
  const { results, failures, usage } = await provider.translateBatch({
    sourceLanguage,
    targetLanguage,
    characters: [],
    about: [],
    units: [{ unitId: TRIED, sourceText: text, ...unit, ...nothing }],
    spending: createSpending(settings),
    counts: new Map(),
    terms,
    signal,
  });
  const milliseconds = Math.round(clock.monotonic() - began);
  const report = { provider: provider.name, model: provider.model, text, milliseconds };
  const [translated] = results;
  if (translated !== undefined)
    return { ...report, translation: translated.translatedText, usage: reportedUsage(usage) };
  const [failed] = failures;
  throw new TaskError(failed?.code ?? 'provider_error', failed?.message ?? 'the provider gave no answer', {
    details: { ...report, usage: reportedUsage(usage) },
  });
}
