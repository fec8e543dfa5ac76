import type { Channel, ChannelChoice } from '../../domain/release/channel.ts';
import type { Serving } from './serving.ts';

/** The channel that a choice means now. */
export function chosenChannel(serving: Serving, choice: ChannelChoice): Channel {
  if (choice !== 'localized-if-available') return choice;
  return serving.verdict('localized').distributable ? 'localized' : 'official';
}
