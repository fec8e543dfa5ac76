/** The states of the service and of its channels in words, with their tones; pure. */

import type { Health } from '../api/wire.ts';
import { words } from '../text/format.ts';

export type ServiceState = Health['service'];

export interface StateWords {
  readonly tone: 'ok' | 'warn' | 'bad' | 'idle';
  readonly short: string;
  readonly text: string;
}

const STATES: Readonly<Record<ServiceState['state'], StateWords>> = {
  healthy: { tone: 'ok', short: 'served', text: 'Served' },
  degraded: { tone: 'warn', short: 'served, needs attention', text: 'Served, needs attention' },
  starting: { tone: 'warn', short: 'starting', text: 'Starting' },
  unpublished: { tone: 'idle', short: 'no release', text: 'No release' },
  withdrawn: { tone: 'idle', short: 'withdrawn', text: 'Withdrawn by a rollback' },
  stale: {
    tone: 'warn',
    short: 'not served, the base has changed',
    text: 'Not served: the base has changed',
  },
  damaged: { tone: 'bad', short: 'damaged', text: 'Not served: damaged' },
  expired: { tone: 'bad', short: 'attestation expired', text: 'Not served: attestation expired' },
  untrusted: { tone: 'bad', short: 'not trusted', text: 'Not served: attestation not trusted' },
  stopping: { tone: 'warn', short: 'shutting down', text: 'Shutting down' },
};

/** The words of a state. A page that is open during an upgrade may meet one of a newer server. */
export function stateWords(state: string): StateWords {
  const known = (STATES as Readonly<Record<string, StateWords | undefined>>)[state];
  return known ?? { tone: 'warn', short: words(state).toLowerCase(), text: words(state) };
}

export interface ChannelWords {
  readonly tone: StateWords['tone'];
  readonly word: string;
  readonly release: string | null;
}

/** Puts the state of a channel into words. */
export function channelWords({ service, verdicts }: Health, channel: 'official' | 'localized'): ChannelWords {
  const { tone, short: word } = stateWords(service.channels[channel].state);
  return { tone, word, release: verdicts[channel].release_id };
}
