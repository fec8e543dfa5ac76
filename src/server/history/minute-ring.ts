import { HISTORY_MINUTES } from '../../contract/schemas/vocabulary.ts';
import type { Channel } from '../../domain/release/channel.ts';
import type { ServiceStateName } from '../../domain/service-state/service-state.ts';

/** The traffic of some time. */
export interface Traffic {
  /** Requests of clients that ended: those of probes, the console and `/admin` do not count. */
  readonly requests: number;
  readonly serverErrors: number;
  /** Body bytes of the byte path that the network took. */
  readonly sentBytes: number;
}

/** One minute. */
export interface Minute {
  readonly minute: number;
  /** Of all processes; `null` when none could tell. */
  readonly traffic: Traffic | null;
  /** The worst state of each channel in this minute; `null` when none was recorded. */
  readonly states: Readonly<Record<Channel, ServiceStateName | null>>;
}

/** From the worst to the best for clients: not served first, then what needs attention. */
const WORST_FIRST = [
  'damaged',
  'untrusted',
  'expired',
  'stale',
  'unpublished',
  'withdrawn',
  'starting',
  'stopping',
  'degraded',
  'healthy',
] as const satisfies readonly ServiceStateName[];

const BADNESS: Readonly<Record<ServiceStateName, number>> = Object.fromEntries(
  WORST_FIRST.map((state, index) => [state, WORST_FIRST.length - index]),
) as Record<ServiceStateName, number>;

/** The minutes of the last 24 hours. A minute replaces the one of 24 hours before. */
export class MinuteRing {
  readonly #slots = new Array<Minute | null>(HISTORY_MINUTES).fill(null);

  /** Adds to the traffic of a minute. Several processes of one server add to the same minute. */
  addTraffic(minute: number, traffic: Traffic): void {
    const { traffic: known } = this.#find(minute) ?? emptyMinute(minute);
    this.#change(minute, { traffic: known === null ? traffic : sumOf(known, traffic) });
  }

  /** Records that a channel was in a state in this minute. The worst state of a minute stays. */
  addState(minute: number, channel: Channel, state: ServiceStateName): void {
    const { states } = this.#find(minute) ?? emptyMinute(minute);
    const known = states[channel];
    if (known !== null && BADNESS[known] >= BADNESS[state]) return;
    this.#change(minute, { states: { ...states, [channel]: state } });
  }

  /**
   * Reads the kept minutes of a range, oldest first.
   *
   * @param from the first minute, inclusive
   * @param to the last minute, exclusive; at most {@link HISTORY_MINUTES} after `from`
   * @returns one item for each minute; `null` for a minute without a record
   */
  read(from: number, to: number): readonly (Minute | null)[] {
    return Array.from({ length: Math.max(0, to - from) }, (_, index) => this.#find(from + index));
  }

  #find(minute: number): Minute | null {
    const found = this.#slots[minute % HISTORY_MINUTES] ?? null;
    return found?.minute === minute ? found : null;
  }

  #change(minute: number, changes: Partial<Minute>): void {
    this.#slots[minute % HISTORY_MINUTES] = { ...(this.#find(minute) ?? emptyMinute(minute)), ...changes };
  }
}

function emptyMinute(minute: number): Minute {
  return { minute, traffic: null, states: { official: null, localized: null } };
}

function sumOf(one: Traffic, other: Traffic): Traffic {
  return {
    requests: one.requests + other.requests,
    serverErrors: one.serverErrors + other.serverErrors,
    sentBytes: one.sentBytes + other.sentBytes,
  };
}
