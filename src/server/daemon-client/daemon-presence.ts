import type { Health } from '../../contract/schemas/answers/health.ts';
import {
  daemonAbsence,
  servedUntilText,
  type AbsenceKind,
} from '../../domain/service-state/daemon-absence.ts';
import { describeState } from '../../domain/service-state/describe-state.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import { DaemonUnavailable } from './daemon-unavailable.ts';

/** Whether the daemon answers, as `/healthz` shows it. */
export type DaemonState = Health['daemon'];

/** Knows from all calls to the daemon whether it answers. */
export interface DaemonPresence {
  /**
   * Makes a call and remembers whether the daemon answered.
   *
   * @throws the error of the call
   */
  observe<T>(call: () => Promise<T>): Promise<T>;
  state(): DaemonState;
}

interface Absence {
  readonly kind: AbsenceKind;
  readonly since: number;
}

/**
 * Makes a presence that assumes that the daemon answers.
 *
 * @param servedUntil until when the official release is served without the daemon, Unix seconds; `null` when it is not served
 */
export function createDaemonPresence(clock: Clock, servedUntil: () => number | null): DaemonPresence {
  let absence: Absence | null = null;
  let answeredAt = -Infinity;

  const noteAnswer = (): void => {
    answeredAt = clock.monotonic();
    absence = null;
  };

  const noteFailure = (error: unknown, begunAt: number): void => {
    if (!(error instanceof DaemonUnavailable)) return;
    const { code } = error;
    if (code === 'answer_refused') noteAnswer();
    if (code !== 'unreachable' && code !== 'timeout') return;
    // One slow answer does not count while others arrive.
    if (answeredAt >= begunAt) return;
    absence = { kind: code, since: absence?.since ?? unixSeconds(clock) };
  };

  return {
    observe: async (call) => {
      const begunAt = clock.monotonic();
      try {
        const answer = await call();
        noteAnswer();
        return answer;
      } catch (error) {
        noteFailure(error, begunAt);
        throw error;
      }
    },
    state: () =>
      absence === null
        ? { answers: true, failure: null, since: null, message: null }
        : {
            answers: false,
            failure: absence.kind,
            since: absence.since,
            message: describeAbsence(absence, servedUntil()),
          },
  };
}

function describeAbsence({ kind, since }: Absence, servedUntil: number | null): string {
  const { message, next } = daemonAbsence(kind, since);
  const text = describeState({ message: `${message}; ${servedUntilText(servedUntil)}`, next_step: next });
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
