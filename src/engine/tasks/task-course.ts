import type { ReportBodyOf } from '../../contract/reports/reports.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { TaskProgress } from './task.ts';

/** How one phase of a run went; its samples are oldest first and never empty. */
export type CoursePhase = ReportBodyOf<'task.status'>['course'][number];

type CourseSample = CoursePhase['samples'][number];

/** Records how the progress of a run went. */
export interface TaskCourse {
  /** Adds the newest progress; cheap to call often. */
  add(progress: TaskProgress): void;
  /** The phases so far, oldest first. */
  read(): readonly CoursePhase[];
}

/** Most samples of a phase. When there are more, every second one is dropped, and the next ones are further apart. */
export const SAMPLES_MAX = 120;
/** Most phases; the oldest ones are dropped. */
export const PHASES_MAX = 16;
/** Milliseconds between two samples at the beginning of a phase. */
const FIRST_INTERVAL_MS = 500;

interface OpenPhase {
  phase: string;
  unit: string;
  total: number | null;
  samples: CourseSample[];
  /** Between two samples, milliseconds. */
  intervalMs: number;
  /** When the last kept sample was taken, monotonic milliseconds. */
  keptAt: number;
  /** The newest progress, which may be too near to the last sample to be kept. */
  newest: CourseSample;
}

/** Creates the record of one run. Its size is bounded, however long the run is. */
export function createTaskCourse(clock: Clock): TaskCourse {
  const phases: OpenPhase[] = [];

  const open = ({ phase, unit, total }: TaskProgress, newest: CourseSample): void => {
    phases.push({
      phase,
      unit,
      total,
      samples: [newest],
      intervalMs: FIRST_INTERVAL_MS,
      keptAt: clock.monotonic(),
      newest,
    });
    if (phases.length > PHASES_MAX) phases.shift();
  };

  return {
    add: (progress) => {
      const newest = { at: clock.now() / 1000, done: progress.done };
      const last = phases.at(-1);
      if (last === undefined || last.phase !== progress.phase || last.unit !== progress.unit) {
        open(progress, newest);
        return;
      }
      last.total = progress.total;
      last.newest = newest;
      const now = clock.monotonic();
      if (now - last.keptAt < last.intervalMs) return;
      last.keptAt = now;
      last.samples.push(newest);
      if (last.samples.length <= SAMPLES_MAX) return;
      last.samples = last.samples.filter((_, index) => index % 2 === 0);
      last.intervalMs *= 2;
    },
    read: () =>
      phases.map(({ phase, unit, total, samples, newest }) => ({
        phase,
        unit,
        total,
        samples: samples.at(-1) === newest ? [...samples] : [...samples, newest],
      })),
  };
}

/** Keeps the courses of the last runs, those of running tasks included. */
interface LastCourses {
  keep(taskId: string, course: TaskCourse): void;
  /** Empty when the course is not known. */
  read(taskId: string): readonly CoursePhase[];
}

/**
 * Most runs whose course is kept; more than can run together. They are in memory, because they are for people who look on,
 * and are forgotten with the process.
 */
export const COURSES_MAX = 50;

/** Creates an empty memory. */
export function createLastCourses(): LastCourses {
  const courses = new Map<string, TaskCourse>();
  return {
    keep: (taskId, course) => {
      courses.delete(taskId);
      courses.set(taskId, course);
      const [oldest] = courses.keys();
      if (courses.size > COURSES_MAX && oldest !== undefined) courses.delete(oldest);
    },
    read: (taskId) => courses.get(taskId)?.read() ?? [],
  };
}
