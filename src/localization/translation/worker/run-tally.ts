import type { FailedUnit } from '../providers/provider-failure.ts';
import { addUsage, NO_USAGE, type Usage } from '../providers/spending.ts';

/** The outcome of a unit. A unit counts once. */
export type UnitOutcome =
  /** Taken from the Translation Memory. */
  | 'reused'
  /** Translated by the provider. */
  | 'translated'
  /** Translated by the provider, and again because of its findings. */
  | 'repaired'
  /** Has the translation of an equal unit, or gets it from the job `propagate`. */
  | 'propagated'
  /** Stored with findings that block it. */
  | 'blocked'
  /** The provider gave no usable translation. */
  | 'failed'
  /** Somebody changed or held the unit meanwhile. */
  | 'skipped';

const OUTCOMES: readonly UnitOutcome[] = [
  'reused',
  'translated',
  'repaired',
  'propagated',
  'blocked',
  'failed',
  'skipped',
];

type ChunkCount = 'done' | 'left' | 'retried' | 'failed' | 'cancelled' | 'lost';

/** A failure of some units of a chunk. */
export interface ChunkFailure extends FailedUnit {
  /** Units without a translation because of it: repetitions are translated together. */
  readonly units: number;
}

/** Counts what a run does. */
export interface RunTally {
  unit(taskId: string, outcome: UnitOutcome, count?: number): void;
  failure(code: string): void;
  /** Counts units that the run asks for no more, with the reason. */
  failed(taskId: string, failures: readonly ChunkFailure[]): void;
  chunk(kind: ChunkCount): void;
  usage(taskId: string, used: Usage): void;
  /** Units with one of some outcomes. */
  count(outcomes: readonly UnitOutcome[]): number;
  /** Why units failed, the most frequent reason first. */
  reasons(): readonly FailureReason[];
  /** Open units that are not settled and get no target of an equal unit; see {@link RunTally.report}. */
  left(total: number, repeated: number): number;
  /**
   * As the result of the run shows it.
   *
   * @param total open units at the start; those that are not settled and get no target of an equal unit are `left`
   * @param repeated those of them that got, or will get, a target from the job `propagate`; they count as `propagated`
   */
  report(total: number, repeated: number): Readonly<Record<string, unknown>>;
}

/** Why units got no translation. */
export interface FailureReason {
  readonly code: string;
  readonly units: number;
  /** The first message of the code: what the provider said. */
  readonly message: string;
}

interface TaskTally {
  units: number;
  usage: Usage;
}

/** Most tasks that the result names: those with units that were settled, or with requests. */
const NAMED_TASKS = 50;
/** Most units without a translation that the result names. */
const NAMED_UNITS = 50;

/** Creates a tally. */
export function createRunTally(): RunTally {
  const units = new Map<UnitOutcome, number>();
  const chunks = new Map<ChunkCount, number>();
  const failures = new Map<string, number>();
  const reasons = new Map<string, FailureReason>();
  const failedUnits: object[] = [];
  const tasks = new Map<string, TaskTally>();
  let usage = NO_USAGE;
  let settled = 0;
  const taskOf = (taskId: string): TaskTally => {
    const tally = tasks.get(taskId) ?? { units: 0, usage: NO_USAGE };
    tasks.set(taskId, tally);
    return tally;
  };
  const unit: RunTally['unit'] = (taskId, outcome, count = 1) => {
    if (count === 0) return;
    add(units, outcome, count);
    settled += count;
    taskOf(taskId).units += count;
  };
  const sorted = (): readonly FailureReason[] =>
    [...reasons.values()].sort((left, right) => right.units - left.units);
  const left: RunTally['left'] = (total, repeated) => Math.max(0, total - settled - repeated);
  return {
    unit,
    left,
    failed: (taskId, failed) => {
      for (const { unitId, code, message, units: count } of failed) {
        unit(taskId, 'failed', count);
        const { units: before = 0, message: first = message } = reasons.get(code) ?? {};
        reasons.set(code, { code, units: before + count, message: first });
        if (failedUnits.length < NAMED_UNITS)
          failedUnits.push({ task_id: taskId, unit_id: unitId, code, message });
      }
    },
    count: (outcomes) => outcomes.reduce((sum, outcome) => sum + (units.get(outcome) ?? 0), 0),
    reasons: sorted,
    failure: (code) => {
      add(failures, code, 1);
    },
    chunk: (kind) => {
      add(chunks, kind, 1);
    },
    usage: (taskId, used) => {
      usage = addUsage(usage, used);
      const tally = taskOf(taskId);
      tally.usage = addUsage(tally.usage, used);
    },
    report: (total, repeated) => ({
      units: {
        ...Object.fromEntries(OUTCOMES.map((outcome) => [outcome, units.get(outcome) ?? 0])),
        propagated: (units.get('propagated') ?? 0) + repeated,
        left: left(total, repeated),
      },
      chunks: Object.fromEntries(chunks),
      failures: Object.fromEntries(failures),
      failed_units: failedUnits,
      usage: reportedUsage(usage),
      tasks: tasks.size,
      per_task: [...tasks]
        .filter(([, { units, usage }]) => units > 0 || usage.requests > 0)
        .slice(0, NAMED_TASKS)
        .map(([taskId, tally]) => ({
          task_id: taskId,
          units: tally.units,
          usage: reportedUsage(tally.usage),
        })),
    }),
  };
}

/** A usage as results of runs have it. */
export type ReportedUsage = Readonly<
  Record<'requests' | 'prompt_tokens' | 'answer_tokens' | 'characters' | 'cost', number>
>;

/** A usage in the result of a run. */
export function reportedUsage({
  requests,
  promptTokens,
  answerTokens,
  characters,
  cost,
}: Usage): ReportedUsage {
  return {
    requests,
    prompt_tokens: promptTokens,
    answer_tokens: answerTokens,
    characters,
    cost: Math.round(cost * 1_000_000) / 1_000_000,
  };
}

function add<Key>(counts: Map<Key, number>, key: Key, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}
