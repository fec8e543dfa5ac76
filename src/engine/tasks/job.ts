import type { z } from 'zod';
import type { JobScope } from '../../contract/actions/control-scopes.ts';
import type { ScheduleGroup } from '../../contract/schemas/vocabulary.ts';
import { TaskError, type TaskArguments, type TaskContext, type TaskLane, type TaskResult } from './task.ts';

/** One kind of background work. Actions, schedules and events queue tasks of this kind. */
export interface JobDefinition<Arguments extends z.ZodObject = z.ZodObject> {
  /** The kind of its tasks. */
  readonly kind: string;
  /** Appears in the reference documentation. */
  readonly summary: string;
  readonly lane: Exclude<TaskLane, 'admin'>;
  /** The scope that a token needs to schedule it or to cancel its tasks. */
  readonly scope: JobScope;
  /** Switches among its arguments that decide something; a token that sets one needs `review`, too. */
  readonly reviewSwitches?: readonly string[];
  /** Arguments that only a person sets, such as one that undoes the decision of another person. No schedule can set one. */
  readonly personalSwitches?: readonly string[];
  /** Groups whose schedules can run it. */
  readonly groups: readonly ScheduleGroup[];
  readonly arguments: Arguments;
  /** Whether a task found running at boot is queued again (`true`) or fails with `daemon_restarted`. */
  readonly resumable: boolean;
  readonly maxAttempts: number;
  /** Whether a task locks the store exclusively, shares the lock with other readers, or takes no lock. */
  readonly storeLock: 'exclusive' | 'shared' | 'none';
  /**
   * Most tasks of the kind that run together, beside the one task of the lane. Absent: the kind takes its turn in the lane. For
   * long tasks that mostly wait for others, so that the lane stays free.
   */
  readonly parallel?: number;
}

/** The parsed arguments of a job. */
export type ArgumentsOf<J extends JobDefinition> = z.output<J['arguments']>;

/** A job that this daemon can run. */
export interface Job extends JobDefinition {
  /** @throws TaskError for expected failures; any other error fails the task as `internal_error` */
  run(context: TaskContext): Promise<TaskResult>;
}

/** A request to queue a task: the kind of its job, and its arguments with defaults filled in. */
export interface JobCall {
  readonly kind: string;
  readonly args: TaskArguments;
}

/**
 * Combines a job definition with its implementation.
 *
 * @param run called with the arguments as parsed by the job's schema
 */
export function implementJob<J extends JobDefinition>(
  definition: J,
  run: (context: TaskContext<ArgumentsOf<J>>) => Promise<TaskResult>,
): Job {
  return {
    ...definition,
    run: async (context) => await run({ ...context, args: storedArguments(definition, context.args) }),
  };
}

/** Creates the call of a job. Throws ZodError for arguments that the job does not accept. */
export function callOf<J extends JobDefinition>(
  definition: J,
  args: z.input<J['arguments']>,
): JobCall & { readonly args: ArgumentsOf<J> } {
  return { kind: definition.kind, args: definition.arguments.parse(args) as ArgumentsOf<J> };
}

function storedArguments<J extends JobDefinition>(definition: J, args: TaskArguments): ArgumentsOf<J> {
  const parsed = definition.arguments.safeParse(args);
  if (parsed.success) return parsed.data as ArgumentsOf<J>;
  const [issue] = parsed.error.issues;
  throw new TaskError(
    'arguments_invalid',
    `the arguments of this task do not fit ${definition.kind}: ${issue?.path.map(String).join('.') ?? ''} ${issue?.message ?? ''}; ` +
      'another version of the daemon queued it, so start it again',
  );
}

/** The jobs that this daemon can run. */
export interface JobRegistry {
  /** Adds jobs; call it before the engine starts. Throws when a kind is registered twice. */
  register(...jobs: readonly Job[]): void;
  find(kind: string): Job | null;
  /** The kinds of all jobs, in the order of registration. */
  kinds(): readonly string[];
  /** Kinds of jobs that schedules of a group can run, in the order of registration. */
  kindsOf(group: ScheduleGroup): readonly string[];
  /** The jobs whose tasks run beside those of their lane, with how many of them together. */
  parallel(): ReadonlyArray<{ readonly job: Job; readonly most: number }>;
}

/** Creates a registry without jobs. */
export function createJobRegistry(): JobRegistry {
  const byKind = new Map<string, Job>();
  return {
    register: (...jobs) => {
      for (const job of jobs) {
        if (byKind.has(job.kind)) throw new Error(`a job is registered twice: ${job.kind}`);
        byKind.set(job.kind, job);
      }
    },
    kinds: () => [...byKind.keys()],
    find: (kind) => byKind.get(kind) ?? null,
    kindsOf: (group) =>
      [...byKind.values()].filter(({ groups }) => groups.includes(group)).map(({ kind }) => kind),
    parallel: () =>
      [...byKind.values()].flatMap((job) =>
        job.parallel === undefined ? [] : [{ job, most: job.parallel }],
      ),
  };
}
