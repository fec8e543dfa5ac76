/** The two release channels of the service. */
export const CHANNELS = ['official', 'localized'] as const;

/** `official` is what upstream published; `localized` is the official release with translated entries. */
export type Channel = (typeof CHANNELS)[number];

/** Whether untrusted text names a channel. */
export function isChannel(text: string): text is Channel {
  return (CHANNELS as readonly string[]).includes(text);
}

/** The values of a setting that chooses a channel. */
export const CHANNEL_CHOICES = ['official', 'localized', 'localized-if-available'] as const;

/** A channel, or the localized one with the official one in its place while it is not distributable. */
export type ChannelChoice = (typeof CHANNEL_CHOICES)[number];
