import { isSameState } from '../../domain/service-state/decide-service-state.ts';
import type { ServiceAnswer, ServiceState } from '../../domain/service-state/service-state.ts';
import type { Logger } from '../../platform/logging/logging.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { createLoop, type Loop } from '../../platform/process/loop.ts';
import type { ReadServiceState } from './service-state-reader.ts';

/** Milliseconds between two looks. The state also changes with time alone, so nothing announces every change. */
const LOOK_MS = 1000;

/** Makes the loop that logs every change of the state. */
export function createServiceStateLog(options: {
  readonly read: ReadServiceState;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  readonly clock: Clock;
}): Loop {
  const { read, logger, clock } = options;
  let last: ServiceAnswer | null = null;
  return createLoop({
    clock,
    turn: () => {
      const answer = read();
      if (!isSameState(last, answer)) logChange(logger, answer, last);
      last = answer;
      return Promise.resolve(LOOK_MS);
    },
    onFailure: (error) => {
      logger.warn({ err: error }, 'the state of the service cannot be determined');
      return LOOK_MS;
    },
  });
}

/** Working is not worth a warning, and neither is a start. */
const CALM: ReadonlySet<ServiceState['state']> = new Set(['healthy', 'starting', 'stopping']);

function logChange(
  logger: Pick<Logger, 'info' | 'warn'>,
  { state, reason, message, next_step: next, channels }: ServiceAnswer,
  before: ServiceAnswer | null,
): void {
  logger[CALM.has(state) ? 'info' : 'warn'](
    {
      state,
      reason,
      detail: message,
      next_step: next?.text ?? null,
      localized_state: channels.localized.state,
      before: before?.state ?? null,
    },
    'state of the service changed',
  );
}
