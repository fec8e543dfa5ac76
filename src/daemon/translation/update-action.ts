import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { BodyOf } from '../../contract/actions/body-of.ts';
import { ServiceError } from '../../contract/problems/service-error.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { Thread } from '../../platform/threads/thread.ts';
import { defineAction, type DefinedAction } from '../api/define-action.ts';
import { unitIdText } from '../parse/index/unit-id-text.ts';
import type { TaskEngine } from '../tasks/task-engine.ts';
import type { TaskArguments, TaskResult } from '../tasks/task.ts';
import { translationServiceError } from './work/translation-failure.ts';
import { parseTaskUpdate, waivesFindings } from './update-request.ts';
import type { Finding } from './work/target-rows.ts';
import type { TranslationCalls } from './work/translation-worker.ts';
import type {
  ExaminedUpdate,
  TaskUpdate,
  UpdateDone,
  UpdateRefusal,
  UpdateResult,
} from './work/task-update.ts';

/** A target and where it belongs, for the Glossary. */
export interface TextToDiagnose {
  readonly sourceText: string;
  readonly translatedText: string;
  /** Keys of scopes: `destination`, `archive_entry`. */
  readonly context: Readonly<Record<string, string>>;
}

/** The other parts that an update needs. */
export interface UpdatePorts {
  /** Checks a target against its source. */
  checkTarget(input: {
    readonly source: string;
    readonly target: string;
  }): readonly Omit<Finding, 'origin'>[];
  /** Compares targets with the Glossary. @returns the diagnoses in the order of the texts */
  diagnose(texts: readonly TextToDiagnose[]): Promise<{
    readonly generation: number;
    readonly diagnoses: readonly {
      readonly qaIdentity: string;
      readonly findings: readonly Omit<Finding, 'origin'>[];
    }[];
  }>;
  /** Offers stored targets to the Translation Memory as candidates. */
  propose(records: readonly ProposedTarget[]): Promise<void>;
}

/** A stored target that nothing blocks. */
export interface ProposedTarget {
  readonly unitId: string;
  readonly taskId: string;
  readonly releaseId: string;
  readonly sourceText: string;
  readonly targetText: string;
  readonly context: Readonly<Record<string, string>>;
  readonly provider: string | null;
  readonly providerRunId: string | null;
}

export interface UpdateActionOptions {
  readonly engine: Pick<TaskEngine, 'submit' | 'recordInline'>;
  readonly thread: Pick<Thread<TranslationCalls>, 'call'>;
  readonly ports: UpdatePorts;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
}

/** Targets that are checked before other work of the event loop has its turn. */
const CHECKED_TARGETS = 50;
/** Most units that the result of the task names. */
const NAMED_UNITS = 1000;

/** Creates the action `translation-task-update`. */
export function createUpdateAction(options: UpdateActionOptions): DefinedAction {
  return defineAction(options.engine, 'translation-task-update', {
    needs: (body) => (waivesFindings(body) ? ['review'] : []),
    args: recordedArguments,
    run: async (body, caller) => {
      const update = parseTaskUpdate(body, caller.tokenId, unixSeconds(options.clock));
      try {
        return await runUpdate(options, update);
      } catch (error) {
        throw translationServiceError(error);
      }
    },
  });
}

async function runUpdate(options: UpdateActionOptions, update: TaskUpdate): Promise<TaskResult> {
  const { thread } = options;
  const examined = accepted(await thread.call('examineUpdate', update));
  const checked = await checkTargets(options.ports, update, examined);
  const done = accepted(await thread.call('applyUpdate', checked));
  const memory = await propose(options, checked, examined, done);
  return {
    task: done.task,
    written: done.written.length,
    repeated: done.repeated,
    units: done.written.slice(0, NAMED_UNITS).map(({ unitId, revision, state }) => ({
      unit_id: unitIdText(unitId),
      revision,
      state,
    })),
    ...(done.appliedTo.length === 0 ? {} : { applied_to: done.appliedTo }),
    ...(memory ? {} : { memory: 'unavailable' }),
  };
}

/** Checks the targets of an update in small steps, and compares them with the Glossary. */
async function checkTargets(
  ports: UpdatePorts,
  update: TaskUpdate,
  examined: ExaminedUpdate,
): Promise<TaskUpdate> {
  if (update.results.length === 0) return update;
  const context = contextOf(examined);
  const texts = update.results.map(({ sourceText, text }) => ({ sourceText, translatedText: text, context }));
  const { generation, diagnoses } = await ports.diagnose(texts);
  const results: UpdateResult[] = [];
  for (const [index, result] of update.results.entries()) {
    if (index % CHECKED_TARGETS === CHECKED_TARGETS - 1) await setImmediate();
    const diagnosis = diagnoses[index];
    if (diagnosis === undefined) throw new Error('the Glossary gave fewer diagnoses than texts');
    const own = ports.checkTarget({ source: result.sourceText, target: result.text });
    const findings: Finding[] = [
      ...own.map((finding) => ({ ...finding, origin: 'target' as const })),
      ...diagnosis.findings.map((finding) => ({ ...finding, origin: 'glossary' as const })),
    ];
    results.push({ ...result, findings, qaIdentity: diagnosis.qaIdentity });
  }
  return { ...update, results, glossaryGeneration: generation };
}

/** Offers the stored targets to the Translation Memory. @returns whether it took it; the targets are stored in any case */
async function propose(
  { ports, logger }: UpdateActionOptions,
  { results, taskId, provider, providerRunId }: TaskUpdate,
  examined: ExaminedUpdate,
  { written }: UpdateDone,
): Promise<boolean> {
  const usable = new Set(
    written.filter(({ state }) => state !== 'blocked').map(({ requestedId }) => unitIdText(requestedId)),
  );
  const records = results.flatMap(({ unitId, sourceText, text }) => {
    const id = unitIdText(unitId);
    if (!usable.has(id)) return [];
    const place = { unitId: id, taskId, releaseId: examined.releaseId, context: contextOf(examined) };
    return { ...place, sourceText, targetText: text, provider, providerRunId };
  });
  if (records.length === 0) return true;
  try {
    await ports.propose(records);
    return true;
  } catch (error) {
    logger.warn(
      { err: error, task_id: taskId },
      'the Translation Memory did not take the targets of an update',
    );
    return false;
  }
}

function contextOf({ destination, archiveEntry }: ExaminedUpdate): Record<string, string> {
  return archiveEntry === null ? { destination } : { destination, archive_entry: archiveEntry };
}

function accepted<T extends { readonly isRefused: false }>(answer: T | UpdateRefusal): T {
  if (!answer.isRefused) return answer;
  const { code, detail, errors } = answer;
  throw new ServiceError(code, detail, errors.length === 0 ? {} : { errors });
}

/** The arguments of the recorded task: a digest stands for the texts, of which there may be megabytes. */
function recordedArguments(body: BodyOf<'translation-task-update'>): TaskArguments {
  const { translation_results: results, reviewer: _reviewer, reason: _reason, ...rest } = body;
  if (results === undefined) return rest;
  const digest = createHash('sha256').update(JSON.stringify(results)).digest('hex');
  return { ...rest, translation_results: { count: results.length, sha256: digest } };
}
