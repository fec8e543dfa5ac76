import { isSameState } from '../../domain/service-state/decide-service-state.ts';
import { CHANNELS } from '../../domain/release/channel.ts';
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
      if (logChanges(logger, answer, last)) {
        changedAt = clock.monotonic();
        isWarned = false;
      } else if (!isWarned && isWaiting(answer) && clock.monotonic() - changedAt >= START_MS) {
        logger.warn(fieldsOf(answer, last), 'the service has not started yet');
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

/** Logs what changed: the service with its channels, or else each channel that changed alone. Returns whether anything did. */
function logChanges(logger: Logger, answer: ServiceAnswer, before: ServiceAnswer | null): boolean {
  const level = isQuiet(answer) ? 'info' : 'warn';
  if (!isSameState(before, answer)) {
    logger[level](fieldsOf(answer, before), 'state of the service changed');
    return true;
  }
  const changed = CHANNELS.filter(
    (channel) => !isSameState(before?.channels[channel] ?? null, answer.channels[channel]),
  );
  for (const channel of changed) {
    const fields = stateFields(answer.channels[channel], before?.channels[channel]);
    logger[level]({ channel, ...fields }, 'state of a channel changed');
  }
  return changed.length > 0;
}

function fieldsOf(answer: ServiceAnswer, before: ServiceAnswer | null): object {
  return {
    ...stateFields(answer, before ?? undefined),
    localized_state: answer.channels.localized.state,
    localized: describeLocalized(answer),
    localized_before: before?.channels.localized.state ?? null,
  };
}

function stateFields(
  { state, reason, message, next_step: next }: ServiceState,
  before: ServiceState | undefined,
): object {
  return { state, reason, detail: message, next_step: next?.text ?? null, before: before?.state ?? null };
}
