import { CHANNELS, type Channel } from '../../domain/release/channel.ts';
import type { ServiceAnswer, ServiceState } from '../../domain/service-state/service-state.ts';

interface Told {
  readonly state: ServiceState['state'];
  readonly reason: ServiceState['reason'];
  readonly since: number;
  readonly seenAt: number;
}

type NoteTimes = (answer: ServiceAnswer, nowSeconds: number) => ServiceAnswer;

/**
 * Makes the function that remembers since when the service and each channel have their state and reason. The facts tell only since
 * when a cause lasts: one that lasted before, behind another cause, is not the time of the change. The first answer has the time
 * of its cause.
 */
export function createStateTimes(): NoteTimes {
  const told = new Map<Channel | 'service', Told>();

  const sinceOf = (
    subject: Channel | 'service',
    { state, reason, since }: ServiceState,
    now: number,
  ): number => {
    const last = told.get(subject);
    const time = last?.state === state && last.reason === reason ? last.since : changedAt(last, since, now);
    told.set(subject, { state, reason, since: time, seenAt: now });
    return time;
  };

  return (answer, now) => {
    const [official, localized] = CHANNELS.map((channel) => {
      const state = answer.channels[channel];
      return { ...state, since: sinceOf(channel, state, now) };
    });
    if (official === undefined || localized === undefined) throw new Error('a channel has no state');
    return { ...answer, since: sinceOf('service', answer, now), channels: { official, localized } };
  };
}

/** A cause that began after the last check is the time of the change. */
function changedAt(last: Told | undefined, since: number, now: number): number {
  if (last === undefined) return since;
  return since >= last.seenAt && since <= now ? since : now;
}
