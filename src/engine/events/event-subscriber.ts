import type { z } from 'zod';
import { callOf, type JobCall, type JobDefinition } from '../tasks/job.ts';
import type { ReleaseBecameCurrent } from './release-became-current.ts';

/** A job that runs after a release becomes current. */
export interface EventSubscriber {
  /** Stable: the database records deliveries under it. */
  readonly name: string;
  /** The kind of the job that it queues. */
  readonly kind: string;
  /** What to queue for an event; `null` when the event does not matter. */
  call(event: ReleaseBecameCurrent): JobCall | null;
}

/**
 * Subscribes a job to the event.
 *
 * @param name stable and unique
 * @param job a registered job
 * @param argumentsOf pure; returns the job's arguments for an event, or `null` when the event does not matter
 */
export function subscriber<J extends JobDefinition>(
  name: string,
  job: J,
  argumentsOf: (event: ReleaseBecameCurrent) => z.input<J['arguments']> | null,
): EventSubscriber {
  return {
    name,
    kind: job.kind,
    call: (event) => {
      const args = argumentsOf(event);
      return args === null ? null : callOf(job, args);
    },
  };
}
