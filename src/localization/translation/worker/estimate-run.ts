import { splitIntoBatches } from '../../../domain/translation/batches.ts';
import type { TaskResult } from '../../../engine/tasks/task.ts';
import type { RunContext } from '../run-context.ts';
import type { Prompt, TranslationSubject } from '../providers/provider.ts';
import { NO_USAGE, addUsage, fits } from '../providers/spending.ts';
import type { OpenChunk } from '../work/leases/free-chunks.ts';
import { createChunkOrder } from './chunk-claims.ts';
import { groupRepetitions, readChunk, type ChunkUnit } from './chunk-units.ts';
import { findKnown } from './judge-proposals.ts';
import { reportedUsage } from './run-tally.ts';
import type { RunSetup } from './run-world.ts';
import { charactersAround, usesContext, writeUnits } from './write-requests.ts';

/**
 * Estimates what a run would use, high rather than low. It reads everything that the run would read, asks no provider and changes
 * nothing. The estimate of one translation task shows its first prompt.
 */
export async function estimateRun(world: RunSetup, { signal, progress }: RunContext): Promise<TaskResult> {
  const { settings, provider, thread } = world;
  const { taskId, maxTasks } = settings;
  const stepUnits = provider.stepSize.units;
  const { units: total } = await thread.openUnits({ taskId, maxTasks, stepUnits });
  const sum = { units: 0, reused: 0, translated: 0, propagated: 0 };
  const tasks = new Set<string>();
  let usage = NO_USAGE;
  let prompt: Prompt | null = null;
  for await (const chunk of chunksOf(world, signal)) {
    const units = await readChunk(world.units, chunk, signal);
    const known = await findKnown(world, chunk, units, signal);
    const knownKeys = new Set(known.map(({ unit }) => unit.key));
    const open = groupRepetitions(units.filter(({ key }) => !knownKeys.has(key)));
    for (const batch of splitIntoBatches(open, provider.stepSize)) {
      const leaders = batch.map(({ leader }) => leader);
      const subject = await subjectOf(world, chunk, leaders, units, signal);
      usage = addUsage(usage, provider.estimate(subject));
      if (taskId !== null) prompt ??= provider.promptOf(subject);
    }
    tasks.add(chunk.taskId);
    sum.units += units.length;
    sum.reused += known.length;
    sum.translated += open.length;
    sum.propagated += units.length - known.length - open.length;
    progress(Math.min(sum.units, total), total, 'units', 'estimating');
  }
  progress(total, total, 'units', 'estimating');
  return {
    provider: provider.name,
    model: provider.model,
    worker_id: settings.owner,
    dry_run: true,
    units: sum,
    tasks: tasks.size,
    usage: reportedUsage(usage),
    fits: fits(usage, settings),
    ...(prompt === null ? {} : { prompt }),
  };
}

async function* chunksOf({ thread, settings }: RunSetup, signal: AbortSignal): AsyncGenerator<OpenChunk> {
  const order = createChunkOrder(settings);
  for (;;) {
    const chunk = await thread.peekChunk(order.next(), { signal });
    if (chunk === null) return;
    order.passed(chunk);
    yield chunk;
  }
}

async function subjectOf(
  world: RunSetup,
  { wasProofread, destination }: OpenChunk,
  leaders: readonly ChunkUnit[],
  chunk: readonly ChunkUnit[],
  signal: AbortSignal,
): Promise<TranslationSubject> {
  const { provider, languages } = world;
  const { sourceLanguage, targetLanguage } = languages();
  const characters = usesContext(provider) ? charactersAround(world, leaders, chunk) : [];
  const units = await writeUnits(world, leaders, wasProofread, signal);
  return { sourceLanguage, targetLanguage, characters, about: world.about(destination), units };
}
