/** The two release channels of the service. */
export const CHANNELS = ['official', 'localized'] as const;

/** `official` is what upstream published; `localized` is the official release with translated entries. */
export type Channel = (typeof CHANNELS)[number];

/** Whether untrusted text names a channel. */
export function isChannel(text: string): text is Channel {
  return (CHANNELS as readonly string[]).includes(text);
}
