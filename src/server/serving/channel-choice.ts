import type { Channel } from '../../domain/release/channel.ts';
import type { Serving } from './serving.ts';

/** The values of a setting that chooses a channel. */
export const CHANNEL_CHOICES = ['official', 'localized', 'localized-if-available'] as const;

/** A channel, or the localized one with the official one in its place while it is not distributable. */
export type ChannelChoice = (typeof CHANNEL_CHOICES)[number];

/** The channel that a choice means now. */
export function chosenChannel(serving: Pick<Serving, 'verdict'>, choice: ChannelChoice): Channel {
  if (choice !== 'localized-if-available') return choice;
  return serving.verdict('localized').distributable ? 'localized' : 'official';
}
