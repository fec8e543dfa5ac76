/** The state of one channel in the words of the verdict bar; pure. */

import type { Health } from '../api/wire.ts';
import { stateWords, type StateWords } from './service-states.ts';

/** One channel in a few words. */
export interface ChannelWords {
  readonly tone: StateWords['tone'];
  /** Such as `served`. */
  readonly word: string;
  readonly release: string | null;
}

/** Puts the state of a channel into words. @returns `null` for a server that does not report it */
export function channelWords(health: Health, channel: 'official' | 'localized'): ChannelWords | null {
  const { service, verdicts } = health;
  if (service === undefined) return null;
  const { tone, short: word } = stateWords(service.channels[channel].state);
  return { tone, word, release: verdicts[channel].release_id };
}
