import { splitIntoBatches } from '../../../domain/translation/batches.ts';
import type { TaskResult } from '../../../engine/tasks/task.ts';
import type { RunContext } from '../run-context.ts';
import { NO_USAGE, addUsage, type Usage } from '../providers/spending.ts';
import type { OpenChunk } from '../work/leases/free-chunks.ts';
import { createChunkOrder } from './chunk-claims.ts';
import { groupRepetitions, readChunk, type ChunkUnit } from './chunk-units.ts';
import { findKnown } from './judge-proposals.ts';
import { reportedUsage } from './run-tally.ts';
import type { RunSetup } from './run-world.ts';
import { charactersAround, usesContext, writeUnits } from './write-requests.ts';

/**
 * Estimates what a run would use, high rather than low. It reads everything that the run would read, asks no provider and changes
 * nothing.
 */
export async function estimateRun(world: RunSetup, { signal, progress }: RunContext): Promise<TaskResult> {
  const { settings, provider, thread } = world;
  const { taskId, maxTasks } = settings;
  const { units: total } = await thread.openUnits({ taskId, maxTasks });
  const sum = { units: 0, reused: 0, translated: 0, propagated: 0 };
  const tasks = new Set<string>();
  let usage = NO_USAGE;
  for await (const chunk of chunksOf(world, signal)) {
    const units = await readChunk(world.units, chunk, signal);
    const known = await findKnown(world, chunk, units, signal);
    const knownKeys = new Set(known.map(({ unit }) => unit.key));
    const open = groupRepetitions(units.filter(({ key }) => !knownKeys.has(key)));
    for (const batch of splitIntoBatches(open, provider.stepSize)) {
      const leaders = batch.map(({ leader }) => leader);
      usage = addUsage(usage, await estimateBatch(world, chunk, leaders, units, signal));
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

async function estimateBatch(
  world: RunSetup,
  { wasProofread }: OpenChunk,
  leaders: readonly ChunkUnit[],
  chunk: readonly ChunkUnit[],
  signal: AbortSignal,
): Promise<Usage> {
  const { provider, languages } = world;
  const { sourceLanguage, targetLanguage } = languages();
  const characters = usesContext(provider) ? charactersAround(world, leaders, chunk) : [];
  const units = await writeUnits(world, leaders, wasProofread, signal);
  return provider.estimate({ sourceLanguage, targetLanguage, characters, units });
}

/** Whether the estimate fits under the caps; `null` without a cap. */
function fits(
  { promptTokens, answerTokens, cost }: Usage,
  { maxTokens, maxCost }: RunSetup['settings'],
): boolean | null {
  if (maxTokens === null && maxCost === null) return null;
  return (
    promptTokens + answerTokens <= (maxTokens ?? Number.POSITIVE_INFINITY) &&
    cost <= (maxCost ?? Number.POSITIVE_INFINITY)
  );
}
