import type { ScheduleGroup } from '../../contract/schemas/vocabulary.ts';
import type { Job } from './job.ts';

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
