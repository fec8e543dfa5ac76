import { isSameState } from '../../domain/service-state/decide-service-state.ts';
import { describeLocalized } from '../../domain/service-state/describe-state.ts';
import type { ServiceAnswer, ServiceState } from '../../domain/service-state/service-state.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { createLoop, type Loop } from '../../platform/process/loop.ts';
import type { ReadServiceState } from './service-state-reader.ts';

/** Milliseconds between two checks. The state also changes with time alone, so nothing announces every change. */
const LOOK_MS = 1000;

/** Milliseconds after which a start that waits for something outside of this server is worth a warning. */
const START_MS = 60_000;

/** Makes the loop that logs every change of the state, and a start that takes too long. */
export function createServiceStateLog(options: {
  readonly read: ReadServiceState;
  readonly logger: Logger;
  readonly clock: Clock;
}): Loop {
  const { read, logger, clock } = options;
  let last: ServiceAnswer | null = null;
  let changedAt = clock.monotonic();
  let isWarned = false;
  return createLoop({
    clock,
    turn: () => {
      const answer = read();
      if (!isSameState(last, answer)) {
        logState(logger, answer, last, isQuiet(answer) ? 'info' : 'warn', 'state of the service changed');
        changedAt = clock.monotonic();
        isWarned = false;
      } else if (!isWarned && isWaiting(answer) && clock.monotonic() - changedAt >= START_MS) {
        logState(logger, answer, last, 'warn', 'the service has not started yet');
        isWarned = true;
      }
      last = answer;
      return Promise.resolve(LOOK_MS);
    },
    onFailure: (error) => {
      logger.warn({ err: error }, 'the state of the service cannot be determined');
      return LOOK_MS;
    },
  });
}

const QUIET: ReadonlySet<ServiceState['state']> = new Set(['healthy', 'starting', 'stopping']);
/** Reasons of a start that makes progress, however long it takes. */
const AT_WORK: ReadonlySet<ServiceState['reason']> = new Set(['Syncing', 'SnapshotLoading']);

function isQuiet({ state, reason }: ServiceState): boolean {
  return QUIET.has(state) || reason === 'NeverSynced';
}

function isWaiting({ state, reason }: ServiceState): boolean {
  return state === 'starting' && !AT_WORK.has(reason);
}

function logState(
  logger: Logger,
  answer: ServiceAnswer,
  before: ServiceAnswer | null,
  level: 'info' | 'warn',
  text: string,
): void {
  const { state, reason, message, next_step: next, channels } = answer;
  logger[level](
    {
      state,
      reason,
      detail: message,
      next_step: next?.text ?? null,
      localized_state: channels.localized.state,
      localized: describeLocalized(answer),
      before: before?.state ?? null,
    },
    text,
  );
}
